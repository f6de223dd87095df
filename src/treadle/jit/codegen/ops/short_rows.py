"""Reductions of short rows, as many rows at once as a vector has lanes.

`schedule/steps/short_rows.py` says which are, and has the additions in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.iteration_space import each_index
from treadle.jit.codegen.llvm_types import I32
from treadle.jit.codegen.ops.reduced_element import source_index
from treadle.jit.codegen.ops.row_values import RowValues
from treadle.jit.kernel.ir import Node, static_shape
from treadle.jit.schedule.steps.short_rows import rows_axis

Combine = Callable[[Any, Any], Any]


def reduce_short_rows(
    context: CodegenContext, node: Node, buffer: Buffer, lanes: int, combine: Combine
) -> None:
    """Reduce rows into memory, this many at once; the last ones maybe again."""
    axis, shape = rows_axis(node), static_shape(node)
    space = (*shape[:axis], -(-shape[axis] // lanes))
    with each_index(context, space, context.schedule.parallelism_of(node)) as (*own, group):
        w = context.builder  # of a part that threads share, another one
        start = w.least(w.multiply(group, lanes), shape[axis] - lanes)
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
    starts = range(0, static_shape(source)[last], lanes)

    def added(first: int, count: int) -> Any:
        """The sums of some rows: those of each in the lanes that are its number modulo `count`."""
        if count == 1:
            places = (source_index(node, kept[first], [start]) for start in starts)
            return reduce(combine, (row.at(source, place, last) for place in places))
        half = count // 2
        left, right = added(first, half), added(first + half, half)
        return combine(*_halves(context.builder, left, right, half))

    row.store(buffer, added(0, lanes), kept[0])


def _halves(builder: FunctionBuilder, left: Any, right: Any, step: int) -> tuple[Any, Any]:
    """The lanes of two vectors that are combined: those `step` apart in each.

    Lane k is of the left vector if k // step is even, else of the right one.
    """
    lanes = left.type.count
    ours = [lane + lanes * (lane // step % 2) for lane in range(lanes)]
    theirs = [(lane ^ step) + lanes * (lane // step % 2) for lane in range(lanes)]

    def picked(places: Sequence[int]) -> Any:
        mask = llvm.Constant(llvm.VectorType(I32, lanes), list(places))
        return builder.builder.shuffle_vector(left, right, mask)

    return picked(ours), picked(theirs)
