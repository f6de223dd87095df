"""Loop and Scan: the one loop form.

    i, go = 0, condition is None or condition
    while go and i < trip:                # no trip: the length of the sliced, else endless
        go, *carried, *elements = body(i, True, *invariants, *carried, *(s[i] for s in sliced))
        stacked.append(elements)
        i += 1
    return (*carried, *map(stack, stacked))

Loop: "for (int i=0; i < trip_count && cond; ++i)", so a negative trip count gives no iteration. All
carried values are updated at once, and every iteration gets its own copies. Scan runs once for each
item of its sliced inputs, and its states keep their shape (`Loop.fixed_state`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from treadle import machine
from treadle.errors import RunError
from treadle.interp.carried import CarriedTypeCheck, carried_type_checks
from treadle.interp.executable import Executable
from treadle.interp.scalars import boolean, whole
from treadle.interp.sliced import Slices, slices
from treadle.interp.stacked import Stack, extents, stacks
from treadle.ir import (
    Carried,
    Condition,
    Invariant,
    Iteration,
    Loop,
    Ports,
    Sliced,
    declared_rank,
    ports,
)
from treadle.plan import RunContext
from treadle.tracing import Iterations, IterationStarted, LoopEnded, LoopStarted, size_of

_TRUE = np.array(True)


def prepare_loop(loop: Loop, path: str, body: Executable) -> Executable:
    """Prepare the loop over a prepared body; its operands are (trip, condition, *loop.operands)."""
    return partial(_run, _Prepared(loop, path, body, ports(loop), _places(loop)))


class _Places(NamedTuple):
    """Positions of each role among the body's params; `fed` are those that have an operand.

    `iteration` and `condition` are pairs of a position and the shape that the body expects there.
    """

    fed: tuple[int, ...]
    carried: tuple[int, ...]
    sliced: tuple[int, ...]
    iteration: tuple[tuple[int, tuple[int, ...]], ...]
    condition: tuple[tuple[int, tuple[int, ...]], ...]


def _places(loop: Loop) -> _Places:
    def of(*kinds: type) -> tuple[int, ...]:
        return tuple(k for k, role in enumerate(loop.roles) if isinstance(role, kinds))

    def shaped(kind: type) -> tuple[tuple[int, tuple[int, ...]], ...]:
        return tuple((k, (1,) * declared_rank(loop, k)) for k in of(kind))

    fed = of(Invariant, Carried, Sliced)
    return _Places(fed, of(Carried), of(Sliced), shaped(Iteration), shaped(Condition))


@dataclass(frozen=True, slots=True)
class _Prepared:
    loop: Loop
    path: str
    body: Executable
    view: Ports
    places: _Places


@dataclass(slots=True)
class _State:
    """One run of a loop: the body's params between iterations, and the results so far."""

    params: list[Any]
    slices: Slices
    most: int | None
    guards: tuple[CarriedTypeCheck, ...]
    stacks: tuple[Stack, ...]
    done: int = 0
    expected: int = machine.LARGE


def _run(
    prepared: _Prepared, operands: Sequence[Any], context: RunContext, iterations: Iterations
) -> Sequence[Any]:
    path, listener = prepared.path, context.listener
    condition = operands[1]
    go = condition is None or boolean(condition, "the condition", path, iterations)
    state = _start(prepared, operands, iterations)
    if listener is not None:
        listener(LoopStarted(path, iterations, state.most))
    bytes_held = context.held
    _hold(state, prepared, context, bytes_held, iterations)
    while go and (state.most is None or state.done < state.most):
        inner = (*iterations, state.done)
        context.iteration(path, inner)
        if listener is not None:
            listener(IterationStarted(path, inner))
        results = prepared.body(_params(state, prepared), context, inner)
        go = _take(state, prepared, results, inner)
        _hold(state, prepared, context, bytes_held, inner)
    context.held = bytes_held
    if listener is not None:
        is_full = state.done == state.most
        listener(LoopEnded(path, iterations, state.done, "trip" if is_full else "condition"))
    carried = [state.params[index] for index in prepared.places.carried]
    known = {} if state.done else extents(prepared.loop.operands, operands[2:])
    return [*carried, *(stack.made(known, path, iterations) for stack in state.stacks)]


def _start(prepared: _Prepared, operands: Sequence[Any], iterations: Iterations) -> _State:
    trip, _, *given = operands
    places, view, path = prepared.places, prepared.view, prepared.path
    params: list[Any] = [None] * len(prepared.loop.roles)
    for index, value in zip(places.fed, given, strict=True):
        params[index] = value
    limit = None if trip is None else max(whole(trip, "the trip count", path, iterations), 0)
    sliced = [params[index] for index in places.sliced]
    cut = slices(view.sliced, sliced, limit, path, iterations)
    carried = [params[index] for index in places.carried]
    return _State(
        params,
        cut,
        cut.length if limit is None else limit,
        carried_type_checks(view.carried, carried, keeps_shape=prepared.loop.fixed_state),
        stacks(prepared.loop),
    )


def _params(state: _State, prepared: _Prepared) -> list[Any]:
    """The body's params in this iteration."""
    places, params = prepared.places, state.params.copy()
    for index, shape in places.iteration:
        params[index] = np.array(state.done, np.int64).reshape(shape)
    for index, shape in places.condition:
        params[index] = _TRUE.reshape(shape)
    for index, item in zip(places.sliced, state.slices.items(state.done), strict=True):
        params[index] = item
    return params


def _take(state: _State, prepared: _Prepared, results: Sequence[Any], inner: Iterations) -> bool:
    """Carry and stack the body's results; return whether its condition lets the loop continue."""
    after, *given = results
    path, places = prepared.path, prepared.places
    for index, guard, value in zip(places.carried, state.guards, given, strict=False):
        guard.check(state.params[index], value, path, inner)
        state.params[index] = value
    for stack, element in zip(state.stacks, given[len(places.carried) :], strict=True):
        stack.add(element, path, inner)
    state.done += 1
    if prepared.view.next_condition is None:
        return True
    return boolean(
        after, f"the body's condition {prepared.view.next_condition.name!r}", path, inner
    )


def _hold(
    state: _State, prepared: _Prepared, context: RunContext, outer: int, iterations: Iterations
) -> None:
    for stack in state.stacks:
        if stack.size > state.expected:
            state.expected = stack.size + machine.LARGE
            _expect_memory(state, prepared.path, iterations)
    if context.limits.bytes is None:
        return
    own = sum(size_of(state.params[index]) for index in prepared.places.carried)
    context.held = outer + own + sum(stack.size for stack in state.stacks)
    context.hold(context.held, prepared.path, iterations)


def _expect_memory(state: _State, path: str, iterations: Iterations) -> None:
    """Fail where the stacked results, copies of the elements so far, would not fit into memory."""
    size = sum(stack.size for stack in state.stacks)
    if (there := machine.shortage(size)) is not None:
        fault = f"its stacked results would have {size:.3g} bytes, of memory there are {there:.3g}"
        raise RunError(f"{fault}; check its trip count and what it stacks", path, iterations)
