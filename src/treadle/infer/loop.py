"""Infers a Loop: iterates carried values to a bounded fixpoint; stacked results get their length.

Cost: a pass over a body either finds the carried facts stable or widens one of them. Widening
passes are counted over the whole inference, and widened facts stay widened when an outer loop
infers the body again. With at most w widening passes, a loop at depth d is inferred at most d * (w
+ 1) times: the cost grows linearly with the depth, not exponentially.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce

from treadle.infer.context import Inference, LoopState, Scope
from treadle.infer.dim_arithmetic import at_least
from treadle.infer.facts import UNKNOWN, Fact, meet_dims, meet_types, truth, without_shapes
from treadle.infer.induction import (
    LoopSymbols,
    initial_guess,
    lower_bounded,
    next_iteration,
    rebased,
)
from treadle.ir import (
    Carried,
    CarriedPort,
    Condition,
    Dim,
    DType,
    Expression,
    Invariant,
    Iteration,
    Loop,
    Ports,
    Shape,
    Sliced,
    SlicedPort,
    Stacked,
    StackedPort,
    Symbol,
    Tensor,
    declared_rank,
    ports,
    subtract_dims,
)

EXACT_PASSES = 12
"""The number of widening passes in which only changed facts are widened."""

SHAPELESS_PASSES = 4
"""The number of further passes in which every carried value has unknown rank.

After them facts are empty.
"""


def infer_loop(run: Inference, loop: Loop, scope: Scope) -> list[Fact]:
    """Infer one fact per result: carried values after any number of iterations, and stacks.

    state = initial
    while (wider := next_iteration(state, body(state))) != state:    # see induction.py
        state = wider
    """
    view = ports(loop)
    initial = [_initial(run, port, scope) for port in view.carried]
    state = _started(run, loop, scope, initial)
    body = scope.body("body", repeats=True, doubtful=_never_runs(run, loop, view))
    while True:
        given = run.block(loop.body, _params(run, loop, view, state, scope), body)
        stays = state.stays and _stays(loop, given[0])
        wider = _widened(loop, scope, state, given[1:])
        if wider == state.carried and stays == state.stays:
            break
        state.carried, state.stays = wider, stays
        state.passes += 1
    trips = _trips(run, loop, view, given[0], scope)
    clock = LoopSymbols(scope.path)
    elements = [clock.after(fact, None) for fact in given[1 + len(initial) :]]
    ends = [
        _end(loop.fixed_state, clock, trips, *facts)
        for facts in zip(initial, state.carried, given[1:], strict=False)
    ]
    return ends + [_stack(*stack, trips) for stack in zip(view.stacked, elements, strict=True)]


def _initial(run: Inference, port: CarriedPort, scope: Scope) -> Fact:
    fact = run.of(port.initial)
    if fact.type is not None or port.param.declared is None:
        return fact
    if scope.functions or not scope.believes:
        return fact
    return Fact(without_shapes(port.param.declared))


def _started(run: Inference, loop: Loop, scope: Scope, initial: list[Fact]) -> LoopState:
    state = run.loops.get(scope.path)
    if state is None:
        start = _each(loop, scope, initial_guess, initial)
        state = run.loops[scope.path] = LoopState(start)
    else:
        state.carried = _each(loop, scope, rebased, state.carried, initial)
    return state


def _each(
    loop: Loop, scope: Scope, change: Callable[..., Fact], *facts: Sequence[Fact]
) -> list[Fact]:
    """Apply `change` to the fact of every carried value; a state of fixed shape keeps its type."""
    clock = LoopSymbols(scope.path)
    names = [port.param.name for port in ports(loop).carried]
    if len(set(names)) < len(names):
        names = [f"{name}#{position}" for position, name in enumerate(names)]
    changed = list(map(partial(change, clock), names, *facts))
    if loop.fixed_state:
        return [replace(new, type=old.type) for new, old in zip(changed, facts[0], strict=True)]
    return changed


def _widened(loop: Loop, scope: Scope, state: LoopState, given: Sequence[Fact]) -> list[Fact]:
    if not loop.fixed_state and state.passes >= EXACT_PASSES + SHAPELESS_PASSES:
        return [UNKNOWN for _ in state.carried]
    wider = _each(loop, scope, next_iteration, state.carried, given)
    if not loop.fixed_state and state.passes >= EXACT_PASSES:
        return [Fact(without_shapes(fact.type)) for fact in wider]
    return wider


def _params(run: Inference, loop: Loop, view: Ports, state: LoopState, scope: Scope) -> list[Fact]:
    invariants, states, slices = iter(view.invariants), iter(state.carried), iter(view.sliced)
    facts: list[Fact] = []
    for k, role in enumerate(loop.roles):
        match role:
            case Iteration():
                facts.append(_one(loop, k, DType.INT64, Symbol(LoopSymbols(scope.path).iteration)))
            case Condition():
                facts.append(_one(loop, k, DType.BOOL, 1 if state.stays else None))
            case Invariant():
                facts.append(run.of(next(invariants).operand))
            case Carried():
                facts.append(next(states))
            case Sliced():
                facts.append(_slice(run, next(slices)))
    return facts


def _one(loop: Loop, index: int, dtype: DType, entry: Dim) -> Fact:
    shape = (1,) * declared_rank(loop, index)
    return Fact(Tensor(dtype, shape), None if entry is None else (entry,))


def _slice(run: Inference, port: SlicedPort) -> Fact:
    match run.of(port.operand).type:
        case Tensor(dtype, shape):
            return Fact(Tensor(dtype, _without_axis(shape, port.role.axis)))
    return UNKNOWN


def _without_axis(shape: Shape | None, axis: int) -> Shape | None:
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    at = axis % len(shape)
    return (*shape[:at], *shape[at + 1 :])


def _stays(loop: Loop, given: Fact) -> bool:
    """Whether the body's condition is true in every iteration.

    An omitted condition may turn false.
    """
    return loop.body.results[0] is None or loop.condition is not None or truth(given) is True


def _never_runs(run: Inference, loop: Loop, view: Ports) -> bool:
    starts = True if loop.condition is None else truth(run.of(loop.condition))
    return starts is False or _trip(run, loop, view) == 0


def _trip(run: Inference, loop: Loop, view: Ports) -> Dim:
    """The number of iterations if the condition stays true; None if unknown."""
    if loop.trip is not None:
        content = run.of(loop.trip).content
        limit = content[0] if content is not None and len(content) == 1 else None
        if isinstance(limit, int):
            return max(limit, 0)
        return limit if at_least(limit, 0) else None
    lengths = [_length(run, port) for port in view.sliced]
    return reduce(meet_dims, lengths) if lengths else None


def _length(run: Inference, port: SlicedPort) -> Dim:
    type_ = run.of(port.operand).type
    shape = type_.shape if isinstance(type_, Tensor) else None
    axis = port.role.axis
    return shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None


def _trips(run: Inference, loop: Loop, view: Ports, after: Fact, scope: Scope) -> Dim:
    """The number of iterations: a number, an extent of the model, or a new symbol."""
    if _never_runs(run, loop, view):
        return 0
    first = loop.condition is None or truth(run.of(loop.condition))
    most = _trip(run, loop, view)
    stays = loop.body.results[0] is None or truth(after) is True
    known = isinstance(most, int | Symbol | Expression) and first and stays
    return most if known else Symbol(f"{scope.path}.trips")


def _end(
    is_fixed: bool, clock: LoopSymbols, trips: Dim, initial: Fact, state: Fact, given: Fact
) -> Fact:
    if trips == 0:
        return initial
    before, last = clock.after(state, trips), clock.after(given, subtract_dims(trips, 1))
    if is_fixed:
        return replace(before, type=meet_types(before.type, last.type))
    if at_least(trips, 1):
        before = replace(last, type=meet_types(last.type, without_shapes(before.type)))
    return lower_bounded(initial, state, given, before)


def _stack(port: StackedPort, element: Fact, trips: Dim) -> Fact:
    match element.type:
        case Tensor(dtype, shape):
            return Fact(Tensor(dtype, _with_axis(shape, port.role, trips)))
    return Fact(Tensor())


def _with_axis(shape: Shape | None, role: Stacked, extent: Dim) -> Shape | None:
    if shape is None:
        return None
    rank = len(shape) + 1
    at = role.axis % rank if -rank <= role.axis < rank else 0
    return (*shape[:at], extent, *shape[at:])
