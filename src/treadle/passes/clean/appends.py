"""Carried values that every iteration only makes longer by a Concat become stacked results.

    loop(s from s0): ... Concat(s, row) -> S        loop(): ... stacked row -> T
                                                    S = Concat(s0, T with its first two axes merged)
    loop(s from s0): ... Concat(row, s) -> S        S = Concat(T from the last row on, s0)

A loop whose value grows copies all of it in every iteration. Declines where anything else reads the
value inside the loop, where the rows are not certain to be alike and to fit the initial value, and
for a Scan, whose states may not grow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treadle.infer import is_scan
from treadle.ir import (
    Block,
    CarriedPort,
    Leaf,
    Loop,
    Stacked,
    StackedPort,
    Step,
    Value,
    ports,
    step_path,
)
from treadle.passes.clean.cleaning import Cleaning, is_same
from treadle.passes.clean.loops import count_reads, makers, stacking
from treadle.passes.clean.opened import map_open
from treadle.passes.clean.operators import NUMBERS, attribute, axis_in
from treadle.passes.clean.safety import certainly_runs, keeps_element
from treadle.passes.clean.stacks import merged_rows
from treadle.passes.clean.writing import Writer

NAME = "growing values that become stacked results"
_RESHAPE_KEEPS_ZEROS = 14
_SLICE_TAKES_INPUTS = 10
_BEFORE_FIRST = np.iinfo(np.int64).min


class Append(NamedTuple):
    """What a loop appends to a carried value, along which axis, at its end or at its start."""

    port: CarriedPort
    concat: Leaf
    row: Value
    axis: int
    at_start: bool
    stack: StackedPort


def stack_appends(block: Block, at: Cleaning) -> Block:
    """The open block whose loops stack what they only append to a tensor."""

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        writer = Writer(at)
        for position, step in enumerate(inner.steps):
            found = _appends(step, at) if isinstance(step, Loop) else []
            runs = isinstance(step, Loop) and certainly_runs(step, at)
            for each in found:
                assert isinstance(step, Loop), "looked at above"
                step = stacking(step, each.port, each.concat, each.stack)
                at.note(NAME, step_path(path, step, position), each.port.param.name)
            writer.steps.append(step)
            for each in found:
                _join(writer, each, runs)
        return writer.into(replace(inner, steps=tuple(writer.steps)))

    return map_open(block, change)


def _appends(loop: Loop, at: Cleaning) -> list[Append]:
    made = makers(loop.body)
    found = []
    for port in ports(loop).carried:
        concat = made.get(port.next) if port.next is not None else None
        if not isinstance(concat, Leaf) or concat.domain or concat.op != "Concat":
            continue
        if port.result is None or port.param not in concat.operands or is_scan(loop):
            continue
        rows = [value for value in concat.operands if value is not port.param]
        if len(rows) != 1 or rows[0] is None or len(concat.operands) != len(rows) + 1:
            continue
        each = _append(port, concat, rows[0], at)
        if each is not None and _is_only_grown(loop, each) and _fits(each, loop, at):
            found.append(each)
    return found


def _append(port: CarriedPort, concat: Leaf, row: Value, at: Cleaning) -> Append | None:
    axis, shape = attribute(concat, "axis", 1), at.shape(row)
    if shape is None or not isinstance(axis, int) or not axis_in(axis, len(shape)):
        return None
    at_start = concat.operands[0] is row
    stack = StackedPort(row, Value(f"{row.name}_rows"), Stacked())
    return Append(port, concat, row, axis % len(shape), at_start, stack)


def _is_only_grown(loop: Loop, each: Append) -> bool:
    reads = [count_reads(loop.body, value) for value in (each.port.param, each.port.next)]
    return reads == [1, 1]


def _fits(each: Append, loop: Loop, at: Cleaning) -> bool:
    """Whether the rows are certain to be alike, to fit the initial value, and can be merged."""
    first, shape = at.shape(each.port.initial), at.shape(each.row)
    dtype = at.dtype(each.row)
    if first is None or shape is None or len(first) != len(shape):
        return False
    others = [k for k in range(len(shape)) if k != each.axis]
    if not all(is_same(first[k], shape[k]) for k in others) or not keeps_element(each.stack, at):
        return False
    if dtype is not at.dtype(each.port.initial) or dtype not in NUMBERS:
        return False
    if not isinstance(shape[each.axis], int) or not shape[each.axis]:
        return False
    extents = at.extents(each.row)
    if extents is None or 0 in extents:
        ranks_are_known = each.axis == 0 or certainly_runs(loop, at)
        return at.opset >= _RESHAPE_KEEPS_ZEROS and ranks_are_known
    return at.opset >= _SLICE_TAKES_INPUTS


def _join(writer: Writer, each: Append, runs: bool) -> None:
    at, axis, result = writer.at, each.axis, each.port.result
    rows, initial = each.stack.result, each.port.initial
    assert rows is not None, "made by _append"
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
