"""The verifier's rules for each operation of the kernel IR: operands and result type.

A rule takes a node and yields a sentence for each fault. Dims are compared only if both are
numbers: the equality of symbolic dims may depend on a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    ArgTopK,
    Axis,
    CarriedArg,
    Concat,
    Constant,
    Cumulative,
    DimOf,
    Elementwise,
    Empty,
    FlatNonzero,
    Gather,
    Guard,
    IndexTuple,
    InductionVar,
    Input,
    InputDim,
    Iota,
    MatMul,
    Node,
    Number,
    Reduce,
    Reshape,
    Result,
    ScanSlice,
    Scatter,
    Shape,
    Take,
    View,
    op_of,
    show_shape,
)
from treadle.jit.kernel.scalar_functions import check_types

Complaints = Iterator[str]


def may_be_equal(left: Sequence[Number], right: Sequence[Number]) -> bool:
    """Whether two shapes can be equal: equal rank, and no two different numbers."""
    pairs = zip(left, right, strict=False)
    return len(left) == len(right) and not any(_differ(*pair) for pair in pairs)


def _differ(left: Number, right: Number) -> bool:
    return isinstance(left, int) and isinstance(right, int) and left != right


def _expect_shape(node: Node, wanted: Sequence[Number]) -> Complaints:
    if not may_be_equal(node.shape, wanted):
        yield f"its shape is {show_shape(node.shape)} where {show_shape(wanted)} is right"


def _expect_dtype(node: Node, wanted: DType) -> Complaints:
    if node.dtype is not wanted:
        yield f"its element type is {node.dtype} where {wanted} is right"


def _expect_axis(axis: int, rank: int) -> Complaints:
    if not 0 <= axis < rank:
        yield f"axis {axis} of a tensor of rank {rank}"


def _expect_whole(node: Node) -> Complaints:
    if node.dtype.numpy.kind not in "iu":
        yield f"indices of {node.dtype}"


def _like(node: Node, operand: Node) -> Complaints:
    yield from _expect_dtype(node, operand.dtype)
    yield from _expect_shape(node, operand.shape)


def _scalar(dtype: DType) -> Callable[[Node], Complaints]:
    def rule(node: Node) -> Complaints:
        yield from _expect_dtype(node, dtype)
        yield from _expect_shape(node, (1,) * len(node.shape))

    return rule


def _constant(node: Node) -> Complaints:
    assert isinstance(node.op, Constant)
    if node.op.array.dtype != node.dtype.numpy or node.op.array.shape != node.shape:
        yield f"its array is {node.op.array.dtype}{show_shape(node.op.array.shape)}"


def _empty(node: Node) -> Complaints:
    if not any(extent == 0 for extent in node.shape):
        yield "no extent of an empty tensor is 0"


def _input_dim(node: Node) -> Complaints:
    assert isinstance(node.op, InputDim)
    yield from _scalar(DType.INT64)(node)
    if node.op.extent.source is not None:
        yield f"dim {node.op.extent.name} is no dim of an input"


def _guard(node: Node) -> Complaints:
    (condition,) = node.operands
    if condition.dtype is not DType.BOOL or not condition.is_single:
        yield "a guard asks one bool"


def _iota(node: Node) -> Complaints:
    if node.dtype.numpy.kind not in "iu" or len(node.shape) != 1:
        yield "an iota is a list of whole numbers"


def _in_loop(node: Node) -> Complaints:
    if not node.home.is_loop:
        yield "it is in no loop's body"


def _induction_var(node: Node) -> Complaints:
    yield from _in_loop(node)
    yield from _scalar(DType.INT64)(node)


def _scan_slice(node: Node) -> Complaints:
    (source,), axis = node.operands, op_of(node, ScanSlice).axis
    yield from _in_loop(node)
    yield from _expect_axis(axis, len(source.shape))
    yield from _expect_dtype(node, source.dtype)
    yield from _expect_shape(node, (*source.shape[:axis], *source.shape[axis + 1 :]))


def _elementwise(node: Node) -> Complaints:
    dtypes = tuple(operand.dtype for operand in node.operands)
    yield from check_types(op_of(node, Elementwise).function, dtypes, node.dtype)
    yield from _broadcasts(node, node.operands)


def _broadcasts(node: Node, operands: Sequence[Node]) -> Complaints:
    """The result has the shape to which the operands broadcast."""
    wanted: list[Number] = []
    for extents in zip_longest(*(reversed(operand.shape) for operand in operands), fillvalue=1):
        known = {extent for extent in extents if isinstance(extent, int) and extent != 1}
        if len(known) > 1:
            yield f"operands of {show_shape(extents)} along an axis do not broadcast"
        symbols = [extent for extent in extents if not isinstance(extent, int)]
        wanted.append(next(iter(known), symbols[0] if symbols else 1))
    yield from _expect_shape(node, tuple(reversed(wanted)))


def _view(node: Node) -> Complaints:
    (source,) = node.operands
    yield from _expect_dtype(node, source.dtype)
    yield from _reads(op_of(node, View).axes, source.shape, node.shape)


def _reads(axes: IndexTuple, source: Shape, index: Shape) -> Complaints:
    """The axes read inside the source for every index of a tensor of shape `index`."""
    if len(axes) != len(source):
        yield f"{len(axes)} axes read a tensor of rank {len(source)}"
        return
    for axis, extent in zip(axes, source, strict=True):
        if not isinstance(axis, Axis):
            continue
        if any(number >= len(index) for number, _ in axis.terms):
            yield f"axis i{max(axis.terms)[0]} where the index has rank {len(index)}"
            continue
        extents = [index[number] for number, _ in axis.terms]
        if all(isinstance(each, int) for each in (axis.offset, extent, *index)) and 0 not in index:
            yield from _stays_inside(axis, [int(str(each)) for each in extents], int(str(extent)))


def _stays_inside(axis: Axis, extents: Sequence[int], extent: int) -> Complaints:
    ends = [step * (size - 1) for (_, step), size in zip(axis.terms, extents, strict=True)]
    first = int(str(axis.offset)) + sum(min(end, 0) for end in ends)
    last = int(str(axis.offset)) + sum(max(end, 0) for end in ends)
    if first < 0 or last >= extent:
        yield f"it reads from {first} to {last} along an axis of {extent}"


def _reshape(node: Node) -> Complaints:
    (source,) = node.operands
    yield from _expect_dtype(node, source.dtype)
    if node.is_static and source.is_static and node.size != source.size:
        yield f"{show_shape(node.shape)} has another size than {show_shape(source.shape)}"


def _concat(node: Node) -> Complaints:
    axis = op_of(node, Concat).axis
    yield from _expect_axis(axis, len(node.shape))
    for operand in node.operands:
        yield from _expect_dtype(operand, node.dtype)
        if len(operand.shape) != len(node.shape):
            yield f"an operand of rank {len(operand.shape)} in a tensor of rank {len(node.shape)}"
            return
        wanted = (*node.shape[:axis], operand.shape[axis], *node.shape[axis + 1 :])
        yield from _expect_shape(operand, wanted)
    extents = [operand.shape[axis] for operand in node.operands]
    known = [extent for extent in extents if isinstance(extent, int)]
    if len(known) == len(extents):
        yield from _expect_shape(node, (*node.shape[:axis], sum(known), *node.shape[axis + 1 :]))


def _reduce(node: Node) -> Complaints:
    (source,), axes = node.operands, op_of(node, Reduce).axes
    for axis in axes:
        yield from _expect_axis(axis, len(source.shape))
    yield from _expect_dtype(node, source.dtype)
    kept = tuple(1 if k in axes else extent for k, extent in enumerate(source.shape))
    dropped = tuple(extent for k, extent in enumerate(source.shape) if k not in axes)
    if not may_be_equal(node.shape, kept):
        yield from _expect_shape(node, dropped)


def _matmul(node: Node) -> Complaints:
    left, right = node.operands
    if min(len(left.shape), len(right.shape)) < 2:
        yield "the operands are no matrices"
        return
    if op_of(node, MatMul).of_bytes and node.dtype is not DType.INT32:
        yield f"a product of bytes in {node.dtype}"
    yield from _expect_dtype(left, node.dtype)
    yield from _expect_dtype(right, node.dtype)
    if _differ(left.shape[-1], right.shape[-2]):
        yield f"{show_shape(left.shape)} and {show_shape(right.shape)} do not multiply"
    if not may_be_equal(node.shape[-2:], (left.shape[-2], right.shape[-1])):
        yield f"its matrices are {show_shape(node.shape[-2:])}"


def _flat_nonzero(node: Node) -> Complaints:
    (mask,) = node.operands
    yield from _expect_dtype(mask, DType.BOOL)
    yield from _expect_dtype(node, DType.INT64)
    if len(node.shape) != 1 or len(mask.shape) != 1:
        yield "it is a list of where a list of bools holds"


def _argtopk(node: Node) -> Complaints:
    (keys,), axis = node.operands, op_of(node, ArgTopK).axis
    yield from _expect_axis(axis, len(node.shape))
    yield from _expect_whole(keys)
    yield from _expect_dtype(node, DType.INT64)
    yield from _expect_shape(
        node, (*keys.shape[:axis], *node.shape[axis : axis + 1], *keys.shape[axis + 1 :])
    )


def _take(node: Node) -> Complaints:
    (data, indices), axis = node.operands, op_of(node, Take).axis
    yield from _expect_axis(axis, len(data.shape))
    yield from _expect_whole(indices)
    yield from _expect_dtype(node, data.dtype)
    yield from _expect_shape(node, (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]))


def _cumulative(node: Node) -> Complaints:
    (source,) = node.operands
    yield from _expect_axis(op_of(node, Cumulative).axis, len(source.shape))
    yield from _like(node, source)


def _indexed(axes: IndexTuple, data: Node, element: Node, indices: Sequence[Node]) -> Complaints:
    yield from _expect_dtype(element, data.dtype)
    yield from _reads(axes, data.shape, element.shape)
    if {axis for axis in axes if isinstance(axis, int)} - set(range(len(indices))):
        yield f"an axis uses an index operand that is not one of {len(indices)}"
    for index in indices:
        yield from _expect_whole(index)
        if len(index.shape) != len(element.shape):
            yield f"an index of rank {len(index.shape)} for a tensor of rank {len(element.shape)}"


def _gather(node: Node) -> Complaints:
    data, *indices = node.operands
    yield from _indexed(op_of(node, Gather).axes, data, node, indices)


def _scatter(node: Node) -> Complaints:
    data, updates, *indices = node.operands
    yield from _like(node, data)
    yield from _indexed(op_of(node, Scatter).axes, data, updates, indices)


def _nothing(node: Node) -> Complaints:
    return iter(())


ANY_NUMBER = -1
OPERANDS: Mapping[type, int] = {
    Input: 0, Constant: 0, Empty: 0, InputDim: 0, DimOf: ANY_NUMBER, Guard: 1, Iota: 0,
    InductionVar: 0, CarriedArg: 0, ScanSlice: 1, Elementwise: ANY_NUMBER, View: 1, Reshape: 1,
    Concat: ANY_NUMBER, Reduce: 1, MatMul: 2, FlatNonzero: 1, ArgTopK: 1, Take: 2, Cumulative: 1,
    Gather: ANY_NUMBER, Scatter: ANY_NUMBER, Result: 1,
}  # fmt: skip
"""The number of operands of an operation; those of loops, branches and calls vary."""

_LEAST_OPERANDS: Mapping[type, int] = {Elementwise: 1, Concat: 1, Gather: 1, Scatter: 2}

RULES: Mapping[type, Callable[[Node], Complaints]] = {
    Input: _nothing,
    Constant: _constant,
    Empty: _empty,
    InputDim: _input_dim,
    DimOf: _scalar(DType.INT64),
    Guard: _guard,
    Iota: _iota,
    InductionVar: _induction_var,
    CarriedArg: _in_loop,
    ScanSlice: _scan_slice,
    Elementwise: _elementwise,
    View: _view,
    Reshape: _reshape,
    Concat: _concat,
    Reduce: _reduce,
    MatMul: _matmul,
    FlatNonzero: _flat_nonzero,
    ArgTopK: _argtopk,
    Take: _take,
    Cumulative: _cumulative,
    Gather: _gather,
    Scatter: _scatter,
    Result: _nothing,
}


def complaints(node: Node) -> Complaints:
    """Faults of the node by the rule of its operation, except loops, branches and calls."""
    kind, count = type(node.op), len(node.operands)
    wanted = OPERANDS[kind]
    if count < _LEAST_OPERANDS.get(kind, 0) or (wanted != ANY_NUMBER and count != wanted):
        yield f"it has {count} operands"
        return
    yield from RULES[kind](node)
