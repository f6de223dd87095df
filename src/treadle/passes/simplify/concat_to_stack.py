"""Turns carried values that every iteration extends by a Concat into stacked results.

    loop(s from s0): ... Concat(s, row) -> S        loop(): ... stacked row -> T
                                                    S = Concat(s0, T with its first two axes merged)
    loop(s from s0): ... Concat(row, s) -> S        S = Concat(T from the last row on, s0)

Otherwise the loop copies the whole value in every iteration. Declines if another step of the loop
reads the value, if the rows are not known to be alike and to fit the initial value, and for a Scan,
whose states may not grow.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from treadle.ir import Block, CarriedPort, Loop, Stacked, StackedPort, Value
from treadle.passes.simplify.carried_to_stack import (
    CarriedToStack,
    Write,
    carried_to_stack,
    merged_rows,
    updates,
)
from treadle.passes.simplify.context import PassContext, is_same
from treadle.passes.simplify.operators import NUMBERS, attribute, axis_in
from treadle.passes.simplify.speculation import runs_at_least_once
from treadle.passes.simplify.step_builder import StepBuilder

NAME = "growing concats converted to stacked outputs"
_RESHAPE_KEEPS_ZEROS = 14
_SLICE_TAKES_INPUTS = 10
_BEFORE_FIRST = np.iinfo(np.int64).min


class _Append(NamedTuple):
    """The rows a loop appends to a carried value: the axis, and whether at its end or start."""

    port: CarriedPort
    row: Value
    axis: int
    at_start: bool
    stack: StackedPort


def concats_to_stacks(block: Block, at: PassContext) -> Block:
    """Stack tensors that the loops of the open block only append to."""
    return carried_to_stack(block, at, NAME, _appends)


def _appends(loop: Loop, at: PassContext) -> Iterator[tuple[CarriedToStack, Write]]:
    for port, concat in updates(loop, "Concat"):
        rows = [value for value in concat.operands if value is not port.param]
        if port.result is None or len(rows) != 1 or loop.fixed_state:
            continue
        (row,) = rows
        axis, shape = attribute(concat, "axis", 1), at.shape(row)
        if row is None or shape is None or not axis_in(axis, len(shape)):
            continue
        assert isinstance(axis, int), "it is in the shape"
        stack = StackedPort(row, Value(f"{row.name}_rows"), Stacked())
        each = _Append(port, row, axis % len(shape), concat.operands[0] is row, stack)
        if _fits(each, loop, at):
            write = partial(_join, each, runs_at_least_once(loop, at))
            yield CarriedToStack(port, concat, stack), write


def _fits(each: _Append, loop: Loop, at: PassContext) -> bool:
    """Whether the rows are known to be alike, to fit the initial value, and to be mergeable."""
    first, shape = at.shape(each.port.initial), at.shape(each.row)
    dtype = at.dtype(each.row)
    if first is None or shape is None or len(first) != len(shape):
        return False
    others = [k for k in range(len(shape)) if k != each.axis]
    if not all(is_same(first[k], shape[k]) for k in others):
        return False
    if dtype is not at.dtype(each.port.initial) or dtype not in NUMBERS:
        return False
    if not isinstance(shape[each.axis], int) or not shape[each.axis]:
        return False
    extents = at.extents(each.row)
    if extents is None or 0 in extents:
        ranks_are_known = each.axis == 0 or runs_at_least_once(loop, at)
        return at.opset >= _RESHAPE_KEEPS_ZEROS and ranks_are_known
    return at.opset >= _SLICE_TAKES_INPUTS


def _join(each: _Append, runs: bool, writer: StepBuilder) -> None:
    at, axis, result = writer.at, each.axis, each.port.result
    rows, initial = each.stack.result, each.port.initial
    assert rows is not None, "made by _appends"
    assert initial is not None, "its shape is certain"
    if each.at_start:
        bounds = [writer.constant(np.array([n])) for n in (-1, _BEFORE_FIRST, 0, -1)]
        rows = writer.leaf("Slice", rows, *bounds)
    if axis > 0 and not runs:  # without an iteration onnxruntime may not know the rank of a row
        extents = (-1, *(at.extents(each.row) or ()))
        rows = writer.leaf("Reshape", rows, writer.constant(np.array(extents)))
    first = at.shape(initial)
    is_all = first is not None and first[axis] == 0
    rows = merged_rows(writer, rows, each.row, axis, initial, result if is_all else None)
    if not is_all:
        parts = (rows, initial) if each.at_start else (initial, rows)
        writer.leaf("Concat", *parts, result=result, axis=axis)
