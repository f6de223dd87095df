"""Steps before a loop that make what it slices, item by item: they join its region at any length.

    y = f(x, c)                            x, y: float[T, 3]; c: float[3]
    for i: h = g(h, y[i])

Item i of `y` is made of item i of `x`, so native code computes it in iteration i
(`schedule/sunk_producers.py`), and T need not be known. Steps that only give a tensor other axes,
or reverse or cut it, are read through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from treadle import ops
from treadle.ir import Dim, Leaf, Step, Tensor, Value
from treadle.jit.lowering import lowering
from treadle.jit.policy.native_types import is_native

_OF_ELEMENTS = frozenset((
    "Abs", "Add", "And", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast",
    "Ceil", "Clip", "Div", "Equal", "Exp", "Floor", "Greater", "GreaterOrEqual", "Identity",
    "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or",
    "Pow", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Softplus", "Sqrt", "Sub", "Tanh",
    "Where", "Xor",
))  # fmt: skip
"""Operators whose element is a function of one element of each operand."""

_OF_AXES = frozenset(("Squeeze", "Transpose", "Unsqueeze"))
"""Operators that give the same elements other axes."""

Sources = Sequence[tuple[Value, int]]
"""Values, each with the axis along which it is sliced."""


def may_produce(step: Step) -> bool:
    """Whether items of the result, along any axis of unknown length, are made of operands' items.

    Those of a Range are functions of the item's number, those of a Gather rows that indices choose.
    """
    if not isinstance(step, Leaf) or step.domain or len(step.results) != 1:
        return False
    if lowering(step.domain, step.op, step.version) is None or not is_native(step):
        return False
    result = step.results[0]
    shape = None if result is None else shape_of(result)
    if shape is None or not shape:
        return False
    return all(
        isinstance(extent, int) or item_sources(step, axis) is not None
        for axis, extent in enumerate(shape)
    )


def item_sources(step: Step, axis: int) -> Sources | None:
    """What an item of a step's result along an axis is made of, beside whole operands.

    None: it is not known to be made of items.
    """
    if not isinstance(step, Leaf) or step.domain:
        return None
    if step.op == "Range":
        return ()
    result = step.results[0]
    if result is None or shape_of(result) is None:
        return None
    if step.op == "Gather":
        return _of_gather(step, axis)
    if step.op in _OF_AXES or (step.op == "Reshape" and _keeps_axes_before(step, axis)):
        return _of_axes(step, axis)
    if step.op == "Slice":
        return _of_slice(step, axis)
    if step.op not in _OF_ELEMENTS:
        return None
    try:
        found = tuple(_sources(step, result, axis))
    except LookupError:
        return None
    extents = {_extent(value, own) for value, own in found}
    return found if len(found) == 1 or (len(extents) == 1 and None not in extents) else None


def _sources(step: Leaf, result: Value, axis: int) -> Iterator[tuple[Value, int]]:
    """The operands with items along the axis; raises LookupError if a rank is unknown."""
    rank = len(shape_of(result) or ())
    for operand in step.operands:
        if operand is None:
            continue
        shape = shape_of(operand)
        if shape is None:
            raise LookupError(operand.name)
        own = axis - (rank - len(shape))
        if own >= 0 and shape[own] != 1:
            yield operand, own


def _of_gather(step: Leaf, axis: int) -> Sources | None:
    """The indices of a Gather, or its data, whichever has this axis of the result."""
    data, indices = step.operands
    assert data is not None, "a required operand"
    assert indices is not None, "a required operand"
    shape, given = shape_of(data), shape_of(indices)
    if shape is None or given is None:
        return None
    first = ops.attributes_of(step.attributes).get("axis", 0) % len(shape)
    if axis < first:
        return ((data, axis),)
    own = axis - first
    return ((indices, own),) if own < len(given) else ((data, axis - len(given) + 1),)


def _of_axes(step: Leaf, axis: int) -> Sources | None:
    """The operand along the axis that is this one of the result: the only one of its extent."""
    (source, *_), result = step.operands, step.results[0]
    assert source is not None, "a required operand"
    assert result is not None, "it has items"
    own, shape = shape_of(source), shape_of(result)
    if own is None or shape is None or isinstance(shape[axis], int) or shape[axis] is None:
        return None
    is_only = own.count(shape[axis]) == 1 == shape.count(shape[axis])
    return ((source, own.index(shape[axis])),) if is_only else None


def _keeps_axes_before(step: Leaf, axis: int) -> bool:
    """Whether a Reshape keeps the number of elements before an axis, and so the items along it."""
    (source, *_), result = step.operands, step.results[0]
    assert source is not None, "a required operand"
    assert result is not None, "it has items"
    own, shape = shape_of(source), shape_of(result)
    if own is None or shape is None or shape[axis] not in own:
        return False
    before = shape[:axis], own[: own.index(shape[axis])]
    counts = [prod(e for e in each if isinstance(e, int)) for each in before]
    return all(isinstance(e, int) for each in before for e in each) and counts[0] == counts[1]


def _of_slice(step: Leaf, axis: int) -> Sources | None:
    """The operand of a Slice, along the same axis."""
    source = step.operands[0]
    assert source is not None, "a required operand"
    return None if shape_of(source) is None else ((source, axis),)


def may_drop_items(step: Step) -> bool:
    """Whether a step's items may be fewer than those that they are made of."""
    return isinstance(step, Leaf) and step.op == "Slice"


def _extent(value: Value, axis: int) -> Dim:
    shape = shape_of(value)
    return None if shape is None else shape[axis]


def shape_of(value: Value) -> tuple[Dim, ...] | None:
    """The declared or inferred shape of a tensor; None if its rank is unknown."""
    return value.type.shape if isinstance(value.type, Tensor) else None
