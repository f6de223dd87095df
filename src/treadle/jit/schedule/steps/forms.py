"""The form in which reductions and searches for the best items of a row run.

reduction   each element alone; those along a short last axis together; or whole rows are added
search      a heap of the best items so far; the same, sorted at the end; or a sort of all items
"""

from __future__ import annotations

import enum
from collections.abc import Collection

from treadle.jit.kernel.ir import ArgTopK, Block, Node, Reduce

_SHORT_AXIS, _LONG_AXIS, _BLOCK = 4, 32, 4096
"""Extents of the last axis and of a reduced one before it, with vectors over the reduced one."""
_MIN_SORTED = 128
"""The number of wanted items from which sorting is considered instead of a heap."""
_SORTED_SHARE = 16
"""All items are sorted if at least one in this many is wanted."""


class Form(enum.Enum):
    """The form of a reduction or of a search, in the words of `explain --schedule`."""

    EACH = "vectors along the reduced axis"
    NEIGHBOURS = "vectors along the reduced axis, for the elements of the last one at once"
    ROWS = "vectors along the result"
    HEAP = "a heap of the best"
    SORTED_HEAP = "a heap of the best, then sorted"
    SORT = "all items are sorted"


def form_of(node: Node, tiled: Collection[Block] = ()) -> Form | None:
    """The form of a reduction or search; None for another node. `tiled` blocks run tile by tile."""
    match node.op:
        case Reduce() as op:
            if len(node.operands[0].shape) - 1 in op.axes:
                return Form.EACH
            is_beside = is_beside_short_axis(node) and node.home not in tiled
            return Form.NEIGHBOURS if is_beside else Form.ROWS
        case ArgTopK() as op:
            count, extent = node.shape[op.axis], node.operands[0].shape[op.axis]
            if not isinstance(count, int) or count < _MIN_SORTED:
                return Form.HEAP
            is_many = isinstance(extent, int) and count * _SORTED_SHARE >= extent
            return Form.SORT if is_many else Form.SORTED_HEAP
    return None


def is_beside_short_axis(node: Node) -> bool:
    """Whether vectors of a reduction run over the reduced axis though it is not the last one.

    The sums of 64 x 64 rows of 3, as of forces between bodies, take half the time.
    """
    op, (source,) = node.op, node.operands
    assert isinstance(op, Reduce)
    last, before = len(source.shape) - 1, len(source.shape) - 2
    if op.axes != (before,) or not node.is_static or source.shape[last] == 1:
        return False
    short, long = source.shape[last], source.shape[before]
    assert isinstance(short, int)
    return short <= _SHORT_AXIS and isinstance(long, int) and _LONG_AXIS <= long <= _BLOCK
