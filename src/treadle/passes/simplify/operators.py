"""The table of leaf operators that cannot fail on operands of proven types: one rule each.

A rule is asked only if the schema admits the element types, and decides by shapes and values. An
operator without a rule may fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from treadle.ir import DType, Leaf, Shape, Value
from treadle.passes.simplify.context import PassContext, is_same

Rule = Callable[[Leaf, PassContext], bool]

NUMBERS = frozenset(
    {
        DType.BOOL, DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT8, DType.UINT16,
        DType.UINT32, DType.UINT64, DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64,
    }
)  # fmt: skip
FLOATS = frozenset({DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64})
_NUMPY_BROADCASTING = 7
_AXES_ARE_INPUTS = {"ReduceSum": 13, "Squeeze": 13, "Unsqueeze": 13}
_REDUCTIONS_TAKE_INPUTS = 18
_SLICE_TAKES_INPUTS = 10


def attribute(leaf: Leaf, name: str, default: object = None) -> object:
    """The plain value of an attribute."""
    return leaf.attributes[name].value if name in leaf.attributes else default


def operand(leaf: Leaf, position: int) -> Value | None:
    """An operand; None if it is absent."""
    return leaf.operands[position] if len(leaf.operands) > position else None


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    """The broadcast shape of operands; None if they may not broadcast."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    rank = max(map(len, known), default=0)
    together = []
    for axis in range(1, rank + 1):
        dims = [shape[-axis] for shape in known if len(shape) >= axis and shape[-axis] != 1]
        if any(not is_same(dim, dims[0]) for dim in dims[1:]):
            return None
        together.append(dims[0] if dims else 1)
    return tuple(reversed(together))


def axis_in(axis: object, rank: int) -> bool:
    """Whether a number is a valid axis of a tensor of this rank."""
    return isinstance(axis, int) and -rank <= axis < rank


def axes_of(leaf: Leaf, position: int, at: PassContext, since: int) -> tuple[int, ...] | None:
    """The axes of an operator, from an input or attribute; () for none; None: unknown."""
    if leaf.version < since:
        given = attribute(leaf, "axes", ())
        return tuple(n for n in given if isinstance(n, int)) if isinstance(given, tuple) else None
    value = operand(leaf, position)
    if value is None:
        return ()
    array = at.array(value)
    return None if array is None else tuple(map(int, array.reshape(-1)))


def _always(leaf: Leaf, at: PassContext) -> bool:
    return True


def _known(leaf: Leaf, at: PassContext) -> bool:
    return at.dtype(leaf.operands[0]) in NUMBERS


def _elementwise(leaf: Leaf, at: PassContext) -> bool:
    if leaf.version < _NUMPY_BROADCASTING or any(at.dtype(v) not in NUMBERS for v in leaf.operands):
        return False
    return broadcast([at.shape(value) for value in leaf.operands]) is not None


def _division(leaf: Leaf, at: PassContext) -> bool:
    if not _elementwise(leaf, at):
        return False
    divisor = at.array(leaf.operands[1])
    if at.dtype(leaf.operands[1]) in FLOATS:
        return leaf.op == "Div" or bool(attribute(leaf, "fmod", 0))
    return divisor is not None and not np.isin(divisor, (0, -1)).any()


def _power(leaf: Leaf, at: PassContext) -> bool:
    return _elementwise(leaf, at) and all(at.dtype(value) in FLOATS for value in leaf.operands)


def _cast(leaf: Leaf, at: PassContext) -> bool:
    made = at.dtype(leaf.results[0])
    return at.dtype(leaf.operands[0]) in NUMBERS and made in NUMBERS


def _clip(leaf: Leaf, at: PassContext) -> bool:
    bounds = [value for value in leaf.operands[1:] if value is not None]
    return _known(leaf, at) and all(at.shape(value) == () for value in bounds)


def _transpose(leaf: Leaf, at: PassContext) -> bool:
    shape, order = at.shape(leaf.operands[0]), attribute(leaf, "perm")
    if shape is None or order is None:
        return shape is not None
    return isinstance(order, tuple) and sorted(map(repr, order)) == sorted(
        map(repr, range(len(shape)))
    )


def _reshape(leaf: Leaf, at: PassContext) -> bool:
    extents, target = at.extents(leaf.operands[0]), at.array(operand(leaf, 1))
    if extents is None or target is None or target.ndim != 1 or attribute(leaf, "allowzero", 0):
        return False
    wanted = [int(n) for n in target]
    if any(n < -1 or (n == 0 and k >= len(extents)) for k, n in enumerate(wanted)):
        return False
    copied = [extents[k] if n == 0 else n for k, n in enumerate(wanted)]
    rest = prod(n for n in copied if n != -1)
    if copied.count(-1) == 1:
        return rest > 0 and prod(extents) % rest == 0
    return copied.count(-1) == 0 and rest == prod(extents)


def _expand(leaf: Leaf, at: PassContext) -> bool:
    target = at.array(leaf.operands[1])
    if target is None or target.ndim != 1 or (target < 0).any():
        return False
    return broadcast([at.shape(leaf.operands[0]), tuple(map(int, target))]) is not None


def _squeeze(leaf: Leaf, at: PassContext) -> bool:
    shape, axes = at.shape(leaf.operands[0]), axes_of(leaf, 1, at, _AXES_ARE_INPUTS["Squeeze"])
    if shape is None or axes is None or not axes:
        return False
    return all(axis_in(axis, len(shape)) and shape[axis] == 1 for axis in axes)


def _unsqueeze(leaf: Leaf, at: PassContext) -> bool:
    shape, axes = at.shape(leaf.operands[0]), axes_of(leaf, 1, at, _AXES_ARE_INPUTS["Unsqueeze"])
    if shape is None or axes is None:
        return False
    rank = len(shape) + len(axes)
    distinct = {axis % rank for axis in axes} if rank else set()
    return all(axis_in(axis, rank) for axis in axes) and len(distinct) == len(axes)


def _slice(leaf: Leaf, at: PassContext) -> bool:
    shape = at.shape(leaf.operands[0])
    if leaf.version < _SLICE_TAKES_INPUTS or shape is None:
        return False
    lengths = {at.extents(value) for value in leaf.operands[1:] if value is not None}
    if len(lengths) != 1 or None in lengths:
        return False
    (length,) = lengths
    count = length[0] if length is not None and len(length) == 1 else None
    if count is None:
        return False
    axes, steps = at.array(operand(leaf, 3)), at.array(operand(leaf, 4))
    if (operand(leaf, 3) is not None and axes is None) or (
        operand(leaf, 4) is not None and steps is None
    ):
        return False
    named = list(map(int, axes)) if axes is not None else list(range(count))
    fits = all(axis_in(axis, len(shape)) for axis in named)
    is_once = fits and len({axis % len(shape) for axis in named}) == len(named)
    return is_once and (steps is None or bool((steps != 0).all()))


def _gather(leaf: Leaf, at: PassContext) -> bool:
    shape, indices = at.shape(leaf.operands[0]), at.array(leaf.operands[1])
    axis = attribute(leaf, "axis", 0)
    if shape is None or indices is None or not isinstance(axis, int):
        return False
    extent = shape[axis] if axis_in(axis, len(shape)) else None
    return isinstance(extent, int) and bool(((-extent <= indices) & (indices < extent)).all())


def _concat(leaf: Leaf, at: PassContext) -> bool:
    shapes = [at.shape(value) for value in leaf.operands]
    axis, first = attribute(leaf, "axis"), shapes[0] if shapes else None
    if first is None or not isinstance(axis, int) or not axis_in(axis, len(first)):
        return False
    along = axis % len(first)
    return all(
        shape is not None
        and len(shape) == len(first)
        and all(
            is_same(a, b) for k, (a, b) in enumerate(zip(first, shape, strict=True)) if k != along
        )
        for shape in shapes[1:]
    )


_MATRIX = 2


def _matmul(leaf: Leaf, at: PassContext) -> bool:
    left, right = at.shape(leaf.operands[0]), at.shape(leaf.operands[1])
    if not left or not right:
        return False
    inner = right[-2] if len(right) >= _MATRIX else right[0]
    return is_same(left[-1], inner) and broadcast([left[:-2], right[:-2]]) is not None


def _gemm(leaf: Leaf, at: PassContext) -> bool:
    left, right = at.shape(leaf.operands[0]), at.shape(leaf.operands[1])
    if leaf.version < _NUMPY_BROADCASTING or left is None or right is None:
        return False
    if len(left) != _MATRIX or len(right) != _MATRIX:
        return False
    rows, inner = reversed(left) if attribute(leaf, "transA", 0) else left
    other, columns = reversed(right) if attribute(leaf, "transB", 0) else right
    added = operand(leaf, 2)
    if not is_same(inner, other):
        return False
    return added is None or broadcast([(rows, columns), at.shape(added)]) == (rows, columns)


def _reduction(leaf: Leaf, at: PassContext) -> bool:
    shape = at.shape(leaf.operands[0])
    since = _AXES_ARE_INPUTS.get(leaf.op, _REDUCTIONS_TAKE_INPUTS)
    axes = axes_of(leaf, 1, at, since)
    if shape is None or axes is None or not all(axis_in(axis, len(shape)) for axis in axes):
        return False
    return leaf.op == "ReduceSum" or all(isinstance(dim, int) and dim > 0 for dim in shape)


def _along_axis(leaf: Leaf, at: PassContext) -> bool:
    extents = at.extents(leaf.operands[0])
    default = 0 if leaf.op.startswith("Arg") else -1
    axis = attribute(leaf, "axis", default)
    return bool(extents) and min(extents or (0,)) > 0 and axis_in(axis, len(extents or ()))


def _softmax(leaf: Leaf, at: PassContext) -> bool:
    return leaf.version >= _AXES_ARE_INPUTS["Squeeze"] and _along_axis(leaf, at)


def _flatten(leaf: Leaf, at: PassContext) -> bool:
    shape, axis = at.shape(leaf.operands[0]), attribute(leaf, "axis", 1)
    return shape is not None and isinstance(axis, int) and -len(shape) <= axis <= len(shape)


def _constant_of_shape(leaf: Leaf, at: PassContext) -> bool:
    shape = at.array(leaf.operands[0])
    return shape is not None and shape.ndim == 1 and bool((shape >= 0).all())


def _same_types(leaf: Leaf, at: PassContext) -> bool:
    types = {at.dtype(value) for value in leaf.operands}
    return len(types) == 1 and None not in types


_TABLE: Mapping[Rule, str] = {
    _always: "Constant Identity Shape Size SequenceEmpty SequenceLength",
    _known: (
        "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu"
        " HardSigmoid HardSwish IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu"
        " Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh ThresholdedRelu"
    ),
    _elementwise: (
        "Add And BitwiseAnd BitwiseOr BitwiseXor Equal Greater GreaterOrEqual Less LessOrEqual Max"
        " Mean Min Mul Or Sub Sum Where Xor"
    ),
    _division: "Div Mod",
    _power: "Pow",
    _cast: "Cast CastLike",
    _clip: "Clip",
    _transpose: "Transpose",
    _reshape: "Reshape",
    _expand: "Expand",
    _squeeze: "Squeeze",
    _unsqueeze: "Unsqueeze",
    _slice: "Slice",
    _gather: "Gather",
    _concat: "Concat",
    _matmul: "MatMul",
    _gemm: "Gemm",
    _reduction: (
        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd"
        " ReduceSum ReduceSumSquare"
    ),
    _along_axis: "ArgMax ArgMin",
    _softmax: "LogSoftmax Softmax",
    _flatten: "Flatten",
    _constant_of_shape: "ConstantOfShape",
    _same_types: "SequenceConstruct",
}
RULES: Mapping[str, Rule] = {op: rule for rule, ops in _TABLE.items() for op in ops.split()}
"""The rule of each operator that can be proven not to fail."""
