"""Reductions of short rows, as many rows at once as a vector has lanes.

`schedule/steps/short_rows.py` says which are, and has the additions in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.iteration_space import each_index
from treadle.jit.codegen.ops.lane_sums import Combine, lane_sums
from treadle.jit.codegen.ops.reduced_element import source_index
from treadle.jit.codegen.ops.row_values import RowValues
from treadle.jit.kernel.ir import Node
from treadle.jit.schedule.steps.short_rows import rows_axis


def reduce_short_rows(
    context: CodegenContext, node: Node, buffer: Buffer, lanes: int, combine: Combine
) -> None:
    """Reduce rows into memory, this many at once; the last ones maybe again."""
    axis, shape = rows_axis(node), context.access.shape(node)
    rows = shape[axis]
    assert isinstance(rows, int), "groups of an open number of rows"
    space = (*shape[:axis], -(-rows // lanes))
    with each_index(context, space, context.schedule.parallelism_of(node)) as (*own, group):
        w = context.builder  # of a part that threads share, another one
        start = w.least(w.multiply(group, lanes), rows - lanes)
        rest = (0,) * (len(shape) - axis - 1)
        kept = [(*own, w.add(start, number), *rest) for number in range(lanes)]
        _reduce_group(context, node, buffer, kept, combine)


def _reduce_group(
    context: CodegenContext,
    node: Node,
    buffer: Buffer,
    kept: Sequence[tuple[Index, ...]],
    combine: Combine,
) -> None:
    (source,), lanes = node.operands, len(kept)
    row, last = RowValues(context, node.home, lanes), len(source.shape) - 1
    length = source.shape[last]
    assert isinstance(length, int), "short rows of an open length"
    starts = range(0, length, lanes)

    def added(number: int) -> Any:
        """The elements of a row, added up to one vector."""
        places = (source_index(node, kept[number], [start]) for start in starts)
        return reduce(combine, (row.at(source, place, last) for place in places))

    row.store(buffer, lane_sums(context.builder, lanes, added, combine), kept[0])
