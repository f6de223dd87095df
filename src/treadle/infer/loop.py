"""Facts of a Loop: carried values to a bounded fixpoint, stacked results with their length.

How often a body is looked at: a pass either finds the carried facts stable or widens one of them,
widening is counted over the whole inference, and what was widened stays so when an outer loop asks
again. With the bound w of widening passes a loop at depth d is looked at no more than
d * (w + 1) times, so nesting costs a factor of the depth, never a power of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from treadle.infer.extents import at_least
from treadle.infer.facts import UNKNOWN, Fact, join, merge_dims, merge_types, truth, without_shapes
from treadle.infer.run import Inference, LoopState, Place
from treadle.ir import (
    Carried,
    CarriedPort,
    Condition,
    Dim,
    DType,
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
    Value,
    ports,
)

EXACT_PASSES = 12
"""Widening passes in which only what changes is widened."""

SHAPELESS_PASSES = 4
"""Passes after them in which every carried value has unknown rank; then nothing is known of it."""

ITERATION = Fact(Tensor(DType.INT64, ()))
ITERATION_OF_RANK_1 = Fact(Tensor(DType.INT64, (1,)))
TRUE = Fact(Tensor(DType.BOOL, ()), (1,))
ANYTHING = Fact(TRUE.type)
TRUE_OF_SOME_RANK = Fact(Tensor(DType.BOOL))
_CONDITIONS = (TRUE, ANYTHING, TRUE_OF_SOME_RANK)


def infer_loop(run: Inference, loop: Loop, place: Place) -> list[Fact]:
    """One fact per result: what holds of the carried value at any end, and the stacks.

    state = initial
    while (wider := join(state, body(state))) != state:    # join: see facts.py
        state = wider
    """
    view = ports(loop)
    initial = [_initial(run, port, place) for port in view.carried]
    state = _started(run, place.path, initial, _condition(run, loop))
    body = place.body("body", repeats=True, doubtful=_never_runs(run, loop, view))
    while True:
        given = run.block(loop.body, _params(run, loop, view, state), body)
        condition = _condition_after(loop, state.condition, given[0])
        wider = _widened(loop, state, given[1:])
        if wider == state.carried and condition == state.condition:
            break
        state.carried, state.condition = wider, condition
        state.passes += 1
    trips = _trips(run, loop, view, given[0], place)
    elements = given[1 + len(initial) :]
    ends = [
        _end(is_scan(loop), trips, *facts)
        for facts in zip(initial, state.carried, given[1:], strict=False)
    ]
    return ends + [_stack(*stack, trips) for stack in zip(view.stacked, elements, strict=True)]


def is_scan(loop: Loop) -> bool:
    """Whether the file has it as a Scan, whose states may not change their shape."""
    return loop.info.op == "Scan"


def _initial(run: Inference, port: CarriedPort, place: Place) -> Fact:
    fact = run.of(port.initial)
    if fact.type is not None or port.param.declared is None or place.functions:
        return fact
    return Fact(without_shapes(port.param.declared))


def _started(run: Inference, path: str, initial: list[Fact], condition: Fact) -> LoopState:
    state = run.loops.setdefault(path, LoopState(initial, condition))
    state.carried = list(map(_join_carried, state.carried, initial))
    state.condition = max(state.condition, condition, key=_CONDITIONS.index)
    return state


def _join_carried(state: Fact, given: Fact) -> Fact:
    """Their join; a change of dtype or kind, which nothing allows, leaves what it was."""
    met = join(state, given)
    return replace(met, type=merge_types(met.type, without_shapes(state.type)))


def _widened(loop: Loop, state: LoopState, given: Sequence[Fact]) -> list[Fact]:
    if is_scan(loop):
        met = map(_join_carried, state.carried, given)
        return [replace(fact, type=old.type) for fact, old in zip(met, state.carried, strict=True)]
    if state.passes >= EXACT_PASSES + SHAPELESS_PASSES:
        return [UNKNOWN for _ in state.carried]
    wider = list(map(_join_carried, state.carried, given))
    if state.passes >= EXACT_PASSES:
        return [Fact(without_shapes(fact.type)) for fact in wider]
    return wider


def _params(run: Inference, loop: Loop, view: Ports, state: LoopState) -> list[Fact]:
    invariants, states, slices = iter(view.invariants), iter(state.carried), iter(view.sliced)
    facts = []
    for role, param in zip(loop.roles, loop.body.params, strict=True):
        match role:
            case Iteration():
                facts.append(_iteration(param))
            case Condition():
                facts.append(state.condition)
            case Invariant():
                facts.append(run.of(next(invariants).operand))
            case Carried():
                facts.append(next(states))
            case Sliced():
                facts.append(_slice(run, next(slices)))
    return facts


def _iteration(param: Value) -> Fact:
    """A scalar, or one element of rank 1 where the body declares that: the runtimes obey it."""
    declared = param.declared
    shape = declared.shape if isinstance(declared, Tensor) else None
    return ITERATION_OF_RANK_1 if shape is not None and len(shape) == 1 else ITERATION


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


def _condition(run: Inference, loop: Loop) -> Fact:
    """What the body sees as its condition: true, of the rank the outer one has."""
    if loop.condition is None:
        return TRUE
    type_ = run.of(loop.condition).type
    return TRUE if isinstance(type_, Tensor) and type_.shape == () else TRUE_OF_SOME_RANK


def _condition_after(loop: Loop, condition: Fact, given: Fact) -> Fact:
    """What it is from the second iteration on; nothing certain where an omitted one turns false."""
    if loop.body.results[0] is None or condition == TRUE_OF_SOME_RANK:
        return condition
    if not isinstance(given.type, Tensor) or given.type.shape != ():
        return TRUE_OF_SOME_RANK
    if loop.condition is None and truth(given) is not True:
        return ANYTHING
    return condition


def _never_runs(run: Inference, loop: Loop, view: Ports) -> bool:
    starts = True if loop.condition is None else truth(run.of(loop.condition))
    return starts is False or _trip(run, loop, view) == 0


def _trip(run: Inference, loop: Loop, view: Ports) -> Dim:
    """The number of iterations if the condition stays true; None: not known."""
    if loop.trip is not None:
        content = run.of(loop.trip).content
        limit = content[0] if content is not None and len(content) == 1 else None
        if isinstance(limit, int):
            return max(limit, 0)
        return limit if at_least(limit, 0) else None
    lengths = [_length(run, port) for port in view.sliced]
    return reduce(merge_dims, lengths) if lengths else None


def _length(run: Inference, port: SlicedPort) -> Dim:
    type_ = run.of(port.operand).type
    shape = type_.shape if isinstance(type_, Tensor) else None
    axis = port.role.axis
    return shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None


def _trips(run: Inference, loop: Loop, view: Ports, after: Fact, place: Place) -> Dim:
    """The number of iterations: a number, an extent of the model, or a symbol of its own."""
    if _never_runs(run, loop, view):
        return 0
    first = loop.condition is None or truth(run.of(loop.condition))
    most = _trip(run, loop, view)
    stays = loop.body.results[0] is None or truth(after) is True
    return most if most is not None and first and stays else Symbol(f"{place.path}.trips")


def _end(scan: bool, trips: Dim, initial: Fact, state: Fact, given: Fact) -> Fact:
    if trips == 0:
        return initial
    if scan:
        return replace(state, type=merge_types(state.type, given.type))
    if at_least(trips, 1):
        return replace(given, type=merge_types(given.type, without_shapes(state.type)))
    return state


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
