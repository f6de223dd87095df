"""The one loop form: ONNX Loop and Scan, OpenVINO Loop and TensorIterator.

    i, go = 0, condition is None or condition
    while go and i < trip:                 # no trip: the length of the sliced, else endless
        go, *carried, *elements = body(i, go, *invariants, *carried, *(s[i] for s in sliced))
        stacked.append(elements); i += 1
    results = *carried, *stack(stacked)

A body's results replace the carried values all at once, when it has given all of them, so values
may be swapped, and no value is ever written to in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from treadle.errors import RunError
from treadle.infer import is_scan
from treadle.interp.block import BlockProgram, SlotsOf
from treadle.interp.carried import CarriedRule
from treadle.interp.frame import Action, Frame, Slots, size_of
from treadle.interp.scalar import condition, trip_count
from treadle.interp.sliced import SlicedRule, common_length
from treadle.interp.stacked import Stack, StackedRule
from treadle.ir import (
    Carried,
    Condition,
    Invariant,
    Iteration,
    Loop,
    Ports,
    Shape,
    Sliced,
    Symbol,
    Tensor,
    Type,
    ports,
)
from treadle.tracing import IterationStarted, LoopEnded, LoopStarted


@dataclass(frozen=True, eq=False, slots=True)
class LoopProgram:
    """A loop ready to run: slots of what it reads, rules by role, its body."""

    path: str
    body: BlockProgram
    arrange: Callable[[Arguments], list[object]]
    trip: int
    condition: int
    invariants: tuple[int, ...]
    initial: tuple[int, ...]
    sources: tuple[int, ...]
    carried: tuple[CarriedRule, ...]
    sliced: tuple[SlicedRule, ...]
    stacked: tuple[StackedRule, ...]
    shapes: tuple[Shape, ...]
    has_trip: bool
    has_condition: bool
    gives_condition: bool


@dataclass(frozen=True, slots=True)
class Arguments:
    """What one iteration hands to the body."""

    iteration: int
    invariants: Sequence[object]
    carried: Sequence[object]
    items: Sequence[np.ndarray]


def compile_loop(step: Loop, path: str, slots: SlotsOf, body: BlockProgram) -> Action:
    """The action of a Loop over its prepared body."""
    view = ports(step)
    loop = LoopProgram(
        path,
        body,
        _arrangement(step),
        slots.of(step.trip),
        slots.of(step.condition),
        slots.all(port.operand for port in view.invariants),
        slots.all(port.initial for port in view.carried),
        slots.all(port.operand for port in view.sliced),
        tuple(CarriedRule(port.param.name, is_scan(step)) for port in view.carried),
        tuple(
            SlicedRule(port.operand.name if port.operand else port.param.name, port.role)
            for port in view.sliced
        ),
        _stacked_rules(step, view),
        _shapes(view),
        step.trip is not None,
        step.condition is not None,
        view.next_condition is not None,
    )
    results = slots.all(step.results)

    def act(values: Slots, frame: Frame) -> None:
        for slot, value in zip(results, run(loop, values, frame), strict=True):
            if slot:
                values[slot] = value

    return act


def run(loop: LoopProgram, values: Slots, frame: Frame) -> list[object]:
    """Run the loop; its results: last carried values, then stacked ones."""
    path, context = loop.path, frame.context
    invariants = [values[slot] for slot in loop.invariants]
    carried = [values[slot] for slot in loop.initial]
    items = [
        rule.items(values[slot], path, frame)
        for rule, slot in zip(loop.sliced, loop.sources, strict=True)
    ]
    trip = _trip(loop, values, items, frame)
    go = True
    if loop.has_condition:
        go = condition(values[loop.condition], "the condition", path, frame)
    stacks = [Stack(rule) for rule in loop.stacked]
    if context.listener is not None:
        context.listener(LoopStarted(path, frame.iterations, trip))
    iteration = 0
    while go and (trip is None or iteration < trip):
        inner = frame.within(iteration, _held(loop, carried, stacks, frame))
        context.iteration(path, inner.iterations)
        if context.listener is not None:
            context.listener(IterationStarted(path, inner.iterations))
        given = loop.body(loop.arrange(Arguments(iteration, invariants, carried, items)), inner)
        go = not loop.gives_condition or condition(given[0], "the next condition", path, inner)
        carried = _next_carried(loop, carried, given[1:], inner)
        for stack, element in zip(stacks, given[1 + len(carried) :], strict=True):
            stack.push(element, path, inner)
        iteration += 1
    if context.listener is not None:
        context.listener(
            LoopEnded(path, frame.iterations, iteration, "trip" if go else "condition")
        )
    extents = {} if iteration else _extents(loop, [*invariants, *carried], items)
    return [*carried, *(stack.result(extents, path, frame) for stack in stacks)]


def _shapes(view: Ports) -> tuple[Shape, ...]:
    """What inference found of the invariant, the carried and the sliced parameters."""
    params = [port.param for port in view.invariants]
    params += [port.param for port in view.carried]
    params += [port.param for port in view.sliced]
    types = (param.inferred for param in params)
    return tuple((type_.shape or ()) if isinstance(type_, Tensor) else () for type_ in types)


def _extents(
    loop: LoopProgram, outer: Sequence[object], items: Sequence[np.ndarray]
) -> dict[str, int]:
    """The extents of the symbols in the shapes of a Scan's parameters.

    `outer` are its invariants and initial states. Those of a Loop stay unknown, and so 0: its
    carried values may change their shape.
    """
    if not items:
        return {}
    started = [value.shape if isinstance(value, np.ndarray) else () for value in outer]
    found = [*started, *(each.shape[1:] for each in items)]
    return {
        dim.name: extent
        for shape, actual in zip(loop.shapes, found, strict=True)
        if len(shape) == len(actual)
        for dim, extent in zip(shape, actual, strict=True)
        if isinstance(dim, Symbol)
    }


def _trip(
    loop: LoopProgram, values: Slots, items: Sequence[np.ndarray], frame: Frame
) -> int | None:
    length = common_length(loop.sliced, items, loop.path, frame) if items else None
    if not loop.has_trip:
        return length
    trip = trip_count(values[loop.trip], loop.path, frame)
    if length is not None and length < trip:
        reason = f"the trip count is {trip}, the scanned inputs have {length} items"
        raise RunError(reason, loop.path, frame.iterations)
    return trip


def _next_carried(
    loop: LoopProgram, carried: Sequence[object], given: Sequence[object], frame: Frame
) -> list[object]:
    new = list(given[: len(carried)])
    for rule, old, value in zip(loop.carried, carried, new, strict=True):
        if value is not old:
            rule.check(old, value, loop.path, frame)
    return new


def _held(
    loop: LoopProgram, carried: Sequence[object], stacks: Sequence[Stack], frame: Frame
) -> int:
    if frame.context.limits.bytes is None:
        return 0
    stacked = sum(s.elements[0].nbytes * len(s.elements) for s in stacks if s.elements)
    held = frame.held + size_of(carried) + stacked
    frame.context.hold(held, loop.path, frame.iterations)
    return held


def _arrangement(step: Loop) -> Callable[[Arguments], list[object]]:
    """The function that puts one iteration's values in the order of the body's params."""
    counts = {Invariant: 0, Carried: 0, Sliced: 0}
    picks: list[Callable[[Arguments], object]] = []
    for role in step.roles:
        kind = type(role)
        position = counts.get(kind, 0)
        picks.append(_PICKS[kind](position))
        if kind in counts:
            counts[kind] += 1

    def arrange(given: Arguments) -> list[object]:
        return [pick(given) for pick in picks]

    return arrange


_PICKS: dict[type, Callable[[int], Callable[[Arguments], object]]] = {
    Iteration: lambda _: lambda given: np.array(given.iteration, np.int64),
    Condition: lambda _: lambda given: np.array(True),
    Invariant: lambda k: lambda given: given.invariants[k],
    Carried: lambda k: lambda given: given.carried[k],
    Sliced: lambda k: lambda given: given.items[k][given.iteration, ...],
}


def _stacked_rules(step: Loop, view: Ports) -> tuple[StackedRule, ...]:
    claims = step.body.claims[1 + len(view.carried) :]
    rules = []
    for position, port in enumerate(view.stacked):
        claimed: Type | None = claims[position].type if claims else None
        known = port.element.type if port.element is not None else None
        rules.append(
            StackedRule(
                port.element.name if port.element else "",
                port.result.name if port.result else "",
                port.role,
                known if known is not None else claimed,
            )
        )
    return tuple(rules)
