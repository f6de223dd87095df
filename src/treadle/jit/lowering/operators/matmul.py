"""Matrix products."""

from __future__ import annotations

from functools import partial, reduce

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder, extents_of
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Axis, Concat, MatMul, Node, View, show_node
from treadle.jit.kernel.views import permutation
from treadle.jit.lowering.registry import (
    NARROW,
    Attributes,
    Operands,
    as_floats,
    in_float32,
    lowers,
)

_FLOATS = (DType.FLOAT32, DType.FLOAT64)
_MIN_SPLIT_ELEMENTS = 1024
"""Elements of the right matrix from which a product over a Concat is split into two."""


_PRODUCT = MatMul()


def product(builder: KernelBuilder, left: Node, right: Node, op: MatMul = _PRODUCT) -> Node:
    """np.matmul, rounded once; `op` is that of numbers or of bytes.

    A matrix times a column becomes the row times the transposed matrix, and a product of two
    transposed matrices the transposed product.
    """
    if not left.shape or not right.shape or left.dtype != right.dtype:
        raise Declined(
            f"operands {show_node(left)} and {show_node(right)}:"
            " one dtype and rank 1 or more are needed"
        )
    if left.dtype in NARROW:
        result = product(builder, _widened(builder, left), _widened(builder, right))
        return builder.cast(result, left.dtype)
    first = builder.reshape(left, (1, *left.shape)) if len(left.shape) == 1 else left
    second = builder.reshape(right, (*right.shape, 1)) if len(right.shape) == 1 else right
    (*batch, rows, inner), (*others, same, columns) = first.shape, second.shape
    builder.expect_equal(inner, same)
    around = builder.broadcast(tuple(batch), tuple(others))
    if (batch or others) and all(extent == 1 for extent in others) and _is_matrix(first):
        rows_of_all = builder.product((*batch, rows))
        flat = builder.reshape(first, (rows_of_all, inner))
        whole = product(builder, flat, builder.reshape(second, (same, columns)), op)
        shape = [*around] + [rows] * (len(left.shape) > 1) + [columns] * (len(right.shape) > 1)
        return builder.reshape(whole, tuple(shape))
    parts = _parts(builder, first, second)
    if parts:
        result = reduce(
            partial(builder.map, "add"), [product(builder, *pair, op) for pair in parts]
        )
    elif inner == 1:
        result = builder.map("mul", first, second)
    elif (columns == 1 and rows != 1) or (_is_turned(first) and _is_turned(second)):
        turned = _turned(builder, second), _turned(builder, first)
        result = builder.add(MatMul(), left.dtype, (*around, columns, rows), *turned)
        result = _turned(builder, result)
    else:
        result = builder.add(op, left.dtype, (*around, rows, columns), first, second)
    shape = [*around] + [rows] * (len(left.shape) > 1) + [columns] * (len(right.shape) > 1)
    return builder.reshape(result, tuple(shape))


def _widened(builder: KernelBuilder, node: Node) -> Node:
    """The elements in float32; a transposition comes after the cast, which reads rows in order."""
    if not isinstance(node.op, View) or permutation(node) is None:
        return builder.cast(node, DType.FLOAT32)
    return builder.view(_widened(builder, node.operands[0]), node.shape, node.op.axes)


def _is_matrix(left: Node) -> bool:
    """Whether at most one axis before the last has more than one item: its rows are a matrix's."""
    return sum(extent != 1 for extent in left.shape[:-1]) <= 1


def _parts(builder: KernelBuilder, left: Node, right: Node) -> list[tuple[Node, Node]]:
    """Split a large product whose left operand is a Concat along the inner axis.

    The part that a loop slices is then multiplied separately from the carried part.
    """
    is_joined = isinstance(left.op, Concat) and left.op.axis == len(left.shape) - 1
    is_outside = right.home.depth < left.home.depth and len(right.shape) == 2
    if not is_joined or not is_outside or not (left.is_static and right.is_static):
        return []
    if right.size < _MIN_SPLIT_ELEMENTS or left.dtype not in _FLOATS:
        return []
    found, first = [], 0
    for operand in left.operands:
        inner, columns = extents_of(operand)[-1], extents_of(right)[1]
        axes = (Axis(first, ((0, 1),)), Axis(0, ((1, 1),)))
        found.append((operand, builder.view(right, (inner, columns), axes)))
        first += inner
    return found


@lowers("MatMul", 1, 9, 13)
def matmul(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """np.matmul."""
    return product(builder, *operands)


@lowers("Gemm", 1, 6, 7, 9, 11, 13)
@in_float32
def gemm(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Alpha * A @ B + beta * C."""
    left, right, added = (*operands, None)[:3]
    assert left is not None
    assert right is not None
    if attributes["transA"]:
        left = _turned(builder, left)
    if attributes["transB"]:
        right = _turned(builder, right)
    result = _scaled(builder, product(builder, left, right), attributes["alpha"])
    if added is None:
        return result
    if not attributes.get("broadcast", 1) and added.shape != result.shape:
        raise Declined("a C of another shape, without `broadcast`")
    return builder.map("add", result, _scaled(builder, added, attributes["beta"]))


def _is_turned(node: Node) -> bool:
    """Whether a matrix is another one transposed."""
    if not isinstance(node.op, View) or len(node.shape) != 2:
        return False
    return node.op.axes == (Axis(0, ((1, 1),)), Axis(0, ((0, 1),)))


def _turned(builder: KernelBuilder, node: Node) -> Node:
    """Swap the last two axes."""
    *batch, rows, columns = node.shape
    last = len(batch)
    places = [*range(last), last + 1, last]
    axes = tuple(Axis(0, ((index, 1),)) for index in places)
    return builder.view(node, (*batch, columns, rows), axes)


def _scaled(builder: KernelBuilder, node: Node, factor: float) -> Node:
    if factor == 1:
        return node
    given = as_floats(builder, node)
    return builder.cast(builder.map("mul", given, builder.scalar(factor, given.dtype)), node.dtype)
