"""Products of matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treadle.jit.building import Building, Declined, extents_of
from treadle.jit.kernel_ir import Axis, Contract, Node
from treadle.jit.lower.registry import lowers, wide


def product(b: Building, left: Node, right: Node) -> Node:
    """np.matmul; a matrix times a column is the row times the matrix turned."""
    if not left.shape or not right.shape or left.dtype != right.dtype:
        raise Declined("a MatMul that does not fit")
    first = b.reshape(left, (1, *extents_of(left))) if len(left.shape) == 1 else left
    second = b.reshape(right, (*extents_of(right), 1)) if len(right.shape) == 1 else right
    (*batch, rows, inner), (*others, same, columns) = extents_of(first), extents_of(second)
    if inner != same:
        raise Declined("a MatMul that does not fit")
    try:
        around = np.broadcast_shapes(tuple(batch), tuple(others))
    except ValueError as error:
        raise Declined("a MatMul that does not fit") from error
    if inner == 1:
        result = b.map("mul", first, second)
    elif columns == 1 and rows > 1:
        turned = _turned(b, second), _turned(b, first)
        result = b.add(Contract(), left.dtype, (*around, columns, rows), *turned)
    else:
        result = b.add(Contract(), left.dtype, (*around, rows, columns), first, second)
    shape = [*around] + [rows] * (len(left.shape) > 1) + [columns] * (len(right.shape) > 1)
    return b.reshape(result, shape)


@lowers("MatMul", 1, 9, 13)
@wide
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
    *batch, rows, columns = extents_of(x)
    last = len(batch)
    places = [*range(last), last + 1, last]
    axes = tuple(Axis(0, ((place, 1),)) for place in places)
    return b.view(x, (*batch, columns, rows), axes)


def _scaled(b: Building, x: Node, factor: float) -> Node:
    if factor == 1:
        return x
    if x.dtype.numpy.kind != "f":
        raise Declined("a Gemm of whole numbers with a factor")
    return b.map("mul", x, b.scalar(factor, x.dtype))
