"""How many elements the result of a step may have for each element of an input of its region.

gain(Add(x, w)) = gain(x) * factor      # w constant: its extents where x may have 1
gain(MatMul(x, w)) = gain(x) * w.shape[-1] / w.shape[-2]
gain(Conv(x, w)) = gain(x) * w.shape[0] / (w.shape[1] * group) * prod(1 + pads)
gain(MaxPool(x)) = gain(x) * prod(1 + pads)
gain(Add(x, y)) = gain(x)               # x and y of the same symbols
gain(Relu(x)) = gain(x)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod
from operator import ge
from typing import Any

from treadle import ops
from treadle.delegate.workarounds.sizes import factors
from treadle.ir import Leaf, Shape, Tensor, Type, Value

_MATRIX = 2
_POOLS = ("AveragePool", "LpPool", "MaxPool")


def gain_of(step: Leaf, gains: Mapping[Value, float], known: set[Value]) -> float:
    """How many elements a result has for each of an input's; infinite where that is not known."""
    fed = [value for value in step.operands if value is not None]
    if all(value in known for value in fed):
        known.update(value for value in step.results if value is not None)
        return 1.0
    own = [gains[value] for value in fed if value not in known]
    if step.op == "Concat" and not step.domain:
        return sum(own)
    if not ops.may_grow(step) or _has_shape_of(step, fed):
        return max(own)
    return max(own) * min(_by_types(step, fed), _by_constants(step, fed, known))


def _has_shape_of(step: Leaf, fed: Sequence[Value]) -> bool:
    """Whether the result's extents, with their symbols, are known to be those of an operand."""
    made = step.results[0].inferred if step.results[0] is not None else None
    shape = made.shape if isinstance(made, Tensor) else None
    return shape is not None and None not in shape and any(_shape_of(each) == shape for each in fed)


def _shape_of(value: Value) -> Shape | None:
    return value.inferred.shape if isinstance(value.inferred, Tensor) else None


def _by_types(step: Leaf, fed: Sequence[Value]) -> float:
    """The factor between the result and an operand that has all its symbols."""
    made = _factors(step.results[0])
    if made is None:
        return inf
    symbols, number = made
    pairs = (found for value in fed if (found := _factors(value)) is not None)
    return min((number / max(own, 1) for each, own in pairs if symbols <= each), default=inf)


def _by_constants(step: Leaf, fed: Sequence[Value], known: set[Value]) -> float:
    """The factor by constants that one other operand is combined with, or by windows."""
    if step.op in ("Conv", *_POOLS) and fed[0] not in known:
        return _by_windows(step, fed[1] if step.op == "Conv" else None)
    fixed = [
        shape for value in fed if value in known and (shape := static_shape(value)) is not None
    ]
    if len(fixed) + 1 != len(fed):
        return inf
    (moving,) = [value for value in fed if value not in known]
    if step.op in ("MatMul", "Gemm"):
        return _columns(step, fixed[0]) if fed[0] is moving else inf
    if step.op == "Gather":
        is_table = fed[1] is moving and "axis" not in step.attributes and fixed[0]
        return float(prod(fixed[0][1:])) if is_table else inf
    if not ops.is_broadcast(step):
        return inf
    own = _extents(moving)
    return inf if own is None else float(prod(_widened(own, shape) for shape in fixed))


def _columns(step: Leaf, shape: Sequence[Any]) -> float:
    if len(shape) != _MATRIX:
        return inf
    rows, columns = shape
    turned = step.attributes.get("transB")
    if turned is not None and turned.value:
        rows, columns = columns, rows
    return float(columns / max(rows, 1))


def _widened(own: Sequence[int | None], shape: Sequence[int]) -> int:
    """The extents of a constant along the axes on which an operand may have 1."""
    behind = len(shape) - len(own)
    padded = (*(1,) * behind, *own) if behind > 0 else own[-behind:]
    return prod(n for extent, n in zip(padded, shape, strict=True) if n != extent)


def _factors(value: Value | None) -> Any:
    type_ = None if value is None else value.inferred
    return factors(type_.shape) if isinstance(type_, Tensor) else None


def _extents(value: Value) -> tuple[int | None, ...] | None:
    type_ = value.inferred
    shape = type_.shape if isinstance(type_, Tensor) else None
    return None if shape is None else tuple(d if isinstance(d, int) else None for d in shape)


def _by_windows(step: Leaf, weight: Value | None) -> float:
    """The factor of a convolution or pool: by its maps, and by the padding of each axis.

    There are at most as many windows as elements with their padding. Padding as wide as a window
    makes a result of an empty image, which no factor bounds.
    """
    given = ops.attributes_of(step.attributes)
    shape = (1, 1) if weight is None else static_shape(weight) or ()
    channels = shape[1] * given.get("group", 1) if len(shape) >= _MATRIX else 0
    if channels < 1:
        return inf
    maps = shape[0] / channels
    if given.get("auto_pad", "NOTSET").startswith("SAME"):
        return maps
    kernel = given.get("kernel_shape") or shape[2:]
    rank = len(kernel)
    dilations, pads = given.get("dilations") or [1] * rank, given.get("pads") or [0] * 2 * rank
    if len(dilations) != rank or len(pads) != 2 * rank:
        return inf
    widths = [max(pads[axis] + pads[axis + rank], 0) for axis in range(rank)]
    spans = [(kernel[axis] - 1) * dilations[axis] + 1 for axis in range(rank)]
    if any(map(ge, widths, spans)):
        return inf
    return float(maps * prod(1 + width for width in widths))


def static_shape(value: Value) -> tuple[int, ...] | None:
    """The shape of a value whose inferred extents are all known."""
    return known_shape(value.inferred)


def known_shape(type_: Type | None) -> tuple[int, ...] | None:
    """The shape of a tensor whose extents are all known."""
    shape = type_.shape if isinstance(type_, Tensor) else None
    if shape is None:
        return None
    known = tuple(extent for extent in shape if isinstance(extent, int))
    return known if len(known) == len(shape) else None
