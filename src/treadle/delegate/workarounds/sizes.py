"""Results that memory does not hold: the step is declined, or the region fails before it is made.

The system kills a process that fills more memory than there is; onnxruntime asks nobody. A result
of known extents is held against the machine's memory as a session is made. Where the values of an
operand determine the extents, the exported model computes the number of elements first:

    y = Expand(x, shape)        y = Expand(x, shape if ReduceProd(shape) < most else failure)

That costs about 3 microseconds. It is left out where the extents are those of an input of the
region, or one of them is that of any array: these are there already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from math import inf, prod

import numpy as np

from treadle import machine
from treadle.checks import known_extents
from treadle.delegate.export_scope import ExportScope
from treadle.delegate.workarounds.constant_contents import content_of
from treadle.ir import DType, Expression, Leaf, Operands, Shape, Symbol, Tensor, Value

_FLOAT32, _INT64 = 1, 7
_LARGEST_FACTOR = 4096
"""What a result may have for each element of an input without being counted."""

_FEW = 2**20
"""The bytes that any machine has."""

_PAD_AXES = 3
_DEPTH, _NEAR = 8, 100
"""The steps from an extent to where it is used, and those among which they are sought."""
_MOVING = ("Cast", "Concat", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze")

_TEXT = ("StringConcat", "StringSplit")
"""Operators on text of which a few make any amount: of a text joined with itself, or a matrix of
as many columns as the text with the most parts has."""

_TEXT_BYTES = 32
_Elements = Callable[[ExportScope, Operands, int], Value]


def size_refusal(step: Leaf) -> str:
    """Why a result is not to be made; "" if its extents are known, and it fits into memory."""
    if not step.domain and step.op in _TEXT:
        return "the texts of its result may grow without bound"
    for value in step.results:
        extents, type_ = known_extents(value), None if value is None else value.inferred
        if extents and isinstance(type_, Tensor) and type_.dtype is not None:
            known = [extent for extent in extents if extent is not None]
            size = prod(known) * bytes_of_element(type_.dtype) if len(known) == len(extents) else 0
            if size > _FEW and size > machine.memory_of_machine():
                return f"its result of {size} bytes does not fit into memory"
    return ""


def bytes_of_element(dtype: DType) -> int:
    """What onnxruntime takes for an element, at least."""
    return _TEXT_BYTES if dtype is DType.STRING else dtype.numpy.itemsize


def has_open_size(step: Leaf) -> bool:
    """Whether the values of an operand determine the size of the result."""
    return not step.domain and step.op in _SIZED


def with_sizes_checked(draft: ExportScope, step: Leaf, operands: Operands) -> Operands:
    """The exported operands, with a run-time check on what determines the size of the result."""
    places = () if step.domain else _SIZED.get(step.op, ())
    for position, elements in places:
        value = operands[position] if len(operands) > position else None
        if value is None or _is_bounded(draft, step) or _is_few(draft, value, elements):
            continue
        most = _most_elements(step)
        if most == inf or _is_short(draft, step, operands, position, elements):
            continue
        count = elements(draft, operands, position)
        is_whole = _dtype(step.operands[position]) is DType.INT64
        limit = draft.constant(most, DType.FLOAT32)
        checked = _unless_above(draft, value, count, limit, is_whole=is_whole)
        return (*operands[:position], checked, *operands[position + 1 :])
    return operands


def _unless_above(
    draft: ExportScope, value: Value, count: Value, most: Value, *, is_whole: bool
) -> Value:
    """The value, or a failure at run time if there would be more elements.

    return value + [0][int(most < count)]                           # index 1 fails
    """
    index = draft.leaf("Cast", draft.leaf("Less", most, count), to=_INT64)
    nothing = draft.leaf("Gather", draft.constant([0]), index)
    if is_whole:
        return draft.leaf("Add", value, nothing)
    return draft.leaf("Reshape", value, draft.leaf("Add", draft.leaf("Shape", value), nothing))


def _open_extents(step: Leaf) -> float:
    """The number of extents of the result that are not known."""
    extents = known_extents(step.results[0])
    return inf if extents is None else extents.count(None)


def _is_few(draft: ExportScope, value: Value, elements: _Elements) -> bool:
    """Whether constants determine extents or multiples, and their product is small.

    Negative ones are checked in the run: onnxruntime would infer negative extents from constants.
    """
    content = content_of(draft, value) if elements in (_product, _multiple) else None
    return (
        content is not None
        and bool((content >= 0).all())
        and float(np.prod(content.astype(np.float64))) <= _LARGEST_FACTOR
    )


def _is_short(
    draft: ExportScope, step: Leaf, operands: Operands, position: int, elements: _Elements
) -> bool:
    """Whether the result has about the extents of arrays that are there."""
    if elements is _padded:
        return _is_of_extents(draft, operands[position], 1)
    if _open_extents(step) > 1:
        return False
    if elements is _length:
        is_whole = _dtype(step.results[0]) in (DType.INT32, DType.INT64)
        return is_whole and all(_is_of_extents(draft, each) for each in operands)
    return elements is _product and _is_of_extents(draft, operands[position])


def _dtype(value: Value | None) -> DType | None:
    type_ = None if value is None else value.inferred
    return type_.dtype if isinstance(type_, Tensor) else None


def _is_of_extents(draft: ExportScope, value: Value | None, depth: int = _DEPTH) -> bool:
    """Whether the value has extents of arrays and small constants only, not sums or products."""
    if value is None or not depth:
        return False
    known = draft.known(value)
    if known is not None:
        return bool((np.abs(known) <= _LARGEST_FACTOR).all())
    near = reversed(draft.steps[-_NEAR:])
    made = next((s for s in near if isinstance(s, Leaf) and value in s.results), None)
    if made is None or made.domain or made.op not in _MOVING:
        return made is not None and made.op == "Shape" and not made.domain
    read = made.operands if made.op == "Concat" else made.operands[:1]
    return all(_is_of_extents(draft, each, depth - 1) for each in read)


def _most_elements(step: Leaf) -> float:
    dtype = _dtype(step.results[0])
    return machine.memory_of_machine() / (1 if dtype is None else bytes_of_element(dtype))


def _is_bounded(draft: ExportScope, step: Leaf) -> bool:
    """Whether the result's extents are known, or each is another of one input of the region."""
    type_ = step.results[0].inferred if step.results[0] is not None else None
    wanted = factors(type_.shape) if isinstance(type_, Tensor) else None
    if wanted is None:
        return False
    symbols, factor = wanted
    if not symbols:
        return True
    given = (found for shape in draft.shared.inputs if (found := factors(shape)) is not None)
    return any(symbols <= own and factor <= _LARGEST_FACTOR * number for own, number in given)


def factors(shape: Shape | None) -> tuple[Counter[str], int] | None:
    """The number of elements as a product of symbols and a number; None if it is no product."""
    symbols: Counter[str] = Counter()
    number = 1
    for extent in (None,) if shape is None else shape:
        match extent:
            case int():
                number *= extent
            case Symbol(name=name):
                symbols[name] += 1
            case Expression(terms=((names, count),)):
                symbols.update(names)
                number *= count
            case _:
                return None
    return symbols, number


def _product(draft: ExportScope, operands: Operands, position: int) -> Value:
    return draft.leaf("ReduceProd", _as_float(draft, operands[position]), keepdims=0)


def _multiple(draft: ExportScope, operands: Operands, position: int) -> Value:
    size = _as_float(draft, draft.leaf("Size", operands[0]))
    return draft.leaf("Mul", size, _product(draft, operands, position))


def _length(draft: ExportScope, operands: Operands, position: int) -> Value:
    start, limit, delta = (_as_float(draft, value) for value in operands)
    return draft.leaf("Div", draft.leaf("Sub", limit, start), delta)


def _weights(draft: ExportScope, operands: Operands, position: int) -> Value:
    bins = _as_float(draft, operands[0])
    return draft.leaf("Mul", bins, _as_float(draft, operands[1]))


def _padded(draft: ExportScope, operands: Operands, position: int) -> Value:
    shape = draft.leaf("Shape", operands[0])
    ends = draft.leaf("Reshape", operands[position], draft.constant([2, -1]))
    before, after = (draft.leaf("Gather", ends, draft.constant(side)) for side in (0, 1))
    more = draft.leaf("Add", before, after)
    axes = operands[_PAD_AXES] if len(operands) > _PAD_AXES else None
    if axes is not None:
        none = draft.leaf("Sub", shape, shape)
        more = draft.leaf("ScatterElements", none, draft.leaf("Cast", axes, to=_INT64), more)
    extents = draft.leaf("Relu", _as_float(draft, draft.leaf("Add", shape, more)))
    return draft.leaf("ReduceProd", extents, keepdims=0)


def _as_float(draft: ExportScope, value: Value | None) -> Value:
    return draft.leaf("Cast", value, to=_FLOAT32)


_SIZED: Mapping[str, tuple[tuple[int, _Elements], ...]] = {
    "AffineGrid": ((1, _product),),
    "CenterCropPad": ((1, _product),),
    "Col2Im": ((1, _product),),
    "ConstantOfShape": ((0, _product),),
    "Expand": ((1, _product),),
    "MaxUnpool": ((2, _product),),
    "MelWeightMatrix": ((1, _weights),),
    "OneHot": ((1, _multiple),),
    "Pad": ((1, _padded),),
    "Range": ((1, _length),),
    "Resize": ((3, _product), (2, _multiple)),
    "Tile": ((1, _multiple),),
    "Upsample": ((1, _multiple),),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), ((0, _product),)),
}
"""The operands that determine sizes, and the number of elements by them."""
