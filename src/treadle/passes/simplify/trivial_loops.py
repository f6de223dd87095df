"""Replaces loops that run exactly once or never by their body or their initial values.

    never    the carried values are their initial ones, the stacks are empty
    once     the steps of the body, the iteration number 0; a stack is Unsqueeze(element, axis)

Declines if the number of iterations is unknown, if a carried value may change its kind (which is an
error), if an initial value is absent, and, for a loop that never runs, if a stack of unknown
extents is read.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treadle.ir import (
    Block,
    DType,
    Iteration,
    Loop,
    Ports,
    Sliced,
    StackedPort,
    Step,
    Value,
    declared_rank,
    ports,
    step_path,
)
from treadle.passes.simplify.captures import map_implicit_captures, replaced
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.speculation import (
    keeps_element,
    keeps_kind,
    runs_at_least_once,
    scan_length,
)
from treadle.passes.simplify.step_builder import StepBuilder

NAME = "trivial loops inlined"
_AXES_ARE_INPUTS = 13


def unroll_trivial_loops(block: Block, at: PassContext) -> Block:
    """Inline the loops of the open block that run at most once."""
    by: dict[Value, Value | None] = {}

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        for position, step in reversed(list(enumerate(inner.steps))):
            if not isinstance(step, Loop) or not _is_plain(step, at):
                continue
            most = _most(step, at)
            if most == 0:
                done = _never(inner, position, step, by, at)
            elif most == 1 and runs_at_least_once(step, at):
                done = _once(inner, position, step, by, at)
            else:
                continue
            if done is not inner:
                where = step_path(path, step, position)
                at.note(NAME, where, "it never runs" if most == 0 else "it runs once")
            inner = done
        return inner

    return replaced(map_implicit_captures(block, change), by)


def _is_plain(loop: Loop, at: PassContext) -> bool:
    view = ports(loop)
    fed = sum(not isinstance(role, Iteration) for role in loop.roles)
    fed -= view.condition is not None
    return (
        fed == len(view.carried) + len(view.sliced)
        and all(port.initial is not None for port in view.carried)
        and all(keeps_kind(loop, port, at) for port in view.carried)
        and not (view.sliced and loop.trip is not None)
    )


def _most(loop: Loop, at: PassContext) -> int | None:
    """A proven upper bound of the iterations, 0 or 1; None if there is none."""
    if loop.condition is not None and at.truth(loop.condition) is False:
        return 0
    view = ports(loop)
    count = scan_length(loop, at) if view.sliced else at.whole(loop.trip)
    if view.sliced and count == 0:
        return None
    if count is not None and count <= 0:
        return 0
    if count == 1 and (
        view.next_condition is None or at.is_single(view.next_condition, DType.BOOL)
    ):
        return 1
    return 1 if at.truth(view.next_condition) is False else None


def _never(
    block: Block, position: int, loop: Loop, by: dict[Value, Value | None], at: PassContext
) -> Block:
    view = ports(loop)
    if (
        loop.trip is not None
        and at.whole(loop.trip) is None
        and not at.is_single(loop.trip, DType.INT64)
    ):
        return block
    if not all(
        keeps_element(port, at) and at.extents(port.element) is not None for port in view.stacked
    ):
        return block
    steps: list[Step] = []
    for port in view.stacked:
        if port.result is not None:
            block, made = at.constant(block, port.result, _empty(port, at))
            steps += made
    by.update((p.result, p.initial) for p in view.carried if p.result is not None)
    return replace(block, steps=(*block.steps[:position], *steps, *block.steps[position + 1 :]))


def _empty(port: StackedPort, at: PassContext) -> np.ndarray:
    extents, dtype = at.extents(port.element), at.dtype(port.element)
    assert extents is not None, "looked at above"
    assert dtype is not None, "looked at above"
    shape = list(extents)
    shape.insert(port.role.axis % (len(extents) + 1), 0)
    return np.zeros(shape, dtype.numpy)


def _once(
    block: Block, position: int, loop: Loop, by: dict[Value, Value | None], at: PassContext
) -> Block:
    view = ports(loop)
    if any(not keeps_element(port, at) for port in view.stacked):
        return block
    before, after = StepBuilder(at), StepBuilder(at)
    _give_params(loop, before)
    by.update((port.param, port.initial) for port in view.carried)
    by.update((port.result, port.next) for port in view.carried if port.result is not None)
    _stack_once(view, after)
    block = after.into(before.into(block))
    around = block.steps[:position], block.steps[position + 1 :]
    return replace(
        block,
        constants=(*block.constants, *loop.body.constants),
        steps=(*around[0], *before.steps, *loop.body.steps, *after.steps, *around[1]),
    )


def _give_params(loop: Loop, writer: StepBuilder) -> None:
    """Define a body's params, except for carried ones, in its only iteration."""
    view = ports(loop)
    for index, role in enumerate(loop.roles):
        shape = (1,) * declared_rank(loop, index)
        if isinstance(role, Iteration):
            writer.constant(np.zeros(shape, np.int64), value=view.iteration)
        elif not isinstance(role, Sliced) and loop.body.params[index] is view.condition:
            writer.constant(np.ones(shape, np.bool_), value=view.condition)
    for port in view.sliced:
        assert port.operand is not None, "its length is certain"
        first = writer.constant(np.array(0), "first")
        writer.leaf("Gather", port.operand, first, result=port.param, axis=port.role.axis)


def _stack_once(view: Ports, writer: StepBuilder) -> None:
    axes_are_inputs = writer.at.opset >= _AXES_ARE_INPUTS
    for stack in view.stacked:
        if stack.result is None:
            continue
        assert stack.element is not None, "its extents are certain"
        if axes_are_inputs:
            axes = writer.constant(np.array([stack.role.axis]), "axis")
            writer.leaf("Unsqueeze", stack.element, axes, result=stack.result)
        else:
            writer.leaf("Unsqueeze", stack.element, result=stack.result, axes=[stack.role.axis])
