"""Products of one row with a matrix that no cache holds: it is read once, in the order of memory.

Copying such a matrix to another layout takes as long as three products, and a loop may run for a
few iterations only.
"""

from __future__ import annotations

from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import Constant, MatMul, Node

_MIN_BYTES = 2**21
"""The size of a matrix from which it is streamed: less stays in many an L2 cache."""
STRIP_BYTES = 4096
"""The part of a row that is read together: a page."""


def is_streamed(node: Node) -> bool:
    """Whether a product reads its right operand in the order of memory, if its rows lie there."""
    if not isinstance(node.op, MatMul) or not is_float(node.dtype):
        return False
    right, size = node.operands[1], node.dtype.numpy.itemsize
    if isinstance(right.op, Constant) or not (right.is_static and len(right.shape) == 2):
        return False
    is_wide = right.shape[-1] * size >= STRIP_BYTES if isinstance(right.shape[-1], int) else False
    return is_wide and right.size * size >= _MIN_BYTES and _has_one_row(node)


def _has_one_row(node: Node) -> bool:
    return len(node.shape) == 2 and node.shape[0] == 1
