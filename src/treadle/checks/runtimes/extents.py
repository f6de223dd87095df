"""Extents of operands on which onnxruntime crashes the process, or shows memory that is not theirs.

Its kernels divide by them, read beyond them, or leave results as they were allocated. Measured on
releases 1.31 and 1.32, in child processes and with guarded memory, for every operator with extents
0, 1 and 2 of ranks 0 to 4, and for onnx's own node cases with an extent or an attribute changed.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from treadle.ir import Leaf, Tensor, Value

__all__ = [
    "ExtentDemand",
    "ExtentNeed",
    "extent_demands",
    "extent_refusal",
    "extents_meet",
    "known_extents",
]

_MS = "com.microsoft"
_MOST_HEADS = 2**16
_WITH_HEADS = 4

Shape = tuple[int | None, ...] | None
"""The inferred shape: None for an unknown extent or an unknown rank."""

Axes = tuple[int, ...] | None
"""Some axes of an operand; None for all."""


class ExtentNeed(enum.Enum):
    """A requirement of a kernel on an operand that the kernel does not check."""

    NOT_EMPTY = "has no elements"
    """All extents along the axes are 1 or more."""
    SPATIAL = "has no elements in its spatial axes"
    """No extent from axis 2 on is 0."""
    HEADS = "has no elements along an axis of heads"
    """The divisors in attention: the head count of operands with 4 axes, the last axis of 3."""
    SINGLE = "does not have exactly one element"
    """The operand has one element."""
    BY_COLUMN = "does not have one element, or one for each column"
    """The operand has one element, or one for each column of the matrices of operand 1."""
    SQUARE = "is not a square matrix"
    """The last two extents are equal and not 0."""
    WINDOW = "has no room for one window"
    """The extents along the axes are `least` or more."""
    ROWS = "does not have as many rows as operand 0"
    """The first extent is that of operand 0."""
    EVEN = "has an odd last extent"
    """The last extent is a multiple of 2."""


@dataclass(frozen=True, slots=True)
class ExtentDemand:
    """A need on the operand at `position`, along some axes or all."""

    need: ExtentNeed
    position: int
    axes: Axes = None
    least: tuple[int, ...] = ()


def _each(
    need: ExtentNeed, positions: Sequence[int], axes: Axes = None, least: tuple[int, ...] = ()
) -> tuple[ExtentDemand, ...]:
    return tuple(ExtentDemand(need, position, axes, least) for position in positions)


_DEMANDS: Mapping[tuple[str, str], tuple[ExtentDemand, ...]] = {
    ("", "Attention"): _each(ExtentNeed.HEADS, range(3)),
    ("", "CausalConvWithState"): _each(ExtentNeed.NOT_EMPTY, (1,)),
    ("", "Conv"): _each(ExtentNeed.NOT_EMPTY, (1,)),
    ("", "ConvInteger"): _each(ExtentNeed.NOT_EMPTY, (1,)),
    ("", "ConvTranspose"): (
        ExtentDemand(ExtentNeed.SPATIAL, 0),
        ExtentDemand(ExtentNeed.NOT_EMPTY, 1),
    ),
    ("", "DequantizeLinear"): _each(ExtentNeed.NOT_EMPTY, (1, 2)),
    ("", "GRU"): _each(ExtentNeed.NOT_EMPTY, (0,)),
    ("", "InstanceNormalization"): _each(ExtentNeed.SPATIAL, (0,)),
    ("", "LSTM"): _each(ExtentNeed.NOT_EMPTY, (0,), (0, 1)),
    ("", "MatMulInteger"): _each(ExtentNeed.NOT_EMPTY, (0,), (-1,)),
    ("", "NonMaxSuppression"): _each(ExtentNeed.SINGLE, (2, 3, 4)),
    ("", "QLinearConv"): _each(ExtentNeed.NOT_EMPTY, (3,)),
    ("", "QLinearMatMul"): _each(ExtentNeed.NOT_EMPTY, (0,), (-1,)),
    ("", "QuantizeLinear"): _each(ExtentNeed.NOT_EMPTY, (1, 2)),
    ("", "RotaryEmbedding"): _each(ExtentNeed.EVEN, (0,)),
    (_MS, "AttnLSTM"): _each(ExtentNeed.NOT_EMPTY, (0,), (0, 1)),
    (_MS, "DecoderMaskedMultiHeadAttention"): _each(ExtentNeed.NOT_EMPTY, (0,)),
    (_MS, "DequantizeLinear"): _each(ExtentNeed.NOT_EMPTY, (1, 2)),
    (_MS, "DynamicQuantizeLSTM"): _each(ExtentNeed.NOT_EMPTY, (0,), (0, 1)),
    (_MS, "DynamicQuantizeMatMul"): (
        *_each(ExtentNeed.NOT_EMPTY, (0,), (-1,)),
        *_each(ExtentNeed.BY_COLUMN, (2, 3)),
    ),
    (_MS, "FusedConv"): _each(ExtentNeed.NOT_EMPTY, (1,)),
    (_MS, "Inverse"): _each(ExtentNeed.SQUARE, (0,)),
    (_MS, "LinearAttention"): _each(ExtentNeed.NOT_EMPTY, range(3), (-1,)),
    (_MS, "MatMulIntegerToFloat"): (
        *_each(ExtentNeed.NOT_EMPTY, (0,), (-1,)),
        *_each(ExtentNeed.SINGLE, (2, 4)),
        *_each(ExtentNeed.BY_COLUMN, (3, 5)),
    ),
    (_MS, "MoE"): _each(ExtentNeed.NOT_EMPTY, range(3)),
    (_MS, "QAttention"): _each(ExtentNeed.NOT_EMPTY, (0,)),
    (_MS, "QGemm"): _each(ExtentNeed.NOT_EMPTY, (0, 3)),
    (_MS, "QMoE"): _each(ExtentNeed.NOT_EMPTY, range(3)),
    (_MS, "QuantizeLinear"): _each(ExtentNeed.NOT_EMPTY, (1, 2)),
    (_MS, "RotaryEmbedding"): _each(ExtentNeed.NOT_EMPTY, (0,), (-1,)),
    (_MS, "SkipLayerNormalization"): _each(ExtentNeed.NOT_EMPTY, (1,)),
    (_MS, "SkipSimplifiedLayerNormalization"): _each(ExtentNeed.NOT_EMPTY, (1,)),
    (_MS, "WhisperBeamSearch"): _each(ExtentNeed.ROWS, (10,)),
}
_READS, _COUNTS = "reads other memory", "counts a window too many"
_HARMS: Mapping[str, str] = {
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), _COUNTS),
    **dict.fromkeys(
        (
            "DynamicQuantizeMatMul", "MatMulInteger", "MatMulIntegerToFloat", "NonMaxSuppression",
            "QGemm", "QLinearMatMul", "RotaryEmbedding",
        ),
        _READS,
    ),
}  # fmt: skip
"""What onnxruntime does instead of crashing: some leave a result of no products as allocated."""

_PLAIN = (0, b"NOTSET", b"VALID")
"""The values of auto_pad and ceil_mode with which the number of windows is rounded down."""

_HEADS = ("num_heads", "q_num_heads", "kv_num_heads")
_DIVISORS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "Attention"): _HEADS,
    **dict.fromkeys(
        (
            (_MS, "Attention"), (_MS, "DecoderMaskedMultiHeadAttention"),
            (_MS, "GroupQueryAttention"), (_MS, "LinearAttention"), (_MS, "MultiHeadAttention"),
            (_MS, "QAttention"), (_MS, "SparseAttention"),
        ),
        _HEADS,
    ),
}  # fmt: skip
"""Attributes used as divisors: kernels truncate them, or their products, to 32 bits."""


def extent_demands(step: Leaf) -> Sequence[ExtentDemand]:
    """The demands on operands that are there."""
    key = step.domain, step.op
    made = _BY_ATTRIBUTES[key](step) if key in _BY_ATTRIBUTES else _DEMANDS.get(key, ())
    return [d for d in made if d.position < len(step.operands) and step.operands[d.position]]


def _windows(step: Leaf) -> Sequence[ExtentDemand]:
    """A pool over images whose channels are last divides by the number of its windows."""
    window = _integers(step, "kernel_shape")
    if _integers(step, "channels_last") in ((), (0,)) or not window:
        return ()
    pads = _integers(step, "pads") or (0,) * 2 * len(window)
    ends = zip(window, pads, pads[len(window) :], strict=False)
    least = tuple(extent - before - after for extent, before, after in ends)
    return _each(ExtentNeed.WINDOW, (0,), tuple(range(1, len(window) + 1)), least)


def _of_pool(step: Leaf) -> Sequence[ExtentDemand]:
    """The image of a pool is at least as large as its window.

    The number of windows is a quotient rounded towards zero: if the image is smaller by less than
    the stride, onnxruntime counts one window.
    """
    kernel, strides = _integers(step, "kernel_shape"), _integers(step, "strides")
    ways = [
        step.attributes[name].value for name in ("auto_pad", "ceil_mode") if name in step.attributes
    ]
    if all(stride == 1 for stride in strides) or any(way not in _PLAIN for way in ways):
        return ()
    none = (0,) * len(kernel)
    pads = _integers(step, "pads") or (*none, *none)
    dilations = _integers(step, "dilations") or (1,) * len(kernel)
    sides = zip(kernel, dilations, pads, pads[len(kernel) :], strict=False)
    least = tuple((each - 1) * gap + 1 - before - after for each, gap, before, after in sides)
    return _each(ExtentNeed.WINDOW, (0,), tuple(range(2, len(least) + 2)), least)


def _of_unique(step: Leaf) -> Sequence[ExtentDemand]:
    """Slices along an axis are compared by their first element."""
    return _each(ExtentNeed.NOT_EMPTY, (0,)) if "axis" in step.attributes else ()


_BY_ATTRIBUTES: Mapping[tuple[str, str], Callable[[Leaf], Sequence[ExtentDemand]]] = {
    ("", "AveragePool"): _of_pool,
    ("", "LpPool"): _of_pool,
    ("", "MaxPool"): _of_pool,
    ("", "Unique"): _of_unique,
    (_MS, "QLinearAveragePool"): _windows,
}


def _integers(step: Leaf, name: str) -> tuple[int, ...]:
    found = step.attributes.get(name)
    given = () if found is None else found.value
    values = given if isinstance(given, tuple) else (given,)
    return tuple(each for each in values if isinstance(each, int))


def extents_meet(demand: ExtentDemand, shapes: Sequence[Shape]) -> bool | None:
    """Whether the operands' shapes meet the demand; None if they are not known well enough."""
    return _HOLDS[demand.need](demand, shapes)


def _told(step: Leaf, demand: ExtentDemand) -> str:
    operand = f"operand {demand.position} of {step.op}"
    return (
        f"onnxruntime {_HARMS.get(step.op, 'crashes the process')} if {operand} {demand.need.value}"
    )


def extent_refusal(step: Leaf) -> str:
    """Why the kernel would crash the process, from the known extents; "" otherwise."""
    demands = extent_demands(step)
    shapes = [*map(known_extents, step.operands)] if demands else []
    wrong = (demand for demand in demands if extents_meet(demand, shapes) is False)
    return _divisor_refusal(step) or next((_told(step, demand) for demand in wrong), "")


def _divisor_refusal(step: Leaf) -> str:
    for name in _DIVISORS.get((step.domain, step.op), ()):
        for value in _integers(step, name):
            if abs(value) > _MOST_HEADS:
                return f"onnxruntime crashes the process if {name} is {value}"
    return ""


def known_extents(value: Value | None) -> Shape:
    """The inferred shape; the declared one may be wrong."""
    type_ = value.inferred if value is not None else None
    shape = type_.shape if isinstance(type_, Tensor) else None
    return None if shape is None else tuple(d if isinstance(d, int) else None for d in shape)


def _not_empty(demand: ExtentDemand, shapes: Sequence[Shape]) -> bool | None:
    size = _size(_taken(shapes[demand.position], demand.axes))
    return None if size is None else size > 0


def _spatial(demand: ExtentDemand, shapes: Sequence[Shape]) -> bool | None:
    shape = shapes[demand.position]
    size = None if shape is None else _size(shape[2:])
    return None if size is None else size > 0


def _window(demand: ExtentDemand, shapes: Sequence[Shape]) -> bool | None:
    taken = _taken(shapes[demand.position], demand.axes)
    if taken is None or len(taken) < len(demand.least):
        return None if taken is None else False
    pairs = zip(taken, demand.least, strict=True)
    known = [None if extent is None else extent >= least for extent, least in pairs]
    return False if False in known else None if None in known else True


def _heads(demand: ExtentDemand, shapes: Sequence[Shape]) -> bool | None:
    shape = shapes[demand.position]
    if shape is None:
        return None
    axes = {_WITH_HEADS: (1,), _WITH_HEADS - 1: (-1,)}.get(len(shape), (1, -1))
    return _not_empty(ExtentDemand(ExtentNeed.NOT_EMPTY, demand.position, axes), shapes)


def _single(demand: ExtentDemand, shapes: Sequence[Shape]) -> bool | None:
    size = _size(shapes[demand.position])
    return None if size is None else size == 1


def _by_column(demand: ExtentDemand, shapes: Sequence[Shape]) -> bool | None:
    count, matrix = _size(shapes[demand.position]), shapes[1]
    if count == 1:
        return True
    columns = None if matrix is None else _size((*matrix[:-2], *matrix[-1:]))
    return None if count is None or columns is None else 0 < count == columns


def _even(demand: ExtentDemand, shapes: Sequence[Shape]) -> bool | None:
    last = _size(_taken(shapes[demand.position], (-1,)))
    return None if last is None else last % 2 == 0


def _square(demand: ExtentDemand, shapes: Sequence[Shape]) -> bool | None:
    rows, columns = (_size(_taken(shapes[demand.position], (axis,))) for axis in (-2, -1))
    return None if rows is None or columns is None else 0 < rows == columns


def _rows(demand: ExtentDemand, shapes: Sequence[Shape]) -> bool | None:
    rows, wanted = (_size(_taken(shapes[k], (0,))) for k in (demand.position, 0))
    return None if rows is None or wanted is None else rows == wanted


_HOLDS: Mapping[ExtentNeed, Callable[[ExtentDemand, Sequence[Shape]], bool | None]] = {
    ExtentNeed.NOT_EMPTY: _not_empty,
    ExtentNeed.SPATIAL: _spatial,
    ExtentNeed.HEADS: _heads,
    ExtentNeed.SINGLE: _single,
    ExtentNeed.BY_COLUMN: _by_column,
    ExtentNeed.SQUARE: _square,
    ExtentNeed.WINDOW: _window,
    ExtentNeed.ROWS: _rows,
    ExtentNeed.EVEN: _even,
}


def _taken(shape: Shape, axes: Axes) -> Shape:
    if shape is None or axes is None:
        return shape
    rank = len(shape)
    return tuple(shape[axis] for axis in axes if -rank <= axis < rank)


def _size(shape: Shape) -> int | None:
    """The number of elements; None if it is not known."""
    extents = [extent for extent in shape or () if extent is not None]
    if shape is None or (len(extents) < len(shape) and 0 not in extents):
        return None
    return prod(extents) if len(extents) == len(shape) else 0
