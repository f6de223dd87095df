"""Which values decide whether a loop ends: a loop that nothing else bounds must not round them.

    loop(s):  o = s + 1 / 2^i;  goes on while o < 2         in float16 o stops growing below 2

A loop with a trip count ends in any element type, so its values may be rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treadle.infer import IncrementalInference, array_of
from treadle.ir import Block, Leaf, Loop, Value, ports, reads, step_path, walk_block

_ENDLESS = 2**31
"""A bound of this number of iterations counts as no bound."""


@dataclass(frozen=True, slots=True)
class Deciding:
    """The path of a loop, the values of it that decide its end, and the steps with bodies there."""

    path: str
    values: frozenset[Value]
    paths: frozenset[str]


def deciding(main: Block, facts: IncrementalInference) -> Iterator[Deciding]:
    """The loops of a block and its bodies that end by their condition alone."""
    for visit in walk_block(main):
        loop = visit.step
        if not isinstance(loop, Loop) or ports(loop).sliced:
            continue
        trip = None if loop.trip is None else array_of(facts.fact(loop.trip))
        bounded = loop.trip is not None and (trip is None or int(trip.reshape(-1)[0]) < _ENDLESS)
        if not bounded and ports(loop).next_condition is not None:
            yield _chain(loop, visit.path)


def _chain(loop: Loop, path: str) -> Deciding:
    """All that the next condition is computed from, in this iteration and in those before."""
    steps = list(enumerate(loop.body.steps))
    made = {value: (step, k) for k, step in steps for value in step.results if value is not None}
    carried = {port.param: port for port in ports(loop).carried}
    seen: set[Value] = set()
    inner: set[str] = set()
    waiting = [ports(loop).next_condition]
    while waiting:
        value = waiting.pop()
        if value is None or value in seen:
            continue
        seen.add(value)
        if value in carried:
            waiting.append(carried[value].next)
        if value in made:
            step, position = made[value]
            waiting += reads(step)
            seen.update(result for result in step.results if result is not None)
            if not isinstance(step, Leaf) or step.blocks:
                inner.add(step_path(f"{path}.body", step, position))
    return Deciding(path, frozenset(seen), frozenset(inner))
