"""Tests of remainders by constants, `x % d == r`, without a division.

With d = 2**k * m, m odd, and w bits, multiplication by the inverse of m modulo 2**w maps the
numbers q * d + r to q * 2**k, and each other number to one that is no such q of the type's range
(Granlund and Montgomery, Division by invariant integers using multiplication, section 9):

    (rotate_right(x * inverse + shift, k)) as unsigned <= number of multiples - 1

One product of the type's width, which vectors have, too; a division they have not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.element_types import is_signed
from treadle.jit.kernel.ir import Constant, Elementwise, Kernel, Node
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes

_UNSIGNED = {
    8: DType.UINT8, 16: DType.UINT16, 32: DType.UINT32, 64: DType.UINT64,
}  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class _Test:
    """Whether `number` is `remainder` more than a multiple of `divisor`, and not negative.

    `may_be_negative`: or negative; the remainder of a truncated division has the dividend's sign.
    """

    number: Node
    divisor: int
    remainder: int
    may_be_negative: bool


@rewrite_pass
def with_remainder_tests(kernel: Kernel) -> Rules | None:
    """The kernel without divisions in such tests; itself if it has none."""
    found = {node: test for node in all_nodes(kernel.main) if (test := _test(node)) is not None}
    return replacing(found, _compared)


def _test(node: Node) -> _Test | None:
    """The test that a comparison is, if its numbers are known."""
    if not isinstance(node.op, Elementwise) or node.op.function != "equal":
        return None
    for rest, other in (node.operands, node.operands[::-1]):
        remainder, parts = _constant(other), _division(rest)
        if remainder is None or parts is None:
            continue
        number, by = parts
        divisor = _constant(by)
        is_whole = rest.dtype.numpy.kind in "iu" and number.shape == node.shape
        if divisor is None or not is_whole or not 0 <= remainder < divisor or divisor == 1:
            continue
        is_any = not remainder or rest.op == Elementwise("mod") or not is_signed(number.dtype)
        return _Test(number, divisor, remainder, may_be_negative=is_any)
    return None


def _division(rest: Node) -> tuple[Node, Node] | None:
    """The dividend and the divisor of a remainder, also of `x - x / d * d`; None if it is none."""
    if rest.op in (Elementwise("mod"), Elementwise("fmod")):
        return rest.operands[0], rest.operands[1]
    if rest.op != Elementwise("sub") or rest.operands[1].op != Elementwise("mul"):
        return None
    number, product = rest.operands
    for quotient, by in (product.operands, product.operands[::-1]):
        if quotient.op == Elementwise("div") and quotient.operands == (number, by):
            return number, by
    return None


def _constant(node: Node) -> int | None:
    """The number that a constant of one element holds."""
    if not isinstance(node.op, Constant) or not node.is_single:
        return None
    if node.dtype.numpy.kind not in "iu":
        return None
    return int(np.asarray(node.op.array).item())


def _compared(rebuild: Rebuild, node: Node, test: _Test) -> Node:
    """The test of a remainder as a comparison of a product."""
    builder, number = rebuild.builder, rebuild.nodes[test.number]
    made = _comparison(builder, number, test)
    if not test.may_be_negative:
        zero = builder.scalar(0, number.dtype)
        made = builder.map("and", made, builder.map("greater_equal", number, zero))
    return builder.reshape(made, rebuild.shape(node))


def _comparison(builder: KernelBuilder, number: Node, test: _Test) -> Node:
    dtype = number.dtype
    width = dtype.bits
    lowest = -(1 << (width - 1)) if is_signed(dtype) else 0
    highest = lowest + (1 << width) - 1
    zeros = (test.divisor & -test.divisor).bit_length() - 1
    odd = test.divisor >> zeros
    if odd == 1:
        mask = builder.scalar(test.divisor - 1, dtype)
        rest = builder.scalar(test.remainder, dtype)
        return builder.map("equal", builder.map("and", number, mask), rest)
    inverse, whole = pow(odd, -1, 1 << width), 1 << width
    first = -((test.remainder - lowest) // test.divisor)
    last = (highest - test.remainder) // test.divisor
    shift = -(test.remainder * inverse + (first << zeros))
    unsigned = _UNSIGNED[width]
    bare = number if dtype is unsigned else builder.map("cast", number, dtype=unsigned)
    product = builder.map("mul", bare, builder.scalar(inverse % whole, unsigned))
    moved = builder.map("add", product, builder.scalar(shift % whole, unsigned))
    turned = _rotated(builder, moved, zeros)
    return builder.map("less_equal", turned, builder.scalar(last - first, unsigned))


def _rotated(builder: KernelBuilder, number: Node, by: int) -> Node:
    """The bits of an unsigned number rotated to the right."""
    if not by:
        return number
    width, dtype = number.dtype.bits, number.dtype
    low = builder.map("shr", number, builder.scalar(by, dtype))
    high = builder.map("shl", number, builder.scalar(width - by, dtype))
    return builder.map("or", low, high)
