"""Reductions of short rows: as many rows at once as a vector has lanes.

    for group in range(rows // 4):                     vectors of 4 lanes
        a, b, c, d = rows of the group, each added up to one vector
        ab = a0 + a1, b0 + b1, a2 + a3, b2 + b3        the halves of two vectors
        cd = c0 + c1, d0 + d1, c2 + c3, d2 + d3
        result = ab0 + ab2, ab1 + ab3, cd0 + cd2, cd1 + cd3

Vectors are halved by pairs, so that no lane is idle: 16 vectors of 16 lanes take 15 additions,
and each by itself takes 4, of which the last adds two numbers.
"""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS
from treadle.jit.kernel.ir import Node, Reduce, op_of
from treadle.jit.schedule.layouts.memory_order import MemoryOrder
from treadle.jit.schedule.nest_size import is_expensive
from treadle.jit.schedule.steps.row_vectors import has_row
from treadle.jit.schedule.storage import Storage

_LONG_ROW = 64
"""The elements of a row from which the last additions hardly matter."""
_MIN_LANES = 4
_MOST_WRITTEN = 256
"""The vectors that are computed for a group of rows."""
_READ = (Storage.BUFFER, Storage.NEST, Storage.REGISTERS)
"""Where operands are: nests store what is read outside."""


def rows_at_once(node: Node, order: MemoryOrder, vector_bytes: int) -> int:
    """The number of rows that a reduction in memory adds up at once; 0: one at a time."""
    op, (source,) = op_of(node, Reduce), node.operands
    last = len(source.shape) - 1
    if op.axes != (last,) or last == 0 or node.dtype in (*SIXTEEN_BIT_FLOATS, DType.BOOL):
        return 0
    length, rows = source.shape[last], source.shape[last - 1]
    if not (isinstance(length, int) and isinstance(rows, int) and 0 < length < _LONG_ROW):
        return 0
    lanes = vector_bytes // node.dtype.numpy.itemsize
    while lanes >= _MIN_LANES and (length % lanes or rows < lanes):
        lanes //= 2
    inline = set[Node]()
    if lanes < _MIN_LANES or not order.has_neighbours(node, rows_axis(node)):
        return 0
    is_read = has_row(source, last, order, inline, _READ)
    if not is_read or any(map(is_expensive, inline)):
        return 0
    return lanes if length * (1 + len(inline)) <= _MOST_WRITTEN else 0


def rows_axis(node: Node) -> int:
    """The axis of the result along which its rows follow each other."""
    return len(node.operands[0].shape) - 2
