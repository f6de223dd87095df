"""Our own type rules for common leaves: they keep symbolic dims that onnx's rules lose.

A rule returns the type of the only result, or None to leave the leaf to `ops.result_types`, which
also reports faults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

import numpy as np

from treadle.infer.data_propagation import (
    attribute_value,
    cut,
    entries,
    slice_bounds,
    whole_attribute,
    wholes,
)
from treadle.infer.dim_arithmetic import at_least, broadcast, fits, product, quotient, total
from treadle.infer.facts import Content, Fact, array_of, meet_dims
from treadle.ir import (
    Dim,
    DType,
    Leaf,
    Literal,
    Shape,
    Tensor,
    Type,
    add_dims,
    subtract_dims,
)

Rule = Callable[[Leaf, Sequence[Fact]], Type | None]

_TO_THE_END = 2**31 - 1
_BROADCASTING = 7
"""The version from which arithmetic broadcasts as numpy does."""


def type_of(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    """The type of the leaf's only result, or None."""
    rule = _DOMAINS.get(leaf.domain, {}).get(leaf.op)
    if rule is None or len(leaf.results) != 1 or not facts:
        return None
    return rule(leaf, facts)


def shape_of(fact: Fact) -> Shape | None:
    """The shape of a tensor; None where its rank is unknown."""
    return fact.type.shape if isinstance(fact.type, Tensor) else None


def dtype_of(fact: Fact) -> DType | None:
    """The element type of a tensor."""
    return fact.type.dtype if isinstance(fact.type, Tensor) else None


def _same(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    return facts[0].type if dtype_of(facts[0]) is not None else None


def _identity(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    return facts[0].type


def _common(facts: Sequence[Fact]) -> DType | None:
    dtypes = {dtype_of(fact) for fact in facts}
    return dtypes.pop() if len(dtypes) == 1 else None


def _elementwise(
    result: DType | None, values: slice, leaf: Leaf, facts: Sequence[Fact]
) -> Type | None:
    shapes = [shape_of(fact) for fact in facts]
    dtype = _common(facts[values])
    if leaf.version < _BROADCASTING or dtype is None or not fits(shapes):
        return None
    return Tensor(result or dtype, broadcast(shapes))


def _cast(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    dtype = _ELEMENTS.get(attribute_value(leaf, "to"))
    return None if dtype is None else Tensor(dtype, shape_of(facts[0]))


_ELEMENTS: dict[object, DType] = {
    1: DType.FLOAT32, 2: DType.UINT8, 3: DType.INT8, 4: DType.UINT16, 5: DType.INT16,
    6: DType.INT32, 7: DType.INT64, 9: DType.BOOL, 10: DType.FLOAT16, 11: DType.FLOAT64,
}  # fmt: skip


def _shape(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    shape = shape_of(facts[0])
    if shape is None:
        return Tensor(DType.INT64, (None,))
    start = whole_attribute(leaf, "start", 0)
    return Tensor(DType.INT64, (len(shape[start : whole_attribute(leaf, "end", len(shape))]),))


def _concat(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    shapes = [shape for fact in facts if (shape := shape_of(fact)) is not None]
    dtype = _common(facts)
    axis = _axis(leaf, "axis", None if leaf.version >= 4 else 1, shapes[0] if shapes else None)
    if axis is None or dtype is None or len(shapes) < len(facts):
        return None
    if len({len(shape) for shape in shapes}) > 1:
        return None
    columns = list(zip(*shapes, strict=True))
    others = [column for position, column in enumerate(columns) if position != axis]
    if not all(map(_agree, others)):
        return None
    dims = [reduce(meet_dims, column) for column in others]
    return Tensor(dtype, (*dims[:axis], total(columns[axis]), *dims[axis:]))


def _agree(dims: Sequence[Dim]) -> bool:
    return len({dim for dim in dims if isinstance(dim, int)}) < 2


def _axis(leaf: Leaf, name: str, default: int | None, shape: Shape | None) -> int | None:
    """The attribute as a position in the shape; None if it is missing or out of range."""
    value = attribute_value(leaf, name)
    axis = default if value is None else value
    if not isinstance(axis, int) or shape is None or not -len(shape) <= axis < len(shape):
        return None
    return axis % len(shape)


def _gather(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    shape, indices = shape_of(facts[0]), shape_of(facts[1])
    axis = _axis(leaf, "axis", 0, shape)
    if shape is None or indices is None or axis is None:
        return None
    return Tensor(dtype_of(facts[0]), (*shape[:axis], *indices, *shape[axis + 1 :]))


def _reshape(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    shape, dtype = shape_of(facts[0]), dtype_of(facts[0])
    wanted = _wanted_shape(leaf, facts)
    if wanted is None or dtype is None:
        return None
    if not whole_attribute(leaf, "allowzero", 0):
        if any(dim == 0 and shape is not None and k >= len(shape) for k, dim in enumerate(wanted)):
            return None
        wanted = tuple(
            (None if shape is None else shape[k]) if dim == 0 else dim
            for k, dim in enumerate(wanted)
        )
    return Tensor(dtype, _rest(wanted, shape))


def _wanted_shape(leaf: Leaf, facts: Sequence[Fact]) -> Content | None:
    if len(facts) > 1:
        return entries(facts[1])
    value = attribute_value(leaf, "shape")
    return value if isinstance(value, tuple) else None


def _rest(wanted: Content, shape: Shape | None) -> Shape:
    """The requested dims of a Reshape, with a dim of -1 or an unknown one computed from the size.

    An unknown dim may be any number, 0 and -1 included; if all others are numbers, the size still
    determines it.
    """
    others = [dim for dim in wanted if dim not in (-1, None)]
    size = product(others)
    tells = len(others) + 1 == len(wanted) and (-1 in wanted or isinstance(size, int))
    left = quotient(product(shape), size) if tells and shape is not None else None
    return tuple(left if dim in (-1, None) else _positive(dim) for dim in wanted)


def _positive(dim: Dim) -> Dim:
    """The dim as an extent; None if it may be negative."""
    return dim if at_least(dim, 0) else None


def _expand(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    shape, wanted, dtype = shape_of(facts[0]), entries(facts[1]), dtype_of(facts[0])
    if shape is None or wanted is None or dtype is None:
        return None
    target = tuple(map(_positive, wanted))
    return Tensor(dtype, broadcast([shape, target])) if fits([shape, target]) else None


def _constant_of_shape(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    wanted = entries(facts[0])
    value = attribute_value(leaf, "value")
    dtype = value.dtype if isinstance(value, Literal) else DType.FLOAT32
    return None if wanted is None else Tensor(dtype, tuple(map(_positive, wanted)))


def _range(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    dtype = _common(facts)
    bounds = [entries(fact) for fact in facts]
    if dtype is None or len(bounds) != 3:
        return None
    start, limit, step = (bound[0] if bound else None for bound in bounds)
    if isinstance(start, int) and isinstance(limit, int) and isinstance(step, int) and step:
        return Tensor(dtype, (len(range(start, limit, step)),))
    if start == 0 and step == 1 and at_least(limit, 0):
        return Tensor(dtype, (limit,))
    return None


def _slice(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    shape, dtype = shape_of(facts[0]), dtype_of(facts[0])
    bounds = slice_bounds(leaf, facts)
    if shape is None or dtype is None or bounds is None:
        return None
    dims, rank = list(shape), len(shape)
    is_known = all(-rank <= axis < rank and step != 0 for axis, _, _, step in bounds)
    if not is_known or len({axis % rank for axis, *_ in bounds}) < len(bounds):
        return None
    for axis, start, end, step in bounds:
        dims[axis] = _cut(dims[axis], start, end, step)
    return Tensor(dtype, tuple(dims))


def _cut(dim: Dim, start: Dim, end: Dim, step: int) -> Dim:
    """The number of positions a Slice selects on an axis, if its bounds need no clamping."""
    if isinstance(dim, int) and isinstance(start, int) and isinstance(end, int):
        return len(cut(start, end, step, dim))
    if step == -1 and start == -1 and isinstance(end, int) and end <= -_TO_THE_END:
        return dim
    if step != 1:
        return None
    is_open = isinstance(end, int) and end >= _TO_THE_END
    first, last = _from_front(start, dim), dim if is_open else _from_front(end, dim)
    taken = subtract_dims(last, first)
    is_certain = at_least(taken, 0) and at_least(subtract_dims(dim, last), 0)
    return taken if is_certain else (dim if start == 0 and is_open else None)


def _from_front(bound: Dim, dim: Dim) -> Dim:
    """A bound of a Slice counted from the front.

    None if its sign is unknown or it may be out of range.
    """
    counted = add_dims(dim, bound) if isinstance(bound, int) and bound < 0 else bound
    return counted if at_least(counted, 0) else None


def _transpose(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    shape, dtype = shape_of(facts[0]), dtype_of(facts[0])
    if shape is None or dtype is None:
        return None
    order = attribute_value(leaf, "perm")
    if order is None:
        return Tensor(dtype, shape[::-1])
    if not isinstance(order, tuple) or sorted(order) != list(range(len(shape))):
        return None
    return Tensor(dtype, tuple(shape[axis] for axis in order))


def _axes(leaf: Leaf, facts: Sequence[Fact], rank: int) -> tuple[int, ...] | None:
    """The axes of an attribute or of the second operand, counted from the front."""
    value = attribute_value(leaf, "axes")
    axes = value if isinstance(value, tuple) else None
    if len(facts) > 1:
        axes = wholes(facts[1])
    if axes is None or not all(-rank <= axis < rank for axis in axes):
        return None
    counted = tuple(axis % rank for axis in axes)
    return counted if len(set(counted)) == len(counted) else None


def _unsqueeze(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    shape, dtype = shape_of(facts[0]), dtype_of(facts[0])
    value = wholes(facts[1]) if len(facts) > 1 else attribute_value(leaf, "axes")
    if shape is None or dtype is None or not isinstance(value, tuple):
        return None
    rank = len(shape) + len(value)
    axes = _axes(leaf, facts, rank)
    if axes is None:
        return None
    kept = iter(shape)
    return Tensor(dtype, tuple(1 if axis in axes else next(kept) for axis in range(rank)))


def _squeeze(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    shape, dtype = shape_of(facts[0]), dtype_of(facts[0])
    axes = None if shape is None else _axes(leaf, facts, len(shape))
    if shape is None or dtype is None or axes is None:
        return None
    if any(isinstance(shape[axis], int) and shape[axis] != 1 for axis in axes):
        return None
    return Tensor(dtype, tuple(dim for axis, dim in enumerate(shape) if axis not in axes))


def _matmul(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    left, right = shape_of(facts[0]), shape_of(facts[1])
    dtype = _common(facts)
    if dtype is None or left is None or right is None or min(len(left), len(right)) < 2:
        return None
    batches = [left[:-2], right[:-2]]
    if not fits(batches) or not fits([(left[-1],), (right[-2],)]):
        return None
    if 1 in (left[-1], right[-2]) and left[-1] != right[-2]:
        return None
    return Tensor(dtype, (*(broadcast(batches) or ()), left[-2], right[-1]))


def _resize(leaf: Leaf, facts: Sequence[Fact]) -> Type | None:
    shape, dtype = shape_of(facts[0]), dtype_of(facts[0])
    scales = facts[_SCALES.get(leaf.version, 2) :]
    array = array_of(scales[0]) if scales else None
    if shape is None or dtype is None or array is None or array.shape != (len(shape),):
        return None
    if not {"axes", "keep_aspect_ratio_policy"}.isdisjoint(leaf.attributes):
        return None
    if attribute_value(leaf, "coordinate_transformation_mode") == "tf_crop_and_resize":
        return None
    return Tensor(dtype, tuple(map(_scaled, shape, array)))


_SCALES = {10: 1}
_LARGEST = 2**63


def _scaled(dim: Dim, scale: np.float32) -> Dim:
    if not isinstance(dim, int):
        return dim if scale == 1 else None
    if not 0 <= dim * float(scale) < _LARGEST:  # NaN, an infinity and a scale below 0 too
        return None
    # onnx.reference multiplies in float64, onnxruntime in float32: 10 * 0.7 is 6 or 7
    extents = {int(np.floor(np.float32(dim) * scale)), int(np.floor(dim * float(scale)))}
    return extents.pop() if len(extents) == 1 else None


_MAPS = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish"
    " LeakyRelu Log LogSoftmax Mish Neg Not Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh"
    " Softmax Softplus Softsign Sqrt Tan Tanh ThresholdedRelu"
)
_PAIRS = "Add Sub Mul Div And Or Xor Mod BitwiseAnd BitwiseOr BitwiseXor Max Min Sum Mean"
_COMPARISONS = "Equal Greater Less GreaterOrEqual LessOrEqual"

_RULES: dict[str, Rule] = {
    **dict.fromkeys(_MAPS.split(), _same),
    **dict.fromkeys(_PAIRS.split(), partial(_elementwise, None, slice(0, None))),
    **dict.fromkeys(_COMPARISONS.split(), partial(_elementwise, DType.BOOL, slice(0, None))),
    "Pow": partial(_elementwise, None, slice(0, 1)),
    "Where": partial(_elementwise, None, slice(1, None)),
    "Identity": _identity,
    "Cast": _cast,
    "Shape": _shape,
    "Concat": _concat,
    "Gather": _gather,
    "Reshape": _reshape,
    "Expand": _expand,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "Slice": _slice,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "MatMul": _matmul,
    "Resize": _resize,
}

_OWN: dict[str, Rule] = {"SequenceLength": lambda leaf, facts: Tensor(DType.INT64, (1,))}
_DOMAINS: dict[str, dict[str, Rule]] = {"": _RULES, "treadle": _OWN}
