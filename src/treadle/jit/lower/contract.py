"""Products of matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import Any

from treadle.ir import DType
from treadle.jit.building import Building, extents_of
from treadle.jit.kernel_ir import Axis, Contract, Join, Node
from treadle.jit.lower.registry import NARROW, as_floats, lowers, wide
from treadle.jit.nodes import Declined

_FLOATS = (DType.FLOAT32, DType.FLOAT64)
_LARGE = 1024


def product(b: Building, left: Node, right: Node) -> Node:
    """np.matmul, rounded once; a matrix times a column is the row times the matrix turned."""
    if not left.shape or not right.shape or left.dtype != right.dtype:
        raise Declined("a MatMul that does not fit")
    if left.dtype in NARROW:
        result = product(b, b.cast(left, DType.FLOAT32), b.cast(right, DType.FLOAT32))
        return b.cast(result, left.dtype)
    first = b.reshape(left, (1, *left.shape)) if len(left.shape) == 1 else left
    second = b.reshape(right, (*right.shape, 1)) if len(right.shape) == 1 else right
    (*batch, rows, inner), (*others, same, columns) = first.shape, second.shape
    b.expect_equal(inner, same)
    around = b.broadcast(tuple(batch), tuple(others))
    parts = _parts(b, first, second)
    if parts:
        result = reduce(partial(b.map, "add"), [product(b, *pair) for pair in parts])
    elif inner == 1:
        result = b.map("mul", first, second)
    elif columns == 1 and rows != 1:
        turned = _turned(b, second), _turned(b, first)
        result = b.add(Contract(), left.dtype, (*around, columns, rows), *turned)
    else:
        result = b.add(Contract(), left.dtype, (*around, rows, columns), first, second)
    shape = [*around] + [rows] * (len(left.shape) > 1) + [columns] * (len(right.shape) > 1)
    return b.reshape(result, tuple(shape))


def _parts(b: Building, left: Node, right: Node) -> list[tuple[Node, Node]]:
    """The products a large one is made of where the left operand is joined along the inner axis.

    What a loop slices is then multiplied apart from what it carries.
    """
    is_joined = isinstance(left.op, Join) and left.op.axis == len(left.shape) - 1
    is_outside = right.home.depth < left.home.depth and len(right.shape) == 2
    if not is_joined or not is_outside or not (left.is_static and right.is_static):
        return []
    if right.size < _LARGE or left.dtype not in _FLOATS:
        return []
    found, first = [], 0
    for operand in left.operands:
        inner, columns = extents_of(operand)[-1], extents_of(right)[1]
        axes = (Axis(first, ((0, 1),)), Axis(0, ((1, 1),)))
        found.append((operand, b.view(right, (inner, columns), axes)))
        first += inner
    return found


@lowers("MatMul", 1, 9, 13)
def matmul(b: Building, operands: Sequence[Node], _: Mapping[str, Any]) -> Node:
    """np.matmul."""
    return product(b, *operands)


@lowers("Gemm", 1, 6, 7, 9, 11, 13)
@wide
def gemm(b: Building, operands: Sequence[Node | None], attributes: Mapping[str, Any]) -> Node:
    """Alpha * A @ B + beta * C."""
    left, right, added = (*operands, None)[:3]
    assert left is not None
    assert right is not None
    if attributes["transA"]:
        left = _turned(b, left)
    if attributes["transB"]:
        right = _turned(b, right)
    result = _scaled(b, product(b, left, right), attributes["alpha"])
    if added is None:
        return result
    if not attributes.get("broadcast", 1) and added.shape != result.shape:
        raise Declined("a C of another shape, without `broadcast`")
    return b.map("add", result, _scaled(b, added, attributes["beta"]))


def _turned(b: Building, x: Node) -> Node:
    """With the last two axes exchanged."""
    *batch, rows, columns = x.shape
    last = len(batch)
    places = [*range(last), last + 1, last]
    axes = tuple(Axis(0, ((place, 1),)) for place in places)
    return b.view(x, (*batch, columns, rows), axes)


def _scaled(b: Building, x: Node, factor: float) -> Node:
    if factor == 1:
        return x
    given = as_floats(b, x)
    return b.cast(b.map("mul", given, b.scalar(factor, given.dtype)), x.dtype)
