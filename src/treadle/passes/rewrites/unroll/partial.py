"""Unrolls a loop by a factor: a loop of trips // by groups of `by` iterations, then the rest.

    for i in range(trips // by):    body(by * i); body(by * i + 1); ...
    the remaining iterations:   straight-line if their number is known, else a second loop

Element j of every group gets its own stack; after the loop the stacks are concatenated, and a
Gather restores the order of the iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treadle.ir import (
    Block,
    Carried,
    Condition,
    Info,
    Invariant,
    Iteration,
    Loop,
    Stacked,
    StackedPort,
    Value,
    tensor,
)
from treadle.passes.rewrites.unroll.copies import Known, Where, copy_steps
from treadle.passes.rewrites.unroll.line import Line
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.step_builder import StepBuilder

Values = list[Value | None]


class _Part(NamedTuple):
    """The results of a part of the iterations: carried values, and stacks without reversal."""

    carried: Values
    stacks: list[Value | None]


def partial_line(loop: Loop, by: int, exact: int | None, at: PassContext) -> Line:
    """The loop unrolled by `by`; `exact` is the number of iterations, if it is known."""
    line = Line(loop, at)
    start: Values = [port.initial for port in line.view.carried]
    parts = _known(line, by, exact, start) if exact is not None else _unknown(line, by, start)
    for port, value in zip(line.view.carried, parts[-1].carried, strict=True):
        line.gives(port.result, value)
    for index, stack in enumerate(line.view.stacked):
        if stack.result is not None:
            line.gives(stack.result, _joined(line, stack, [part.stacks[index] for part in parts]))
    return line


def _known(line: Line, by: int, exact: int, start: Values) -> list[_Part]:
    whole, rest = divmod(exact, by)
    order = np.arange(exact - rest)
    index = (order % by) * whole + order // by
    parts = []
    if whole:
        ordered = line.writer.constant(index, f"{line.name}/order")
        parts.append(_grouped(line, by, line.number(whole), None, start, ordered))
        start = parts[-1].carried
    rows: list[Values] = []
    for number in range(exact - rest, exact):
        start, elements, _ = line.iterate(number, start, None, last=number == exact - 1)
        rows.append(elements)
    if rows:
        stacks = [_stack(line, p, [r[k] for r in rows]) for k, p in enumerate(line.view.stacked)]
        parts.append(_Part(start, stacks))
    return parts


def _stack(line: Line, port: StackedPort, elements: Values) -> Value | None:
    return None if port.result is None else line.stack(_forward(port), elements)


def _forward(port: StackedPort) -> StackedPort:
    return port._replace(role=Stacked(port.role.axis))


def _unknown(line: Line, by: int, start: Values) -> list[_Part]:
    total = _total(line)
    factor = line.number(by)
    whole = line.leaf("Div", total, factor)
    done = line.leaf("Mul", whole, factor)
    numbers = line.leaf("Range", line.number(0), done, line.number(1))
    group = line.leaf("Mul", line.leaf("Mod", numbers, factor), whole)
    order = line.leaf("Add", group, line.leaf("Div", numbers, factor))
    first = _grouped(line, by, whole, None, start, order)
    rest = line.leaf("Sub", total, done)
    return [first, _grouped(line, 1, rest, done, first.carried, None)]


def _total(line: Line) -> Value:
    """The number of iterations: 0 for a negative trip count, or a false condition."""
    total = _limit(line)
    condition = line.loop.condition
    if condition is None or line.at.truth(condition) is True:
        return total
    return line.leaf("Where", line.scalar(condition), total, line.number(0))


def _limit(line: Line) -> Value:
    if line.loop.trip is None:
        port = line.view.sliced[0]
        assert port.operand is not None, "what is sliced is there"
        shape = line.leaf("Shape", port.operand)
        return line.leaf("Gather", shape, line.number(port.role.axis), axis=0)
    given = line.scalar(line.loop.trip)
    is_negative = line.leaf("Less", given, line.number(0))
    return line.leaf("Where", is_negative, line.number(0), given)


def _grouped(
    line: Line, by: int, trip: Value, offset: Value | None, start: Values, order: Value | None
) -> _Part:
    """A loop whose body is `by` copies of the body, starting at iteration `offset`."""
    loop, view = line.loop, line.view
    inside = StepBuilder(line.at)
    number = Value(f"{line.name}/group", tensor("int64"))
    params = [replace(port.param) for port in view.carried]
    carried: Values = list(params)
    stacked: list[Values] = []
    for copy in range(by):
        index = _index(line, inside, number, by, copy, offset)
        known = _params(line, inside, carried, index)
        where = Where.of(loop, f"{by}*n+{copy}" if by > 1 else "n")

        def new(value: Value, copy: int = copy) -> Value:
            return Value(f"{line.name}/{copy}/{value.name}")

        inside.steps += copy_steps(loop.body.steps, known, new, where)
        carried = [_given(port.next, known) for port in view.carried]
        wanted = [port for port in view.stacked if port.result is not None]
        stacked.append([_given(port.element, known) for port in wanted])
    elements = [value for row in stacked for value in row]
    roles = tuple(port.role for port in view.stacked if port.result is not None)
    body = Block(
        params=(number, *params),
        constants=tuple(inside.constants),
        steps=tuple(inside.steps),
        results=(None, *carried, *elements),
        name=loop.body.name,
    )
    results = [Value(f"{line.name}/{port.param.name}") for port in view.carried]
    stacks = [Value(f"{line.name}/stack") for _ in elements]
    made = Loop(
        trip,
        None,
        (Iteration(), *[Carried()] * len(params)),
        tuple(start),
        body,
        tuple(Stacked(role.axis) for role in roles) * by,
        (*results, *stacks),
        Info(name=loop.info.name, op="Loop", metadata=loop.info.metadata),
    )
    line.writer.steps.append(made)
    return _Part([*results], _in_order(line, by, stacks, order))


def _in_order(
    line: Line, by: int, stacks: Sequence[Value], order: Value | None
) -> list[Value | None]:
    """One stack for each of the loop's stacks, with elements in the order of the iterations."""
    wanted = [port for port in line.view.stacked if port.result is not None]
    found: list[Value | None] = []
    for port in line.view.stacked:
        if port.result is None:
            found.append(None)
            continue
        index, axis = wanted.index(port), line.axis(port)
        groups = [stacks[copy * len(wanted) + index] for copy in range(by)]
        if order is None:
            found.append(groups[0])
            continue
        joined = line.leaf("Concat", *groups, axis=axis)
        found.append(line.leaf("Gather", joined, order, axis=axis))
    return found


def _given(value: Value | None, known: Known) -> Value | None:
    return None if value is None else known.get(value, value)


def _index(
    line: Line, inside: StepBuilder, number: Value, by: int, copy: int, offset: Value | None
) -> Value:
    """The number of an iteration: by * number + copy + offset."""
    found = number
    for op, other in (("Mul", by), ("Add", copy)):
        if other != (op == "Mul"):
            found = inside.leaf(op, found, line.number(other))
    return found if offset is None else inside.leaf("Add", found, offset)


def _params(line: Line, inside: StepBuilder, carried: Values, index: Value) -> Known:
    known: Known = {}
    for role, param in zip(line.loop.roles, line.loop.body.params, strict=True):
        rank = line.rank(param)
        if isinstance(role, Iteration):
            is_scalar = rank == 0
            known[param] = index if is_scalar else inside.leaf("Reshape", index, line.number(1, 1))
        elif isinstance(role, Condition):
            known[param] = line.true(rank)
        elif isinstance(role, Invariant):
            known[param] = None
    for port, value in zip(line.view.carried, carried, strict=True):
        known[port.param] = value
    for sliced in line.view.sliced:
        assert sliced.operand is not None, "what is sliced is there"
        axis, at = sliced.role.axis, index
        if sliced.role.reverse:
            shape = line.leaf("Shape", sliced.operand)
            length = line.leaf("Gather", shape, line.number(axis), axis=0)
            last = line.leaf("Sub", length, line.number(1))
            at = inside.leaf("Sub", last, index)
        known[sliced.param] = inside.leaf("Gather", sliced.operand, at, axis=axis)
    return known


def _joined(line: Line, port: StackedPort, parts: Sequence[Value | None]) -> Value:
    values = [part for part in parts if part is not None]
    axis = line.axis(port)
    found = values[0] if len(values) == 1 else line.leaf("Concat", *values, axis=axis)
    return line.reversed(found, axis) if port.role.reverse else found
