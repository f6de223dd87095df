"""Turns equal segments of a block into a loop: those written by `unroll` or an exporter.

    h1 = f(x[0], h0); h2 = f(x[1], h1); h3 = f(x[2], h2)     ->     scan(row of x): h = f(row, h)

Segments are equal if their operators are and every operand is the same value, a result of the
segment itself or the previous one, or an integer that grows by a constant step. With `layers`,
equal layers with different weights are included; their weights are stacked. Other steps are left
unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treadle.ir import (
    Block,
    Constant,
    Leaf,
    Literal,
    Loop,
    Model,
    Step,
    Value,
    bodies,
    map_blocks,
    map_bodies,
    verified,
)
from treadle.limits import poll
from treadle.passes.report import Report
from treadle.passes.rewrites.finished import without_unread_constants
from treadle.passes.rewrites.open_form import Walk, map_open, rewrite_open
from treadle.passes.rewrites.reroll.matching import match
from treadle.passes.rewrites.reroll.roll import Rolled, roll
from treadle.passes.rewrites.reroll.segments import Run, runs
from treadle.passes.simplify import simplify
from treadle.passes.simplify.captures import all_steps, free_reads, replaced
from treadle.passes.simplify.dce import eliminate_dead_steps
from treadle.passes.simplify.loop_to_scan import loops_to_scans
from treadle.passes.to_onnx_loops import to_onnx_loops
from treadle.passes.versions import Names, all_names, with_a_state

NAME = "reroll"
_MOST_ROUNDS = 50
_MOST_RUNS = 40
_MOST_SHIFTS = 16
_SMALLEST = 6
_DEEPEST = 4
_CARRIES_NOTHING = 11
"""The opset since which a Loop may carry nothing."""


@verified
def reroll(model: Model, *, layers: bool = False) -> tuple[Model, Report]:
    """Replace repeated segments by loops; returns the model and the report.

    The bodies of new loops are looked at too, since segments may repeat inside a longer one.
    """
    report = Report()
    after = model
    for _ in range(_DEEPEST):
        rolled, more = _rolled(after, layers)
        if not more.done:
            break
        after, report = simplify(rolled, (eliminate_dead_steps, loops_to_scans))[0], report + more
    if not report.done:
        return model, report
    return without_unread_constants(to_onnx_loops(_with_states(after)), model), report


def _rolled(model: Model, layers: bool) -> tuple[Model, Report]:
    def changed(block: Block, walk: Walk) -> Block:
        def change(inner: Block) -> Block:
            held = _with_held_constants(inner, walk)
            for rounds in range(_MOST_ROUNDS):
                poll()
                found = _once(held, walk, layers)
                if found is None:
                    return held if rounds else inner
                held = found
            return held

        return map_open(block, change)

    return rewrite_open(model, NAME, ("*",), lambda step: False, changed)


def _with_states(model: Model) -> Model:
    """The model with an unused state in each Loop of version 1 that carries nothing."""
    if model.opsets.get("", 0) >= _CARRIES_NOTHING:
        return model
    names = Names(all_names(model))

    def changed(block: Block) -> Block:
        inner = (map_bodies(step, lambda _, body: changed(body)) for step in block.steps)
        made = [_with_state(step, names) for step in inner]
        constants = [constant for _, more in made for constant in more]
        steps = tuple(step for step, _ in made)
        return replace(block, steps=steps, constants=(*block.constants, *constants))

    return map_blocks(model, changed)


def _with_state(step: Step, names: Names) -> tuple[Step, Sequence[Constant]]:
    return with_a_state(step, names) if isinstance(step, Loop) else (step, ())


def _with_held_constants(block: Block, walk: Walk) -> Block:
    """The block with constants in place of Constant nodes, which differ from layer to layer."""
    if not walk.at.literals:
        return block
    steps: list[Step] = []
    constants = list(block.constants)
    for step in block.steps:
        value = step.results[0] if step.results else None
        is_constant = isinstance(step, Leaf) and not step.domain and step.op == "Constant"
        array = walk.at.array(value) if is_constant else None
        if array is None or value is None:
            steps.append(step)
        else:
            constants.append(Constant(value, Literal.of(array)))
    return replace(block, steps=tuple(steps), constants=tuple(constants))


def _once(block: Block, walk: Walk, layers: bool) -> Block | None:
    """The block with its longest matching run replaced by a loop."""
    steps, users = block.steps, _users(block)
    constants = {constant.value: constant.array for constant in block.constants}
    before = {v: k for k, step in enumerate(steps) for v in step.results if v is not None}

    def content(value: Value) -> np.ndarray | None:
        return constants[value] if value in constants else walk.at.array(value)

    for run in runs(steps)[:_MOST_RUNS]:
        for shifted in _shifts(run, steps):
            found = match(steps, shifted, content, before, layers=layers)
            if found is None or not (found.carried or found.affine or found.each):
                continue
            made = roll(steps, found, users, walk.at)
            if made is not None:
                walk.at.note(NAME, "main", f"{shifted.times} times {shifted.period} steps")
                return _with_loop(block, shifted, made)
    return None


def _shifts(run: Run, steps: Sequence[Step]) -> list[Run]:
    """The run, and shortened runs for the case that its first steps match only by accident."""
    found = []
    size = sum(1 + _inner_size(step) for step in steps[run.start : run.start + run.period])
    for shift in range(min(run.period, _MOST_SHIFTS)):
        times = run.times if shift == 0 else run.times - 1
        if times >= 3 and times * size >= _SMALLEST:
            found.append(Run(run.start + shift, run.period, times))
    return found


def _inner_size(step: Step) -> int:
    if isinstance(step, Leaf):
        return 0
    return sum(1 for _, body in bodies(step) for _ in all_steps(body))


def _users(block: Block) -> dict[Value, list[Step | None]]:
    users: dict[Value, list[Step | None]] = {}
    for step in block.steps:
        for value in free_reads(step):
            users.setdefault(value, []).append(step)
    for given in block.results:
        if given is not None:
            users.setdefault(given, []).append(None)
    return users


def _with_loop(block: Block, run: Run, made: Rolled) -> Block:
    end = run.start + run.size
    after = [step for step in block.steps[end:] if id(step) not in made.gone]
    steps = (*block.steps[: run.start], *made.writer.steps, *after)
    constants: tuple[Constant, ...] = (*block.constants, *made.writer.constants)
    return replaced(replace(block, steps=steps, constants=constants), made.by)
