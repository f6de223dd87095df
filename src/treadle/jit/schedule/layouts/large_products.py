"""Products with a matrix that the caches do not hold.

Streamed: one row times such a matrix reads it once, in the order of memory. Copying it to another
layout takes as long as three products, and a loop may run for a few iterations only.

In panels: a constant is stored panel by panel, each of few columns. Up to three rows times such a
matrix read it in the order of memory too.

Prefetched: while several rows are multiplied with one panel of columns, the panel after it comes
into the L2 cache; its rows lie on a page each, where the processor's own prefetcher ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import Constant, MatMul, Node, static_shape
from treadle.jit.kernel.target import Target

_MIN_STREAMED_BYTES = 2**21
"""The size of a matrix from which it is streamed: less stays in many an L2 cache."""
STRIP_BYTES = 4096
"""The part of a row that is read together: a page."""
_MIN_PANEL_BYTES = 2**18
_PANEL_VECTORS = 4
"""The vectors in a row of a panel; a row of the result takes up to 16 from several panels."""
_MIN_PREFETCHED_BYTES = 2**20
_MIN_PREFETCHED_ROWS = 4
"""Fewer rows wait for the memory whether or not it is asked early."""


def is_streamed(node: Node) -> bool:
    """Whether a product reads its right operand in the order of memory, if its rows lie there."""
    size, right = _matrix_bytes(node), node.operands[-1]
    if size < _MIN_STREAMED_BYTES or isinstance(right.op, Constant) or len(right.shape) > 2:
        return False
    row_bytes = static_shape(right)[-1] * right.dtype.numpy.itemsize
    return row_bytes >= STRIP_BYTES and len(node.shape) == 2 and node.shape[0] == 1


def is_prefetched(node: Node) -> bool:
    """Whether a product asks for the next panel of its right operand while it reads one."""
    rows = node.shape[-2]
    has_rows = not isinstance(rows, int) or rows >= _MIN_PREFETCHED_ROWS
    return has_rows and _matrix_bytes(node) >= _MIN_PREFETCHED_BYTES


def panel_columns(products: Sequence[Node], target: Target) -> int:
    """The columns of a panel of the constant matrix that products share; 0: its rows stay whole.

    In panels of few columns one row after another is read on in memory: a row times 1024 x 4096
    takes 0.3 of the time, 512 x 2048 0.7, 128 x 512 0.9. From four rows on a panel is read often
    enough either way.
    """
    matrix = products[0].operands[1]
    if not isinstance(matrix.op, Constant) or not is_float(matrix.dtype):
        return 0
    rows = [each.shape[-2] for each in products]
    if not all(isinstance(count, int) and count < _MIN_PREFETCHED_ROWS for count in rows):
        return 0
    size, columns = matrix.dtype.numpy.itemsize, static_shape(matrix)[-1]
    width = _PANEL_VECTORS * target.vector_bytes // size
    return width if matrix.size * size >= _MIN_PANEL_BYTES and columns > width else 0


def _matrix_bytes(node: Node) -> int:
    """The size of the matrix on the right, if its extents are known and its elements are floats."""
    assert isinstance(node.op, MatMul)
    right = node.operands[1]
    if not is_float(node.dtype) or not right.is_static:
        return 0
    inner, columns = static_shape(right)[-2:]
    return inner * columns * right.dtype.numpy.itemsize
