"""Finds the carried values that are caches: each iteration appends the same number of items.

loop(c): ... Concat(c, new, axis) ...   gives it     ->     Cache(axis, items of new)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.ir import CarriedPort, Dim, Leaf, Loop, Step, Value, ports
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.operators import attribute

_OF_TWO = 2


@dataclass(frozen=True, slots=True)
class Cache:
    """A carried value that grows along `axis` by `items` in every iteration.

    `length` is its extent before the loop as far as that is certain.
    """

    port: CarriedPort
    concat: Leaf
    new: Value
    axis: int
    rank: int
    items: int
    length: Dim


def grows(step: Step) -> bool:
    """Whether the step is a loop with a carried value that a Concat extends."""
    return isinstance(step, Loop) and bool(_growing(step))


def _growing(loop: Loop) -> Sequence[tuple[CarriedPort, Leaf]]:
    made = {value: step for step in loop.body.steps for value in step.results if value is not None}
    found = []
    for port in ports(loop).carried:
        maker = made.get(port.next) if port.next is not None else None
        if not isinstance(maker, Leaf) or maker.domain or maker.op != "Concat":
            continue
        if len(maker.operands) == _OF_TWO and maker.operands[0] is port.param:
            found.append((port, maker))
    return found


def caches_of(loop: Loop, at: PassContext) -> Sequence[Cache | str]:
    """The caches of a loop; or why a growing value is not one."""
    return [_cache(port, concat, at) for port, concat in _growing(loop)]


def _cache(port: CarriedPort, concat: Leaf, at: PassContext) -> Cache | str:
    name, new = port.param.name, concat.operands[1]
    shape, axis = at.shape(new), attribute(concat, "axis", 0)
    assert isinstance(axis, int)
    if new is None or shape is None or port.initial is None:
        return f"the rank of the items appended to {name} is not known"
    items = shape[axis]
    if not isinstance(items, int) or items < 1:
        return f"the number of items appended to {name} is not known, or not constant"
    first = at.shape(port.initial)
    length = first[axis] if first is not None and len(first) == len(shape) else None
    others = [dim for k, dim in enumerate(shape) if k != axis % len(shape)]
    if first is None or any(dim is None for dim in others):
        return f"the extents of {name} are not known"
    return Cache(port, concat, new, axis % len(shape), len(shape), items, length)
