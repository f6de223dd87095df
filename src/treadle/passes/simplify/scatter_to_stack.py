"""Turns tables that a loop only writes, row `i` in iteration `i`, into stacked results.

    loop(s from s0): ... ScatterND(s, [[i + c]], row) -> S      loop(): ... stacked row -> T
                                                S = Concat(s0[:c], T, s0[c + length of T:])

onnxruntime copies the table in every iteration. Declines if another step of the loop reads the
table, if a row may be out of range or have another shape, and for rows added to old ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from treadle.ir import (
    Block,
    CarriedPort,
    Leaf,
    Loop,
    Stacked,
    StackedPort,
    Value,
    defining_steps,
    ports,
)
from treadle.passes.simplify.carried_to_stack import (
    CarriedToStack,
    Write,
    carried_to_stack,
    updates,
)
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.induction import affine_in_iteration
from treadle.passes.simplify.operators import NUMBERS, attribute
from treadle.passes.simplify.speculation import runs_at_least_once, scan_length
from treadle.passes.simplify.step_builder import StepBuilder

NAME = "scatters of rows converted to stacked outputs"
_END = np.iinfo(np.int64).max


class _Table(NamedTuple):
    """A table that a loop fills from its row `first` on, with its number of rows.

    None if unknown.
    """

    port: CarriedPort
    first: int
    filled: int | None
    stack: StackedPort


def scatters_to_stacks(block: Block, at: PassContext) -> Block:
    """Stack the rows of tables that the loops of the open block only write."""
    return carried_to_stack(block, at, NAME, _tables)


def _tables(loop: Loop, at: PassContext) -> Iterator[tuple[CarriedToStack, Write]]:
    for port, scatter in updates(loop, "ScatterND"):
        is_plain = attribute(scatter, "reduction", "none") == "none"
        if port.result is None or not is_plain or scatter.operands[0] is not port.param:
            continue
        table = _table(loop, port, scatter, at)
        if table is not None:
            yield CarriedToStack(port, scatter, table.stack), partial(_join, table)


def _table(loop: Loop, port: CarriedPort, scatter: Leaf, at: PassContext) -> _Table | None:
    _, indices, rows = scatter.operands
    where = affine_in_iteration(loop, indices, defining_steps(loop.body), at)
    table, extents = at.extents(port.initial), at.extents(rows)
    most = _most(loop, at)
    if where is None or where.back or not table or extents is None or most is None:
        return None
    names_a_row = len(at.extents(indices) or ()) == 1
    if extents != (table[1:] if names_a_row else (1, *table[1:])) or 0 in table:
        return None
    if at.dtype(rows) is not at.dtype(port.initial) or at.dtype(rows) not in NUMBERS:
        return None
    if not 0 <= where.first <= where.range(most)[1] <= table[0]:
        return None
    stops_early = ports(loop).next_condition is not None or not runs_at_least_once(loop, at)
    stack = StackedPort(rows, Value(f"{port.param.name}_rows"), Stacked())
    return _Table(port, where.first, None if stops_early else most, stack)


def _most(loop: Loop, at: PassContext) -> int | None:
    """The greatest number of iterations, if it is known."""
    if loop.trip is None:
        return scan_length(loop, at) or None
    trip = at.whole(loop.trip)
    return None if trip is None else max(trip, 0)


def _join(each: _Table, writer: StepBuilder) -> None:
    result, stack, initial = each.port.result, each.stack.result, each.port.initial
    assert stack is not None, "made by _table"
    assert initial is not None, "its extents are certain"
    table, first, filled = writer.at.extents(initial) or (), each.first, each.filled
    shape = writer.constant(np.array((-1, *table[1:])))
    if first == 0 and filled == table[0]:
        writer.leaf("Reshape", stack, shape, result=result)
        return
    parts = [writer.leaf("Reshape", stack, shape)]
    if first > 0:
        parts.insert(0, _part(writer, initial, writer.constant(np.array([0])), first))
    if filled is None:
        count = writer.leaf("Gather", writer.leaf("Shape", stack), writer.constant(np.array([0])))
        parts.append(
            _part(writer, initial, writer.leaf("Add", count, writer.constant(np.array([first]))))
        )
    elif first + filled < table[0]:
        parts.append(_part(writer, initial, writer.constant(np.array([first + filled]))))
    writer.leaf("Concat", *parts, result=result, axis=0)


def _part(writer: StepBuilder, table: Value, start: Value, end: int = _END) -> Value:
    axis = writer.constant(np.array([0]))
    return writer.leaf("Slice", table, start, writer.constant(np.array([end])), axis)
