"""Matrix products of 8-bit integers.

Where the machine adds products of bytes, a constant right operand is stored as words of four rows:

    (a - za) @ (b - zb)     is a @ b - za * (sums of columns of b) - zb * (sums of rows of a - za)

with b - zb for b and 0 for zb where the difference is in the range of int8.

Otherwise they are computed in float32, which is exact up to 2**24. A longer sum is split into parts
that stay exact. Vector units lack a fast product of 32-bit integers: for 16 rows and a matrix of
256 x 256 the product takes half the time in float32 on Zen 4, and bytes take a third of that.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Axis, Constant, MatMul, Node
from treadle.jit.kernel.views import axis_slice
from treadle.jit.lowering.operators.matmul import product
from treadle.jit.lowering.operators.reduce import reduced
from treadle.jit.lowering.registry import Attributes, Operands, lowers

_EXACT = 2**24
"""The largest sum up to which float32 represents all integers."""
_MIN_TERMS = 32
"""The number of products in one exact sum below which int32 is faster."""
_NARROW = (DType.INT8, DType.UINT8)
_OF_BYTES = MatMul(of_bytes=True)


_WORD = 4
_MIN_BYTES = 4096
"""The elements of a matrix from which products of bytes are worth their words."""


@dataclass(frozen=True, eq=False, slots=True)
class Centred:
    """An 8-bit tensor minus its zero point, in float32; no element is larger than `most`.

    `given` is the tensor, and `zero` its zero point in int32, to broadcast with it; None of 0.
    """

    node: Node
    most: int
    given: Node
    zero: Node | None = None


def centred(builder: KernelBuilder, node: Node, zero: Node | None, axis: int) -> Centred:
    """A tensor minus its zero point, which is a scalar or per position along the axis."""
    if node.dtype not in _NARROW:
        raise Declined(f"{node.dtype} where int8 or uint8 is needed")
    limits = np.iinfo(node.dtype.numpy.name)
    found = builder.cast(node, DType.FLOAT32)
    if zero is None or (isinstance(zero.op, Constant) and not zero.op.array.any()):
        return Centred(found, _largest(node, max(-int(limits.min), int(limits.max))), node)
    shape: list[int] = []
    if zero.size != 1:
        if len(zero.shape) != 1:
            raise Declined("zero points of several axes")
        shape = [zero.size if k == axis else 1 for k in range(len(node.shape))]
    placed = builder.reshape(zero, shape)
    origin, whole = (builder.cast(placed, dtype) for dtype in (DType.FLOAT32, DType.INT32))
    most = int(limits.max) - int(limits.min)
    return Centred(builder.map("sub", found, origin), most, node, whole)


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
    matrix = _byte_matrix(builder, right)
    if matrix is not None:
        return _byte_product(builder, left, matrix)
    first, second = left.node, right.node
    inner, terms = first.shape[-1] if first.shape else 1, exact_terms(left, right)
    if not isinstance(inner, int) or terms < _MIN_TERMS or len(second.shape) < 2:
        return product(builder, builder.cast(first, DType.INT32), builder.cast(second, DType.INT32))
    pieces = -(-inner // terms)
    if pieces <= 1:
        return builder.cast(product(builder, first, second), DType.INT32)
    bounds = [inner * k // pieces for k in range(pieces + 1)]
    parts = [
        builder.cast(
            product(
                builder, axis_slice(builder, first, len(first.shape) - 1, low, 1, high - low),
                axis_slice(builder, second, len(second.shape) - 2, low, 1, high - low),
            ),
            DType.INT32,
        )
        for low, high in itertools.pairwise(bounds)
    ]  # fmt: skip
    return reduce(partial(builder.map, "add"), parts)


@dataclass(frozen=True, eq=False, slots=True)
class _ByteMatrix:
    """A known matrix as `numbers` in the range of int8, minus an `origin`, by column or of all."""

    numbers: np.ndarray
    origin: np.ndarray | None


def _byte_matrix(builder: KernelBuilder, right: Centred) -> _ByteMatrix | None:
    """The right operand if it is a known, large matrix, and the machine adds products of bytes."""
    known = [right.given.op, *([] if right.zero is None else [right.zero.op])]
    arrays = [op.array.astype(np.int32) for op in known if isinstance(op, Constant)]
    if not builder.has_byte_products or len(arrays) < len(known) or arrays[0].ndim != 2:
        return None
    given, differences = arrays[0], reduce(np.subtract, arrays)
    if given.size < _MIN_BYTES or given.shape[0] % _WORD or given.shape[1] == 1:
        return None
    if differences.min() >= -128 and differences.max() <= 127:
        return _ByteMatrix(differences, None)
    middle = 128 if right.given.dtype is DType.UINT8 else 0
    origin = arrays[1] if len(arrays) > 1 else np.int32(0)
    return _ByteMatrix(given - middle, np.asarray(origin - middle, np.int32).reshape(-1))


def _byte_product(builder: KernelBuilder, left: Centred, right: _ByteMatrix) -> Node:
    """Left @ right in int32: bytes of rows by bytes of columns, four at once."""
    rows, columns = right.numbers.shape
    builder.expect_equal(left.given.shape[-1], rows)
    grouped = right.numbers.astype(np.int8).reshape(rows // _WORD, _WORD, columns)
    words = np.ascontiguousarray(grouped.transpose(0, 2, 1)).view("<i4")[..., 0]
    given, zero = _unsigned(builder, left)
    made = product(
        builder, _words(builder, given, rows), builder.constant(words.astype(np.int32)), _OF_BYTES
    )
    if zero is not None:
        sums = builder.constant(right.numbers.sum(axis=0, dtype=np.int32))
        made = builder.map("sub", made, builder.map("mul", zero, sums))
    if right.origin is None:
        return made
    whole = builder.cast(given, DType.INT32)
    total = reduced(builder, "add", whole, [len(given.shape) - 1], keep=True)
    if zero is not None:
        count = builder.scalar(rows, DType.INT32)
        total = builder.map("sub", total, builder.map("mul", zero, count))
    return builder.map("sub", made, builder.map("mul", total, builder.constant(right.origin)))


def _unsigned(builder: KernelBuilder, left: Centred) -> tuple[Node, Node | None]:
    """The tensor as uint8, and its zero point: those of int8 are moved by 128."""
    if left.given.dtype is DType.UINT8:
        return left.given, left.zero
    sign, offset = builder.scalar(-128, DType.INT8), builder.scalar(128, DType.INT32)
    moved = builder.cast(builder.map("xor", left.given, sign), DType.UINT8)
    return moved, offset if left.zero is None else builder.map("add", left.zero, offset)


def _words(builder: KernelBuilder, node: Node, inner: int) -> Node:
    """Four bytes of each row of `inner` bytes in each int32, the first in its lowest bits."""
    outer = node.shape[:-1]
    shape, last = (*outer, inner // _WORD), len(outer)

    def one(number: int) -> Node:
        axes = [Axis(0, ((k, 1),)) for k in range(last)]
        part = builder.view(node, shape, [*axes, Axis(number, ((last, _WORD),))])
        whole = builder.cast(part, DType.INT32)
        shift = builder.scalar(8 * number, DType.INT32)
        return builder.map("shl", whole, shift) if number else whole

    return reduce(partial(builder.map, "or"), map(one, range(_WORD)))


@lowers("MatMulInteger", 10)
def matmul_integer(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """(A - its zero point) @ (B - its zero point) in int32; zero points by row and by column."""
    left, right, left_zero, right_zero = (*operands, None, None)[:4]
    return whole_product(
        builder, centred(builder, left, left_zero, len(left.shape) - 2),
        centred(builder, right, right_zero, len(right.shape) - 1),
    )  # fmt: skip
