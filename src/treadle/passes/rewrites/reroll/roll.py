"""Writes a matched run as a loop, with results for the values read after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treadle.ir import (
    Block,
    Carried,
    Info,
    Iteration,
    Leaf,
    Loop,
    Stacked,
    Step,
    Value,
    tensor,
)
from treadle.passes.rewrites.reroll.matching import Match, Place
from treadle.passes.rewrites.reroll.signature import all_reads, reading
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.operators import attribute as attribute_of
from treadle.passes.simplify.step_builder import StepBuilder

_AXES_ARE_INPUTS = 13
Users = Mapping[Value, Sequence[Step | None]]
"""The steps that read a value, in bodies too; None for a result of the block."""


@dataclass(slots=True)
class Rolled:
    """The steps that replace a run, and the replacements of its values read after it."""

    writer: StepBuilder
    by: dict[Value, Value | None]
    gone: set[int]


def roll(steps: Sequence[Step], found: Match, users: Users, at: PassContext) -> Rolled | None:
    """The loop of a match; None if it would be no smaller than the run."""
    run = found.run
    members = {id(step) for step in steps[run.start : run.start + run.size]}
    outside = _read_outside(steps, found, users, members)
    before, inside = StepBuilder(at), StepBuilder(at)
    number = Value("iteration", tensor("int64"))
    body = _Body(found, before, inside, number)
    body.write(steps[run.start : run.start + run.period])
    rolled = Rolled(StepBuilder(at), {}, set())
    stacks: list[tuple[Value, Stacked, Value]] = []
    lasts = dict(body.lasts)
    for position, values in outside.items():
        _give(position, values, body, stacks, lasts, users, rolled, at, members)
    if len(rolled.writer.steps) > run.size // 2:
        return None
    if not body.carried and not stacks:
        return None
    trip = before.constant(np.array(run.times), "trips")
    block = Block(
        params=(number, *(param for param, _, _ in body.carried.values())),
        constants=tuple(inside.constants),
        steps=tuple(inside.steps),
        results=(None, *(body.made[s] for _, s in body.carried), *(e for e, _, _ in stacks)),
        name="segment",
    )
    loop = Loop(
        trip,
        None,
        (Iteration(), *[Carried()] * len(body.carried)),
        tuple(initial for _, initial, _ in body.carried.values()),
        block,
        tuple(role for _, role, _ in stacks),
        (*(result for _, _, result in body.carried.values()), *(result for _, _, result in stacks)),
        Info(op="Loop", version=at.version("Loop") or 0),
    )
    before.steps += [loop, *rolled.writer.steps]
    before.constants += rolled.writer.constants
    return Rolled(before, rolled.by, rolled.gone)


class _Body:
    """The body of the loop under construction."""

    def __init__(
        self, found: Match, before: StepBuilder, inside: StepBuilder, number: Value
    ) -> None:
        self.found, self.before, self.inside, self.number = found, before, inside, number
        self.made: dict[Place, Value] = {}
        self.carried: dict[tuple[Value, Place], tuple[Value, Value, Value]] = {}
        self._numbers: dict[object, Value] = {}

    @property
    def lasts(self) -> dict[Place, Value]:
        """The loop's results by their place in a segment."""
        return {source: result for (_, source), (_, _, result) in self.carried.items()}

    def name_last(self, source: Place, value: Value) -> Value:
        """Name the loop's result for a carried value after the original value."""
        key = next(each for each in self.carried if each[1] == source)
        param, initial, _ = self.carried[key]
        self.carried[key] = param, initial, replace(value)
        return self.carried[key][2]

    def write(self, segment: Sequence[Step]) -> None:
        """Write the steps of the first segment over the loop's values."""
        for position, step in enumerate(segment):
            count = range(len(all_reads(step)))
            operands = tuple(self._operand((position, k)) for k in count)
            results = tuple(None if v is None else Value(v.name) for v in step.results)
            self.made |= {(position, k): v for k, v in enumerate(results) if v is not None}
            kept = tuple(each for each in step.info.metadata if not each[0].startswith("treadle."))
            info = replace(step.info, metadata=kept, path="")
            made = replace(reading(step, operands), results=results, info=info)
            self.inside.steps.append(made)

    def _operand(self, position: Place) -> Value | None:
        found = self.found
        if position in found.captured:
            return found.captured[position]
        if position in found.inner:
            return self.made[found.inner[position]]
        if position in found.carried:
            source, initial = found.carried[position]
            key = (initial, source)
            if key not in self.carried:
                name = initial.name
                self.carried[key] = Value(f"{name}_in"), initial, Value(f"{name}_last")
            return self.carried[key][0]
        if position in found.affine:
            return self._affine(*found.affine[position])
        return self._each(found.each[position]) if position in found.each else None

    def _affine(self, base: int, by: int, dtype: np.dtype, shape: tuple[int, ...]) -> Value:
        key = (base, by, dtype.str, shape)
        if key not in self._numbers:
            value = self.number
            if by == -1:  # a form in which slicing from the last item is recognised
                value, base, by = self.inside.leaf("Sub", self._constant(base), value), 0, 1
            for op, other, idle in (("Mul", by, 1), ("Add", base, 0)):
                if other != idle:
                    value = self.inside.leaf(op, value, self._constant(other))
            if dtype != np.int64:
                value = self.inside.leaf("Cast", value, to=6)
            if shape:
                target = self.before.constant(np.array(shape, np.int64), "shape")
                value = self.inside.leaf("Reshape", value, target)
            self._numbers[key] = value
        return self._numbers[key]

    def _constant(self, number: int) -> Value:
        return self.before.constant(np.array(number), "number")

    def _each(self, values: tuple[Value, ...]) -> Value:
        if values not in self._numbers:
            at = self.before.at
            arrays = [at.array(value) for value in values]
            known = [array for array in arrays if array is not None]
            if len(known) == len(values):
                stack = self.before.constant(np.stack(known), f"{values[0].name}_each")
            else:
                rows = [_unsqueezed(self.before, value) for value in values]
                stack = self.before.leaf("Concat", *rows, axis=0)
            self._numbers[values] = self.inside.leaf("Gather", stack, self.number, axis=0)
        return self._numbers[values]


def _unsqueezed(writer: StepBuilder, value: Value) -> Value:
    if writer.at.opset >= _AXES_ARE_INPUTS:
        return writer.leaf("Unsqueeze", value, writer.constant(np.array([0]), "axis"))
    return writer.leaf("Unsqueeze", value, axes=[0])


def _read_outside(
    steps: Sequence[Step], found: Match, users: Users, members: set[int]
) -> dict[Place, list[Value | None]]:
    """For each segment: its results that are read after the run, or None."""
    run = found.run
    outside: dict[Place, list[Value | None]] = {}
    for t in range(run.times):
        for position in range(run.period):
            for k, value in enumerate(steps[run.start + t * run.period + position].results):
                if value is None:
                    continue
                if any(user is None or id(user) not in members for user in users.get(value, ())):
                    row = outside.setdefault((position, k), [None] * run.times)
                    row[t] = value
    return outside


def _give(
    position: Place,
    values: list[Value | None],
    body: _Body,
    stacks: list[tuple[Value, Stacked, Value]],
    lasts: Mapping[Place, Value],
    users: Users,
    rolled: Rolled,
    at: PassContext,
    members: set[int],
) -> None:
    """Make the values of one place that are read after the run results of the loop."""
    *middle, last = values
    if last is not None and position in lasts and not any(middle):
        rolled.by[last] = body.name_last(position, last)
        return
    joined = _joined(values, users, at)
    if joined is not None:
        concat, axis, reverse, gone = joined
        stack = _renamed(concat)
        stacks.append((body.made[position], Stacked(axis, reverse), stack))
        rolled.by[concat] = stack
        rolled.gone |= gone
        for t, value in enumerate(values):
            if value is None or not _is_read(users[value], members | gone):
                continue
            if value is last and position in lasts:
                rolled.by[value] = body.name_last(position, value)
            else:
                place = len(values) - 1 - t if reverse else t
                index = rolled.writer.constant(np.array(place), "index")
                rolled.by[value] = rolled.writer.leaf("Gather", stack, index, axis=axis)
        return
    stack = Value(f"{body.made[position].name}_rows")
    stacks.append((body.made[position], Stacked(), stack))
    for t, value in enumerate(values):
        if value is not None:
            index = rolled.writer.constant(np.array(t), "index")
            rolled.by[value] = rolled.writer.leaf("Gather", stack, index, axis=0)


def _is_read(users: Sequence[Step | None], apart_from: set[int]) -> bool:
    return any(user is None or id(user) not in apart_from for user in users)


def _renamed(value: Value) -> Value:
    return replace(value)


def _joined(
    values: Sequence[Value | None], users: Users, at: PassContext
) -> tuple[Value, int, bool, set[int]] | None:
    """The Concat of all values with a new axis: its result, axis, order, and the steps."""
    rows: list[Value] = []
    gone: set[int] = set()
    axes: set[int | None] = set()
    for value in values:
        readers = users.get(value, ()) if value is not None else ()
        others = [user for user in readers if _is_unsqueeze(user)]
        if len(others) != 1:
            return None
        step = others[0]
        assert isinstance(step, Leaf), "an Unsqueeze is a leaf"
        result = step.results[0]
        if result is None or len(users.get(result, ())) != 1:
            return None
        axes.add(_axis(step, at))
        rows.append(result)
        gone.add(id(step))
    concat = users[rows[0]][0]
    if not isinstance(concat, Leaf) or concat.domain or concat.op != "Concat":
        return None
    axis, given = axes.pop() if len(axes) == 1 else None, list(concat.operands)
    result = concat.results[0]
    if axis is None or attribute_of(concat, "axis", 1) != axis or result is None:
        return None
    if given not in (rows, rows[::-1]):
        return None
    return result, axis, given != rows, gone | {id(concat)}


def _is_unsqueeze(step: Step | None) -> bool:
    return isinstance(step, Leaf) and not step.domain and step.op == "Unsqueeze"


def _axis(step: Leaf, at: PassContext) -> int | None:
    axes: object = at.whole(step.operands[1]) if len(step.operands) > 1 else None
    if len(step.operands) == 1:
        given = attribute_of(step, "axes", ())
        axes = given[0] if isinstance(given, tuple) and len(given) == 1 else None
    return axes if isinstance(axes, int) and axes >= 0 else None
