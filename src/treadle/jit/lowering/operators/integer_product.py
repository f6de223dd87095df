"""Matrix products of 8-bit integers, computed in float32, which is exact up to 2**24.

A longer sum is split into parts that stay exact. Vector units lack a fast product of 32-bit
integers: for 16 rows and a matrix of 256 x 256 the product takes half the time in float32 on Zen 4.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Axis, Constant, Node
from treadle.jit.lowering.operators.matmul import product
from treadle.jit.lowering.registry import Attributes, Operands, lowers

_EXACT = 2**24
"""The largest sum up to which float32 represents all integers."""
_MIN_TERMS = 32
"""The number of products in one exact sum below which int32 is faster."""
_NARROW = (DType.INT8, DType.UINT8)


@dataclass(frozen=True, eq=False, slots=True)
class Centred:
    """An 8-bit tensor minus its zero point, in float32; no element is larger than `most`."""

    node: Node
    most: int


def centred(builder: KernelBuilder, node: Node, zero: Node | None, axis: int) -> Centred:
    """A tensor minus its zero point, which is a scalar or per position along the axis."""
    if node.dtype not in _NARROW:
        raise Declined(f"{node.dtype} where int8 or uint8 is needed")
    limits = np.iinfo(node.dtype.numpy.name)
    found = builder.cast(node, DType.FLOAT32)
    if zero is None or (isinstance(zero.op, Constant) and not zero.op.array.any()):
        return Centred(found, _largest(node, max(-int(limits.min), int(limits.max))))
    shape: list[int] = []
    if zero.size != 1:
        if len(zero.shape) != 1:
            raise Declined("zero points of several axes")
        shape = [zero.size if k == axis else 1 for k in range(len(node.shape))]
    origin = builder.cast(builder.reshape(zero, shape), DType.FLOAT32)
    return Centred(builder.map("sub", found, origin), int(limits.max) - int(limits.min))


def _largest(node: Node, most: int) -> int:
    """The largest element of a constant; `most` for another tensor."""
    if not isinstance(node.op, Constant) or not node.op.array.size:
        return most
    return max(int(np.abs(node.op.array.astype(np.int64)).max()), 1)


def exact_terms(left: Centred, right: Centred) -> int:
    """The number of products that may be added in float32."""
    return _EXACT // max(left.most * right.most, 1)


def whole_product(builder: KernelBuilder, left: Centred, right: Centred) -> Node:
    """Left @ right in int32."""
    first, second = left.node, right.node
    inner, terms = first.shape[-1] if first.shape else 1, exact_terms(left, right)
    if not isinstance(inner, int) or terms < _MIN_TERMS or len(second.shape) < 2:
        whole = (builder.cast(node, DType.INT32) for node in (first, second))
        return product(builder, *whole)
    pieces = -(-inner // terms)
    if pieces <= 1:
        return builder.cast(product(builder, first, second), DType.INT32)
    bounds = [inner * k // pieces for k in range(pieces + 1)]
    parts = [
        builder.cast(
            product(
                builder, _part(builder, first, len(first.shape) - 1, low, high),
                _part(builder, second, len(second.shape) - 2, low, high),
            ),
            DType.INT32,
        )
        for low, high in itertools.pairwise(bounds)
    ]  # fmt: skip
    return reduce(partial(builder.map, "add"), parts)


def _part(builder: KernelBuilder, node: Node, axis: int, low: int, high: int) -> Node:
    """The items from `low` to `high`, exclusive, along an axis."""
    shape = tuple(high - low if k == axis else extent for k, extent in enumerate(node.shape))
    axes = [Axis(low if k == axis else 0, ((k, 1),)) for k in range(len(shape))]
    return builder.view(node, shape, axes)


@lowers("MatMulInteger", 10)
def matmul_integer(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """(A - its zero point) @ (B - its zero point) in int32; zero points by row and by column."""
    left, right, left_zero, right_zero = (*operands, None, None)[:4]
    return whole_product(
        builder, centred(builder, left, left_zero, len(left.shape) - 2),
        centred(builder, right, right_zero, len(right.shape) - 1),
    )  # fmt: skip
