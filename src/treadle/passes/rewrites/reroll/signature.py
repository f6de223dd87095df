"""The signature of a step of an open block: equal where two steps differ only in what they read.

    loop(i, s): Add(s, w)      and      loop(k, t): Add(t, v)      equal; they read w and v

The bodies of a loop or branch are part of it, with values numbered in order; values from outside
are operands of the step, in the order in which the bodies read them first.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace

from treadle.ir import (
    Block,
    Branch,
    Leaf,
    Literal,
    Loop,
    Operands,
    Step,
    Value,
    bodies,
    map_bodies,
    reads,
)
from treadle.ops import RANDOM
from treadle.passes.erase_symbols import erase_symbols
from treadle.passes.simplify.captures import replaced
from treadle.passes.simplify.cse import attributes_key


class _Unlike(Exception):
    """The step is equal to no other one."""


def signature(step: Step) -> Hashable | None:
    """What equal steps have in common; None for a step that is equal to no other one."""
    try:
        return _Numbers().step(step)
    except _Unlike:
        return None


def all_reads(step: Step) -> Operands:
    """What the step reads in its own block, then what its bodies read of outer blocks."""
    if isinstance(step, Leaf):
        return step.operands
    numbers = _Numbers()
    numbers.bodies(step)
    return (*reads(step), *numbers.outer)


def reading(step: Step, values: Operands) -> Step:
    """The step with other values in place of those that `all_reads` gives."""
    if isinstance(step, Leaf):
        return replace(step, operands=values)
    own = len(reads(step))
    outer = all_reads(step)[own:]
    pairs = zip(outer, values[own:], strict=True)
    by = {old: new for old, new in pairs if old is not None and new is not old}
    step = map_bodies(step, lambda _, body: replaced(body, by))
    if isinstance(step, Branch):
        condition, *rest = values[:own]
        assert condition is not None, "a Branch has a condition"
        return replace(step, condition=condition, operands=tuple(rest))
    assert isinstance(step, Loop), "calls have no signature"
    trip, condition, *rest = values[:own]
    return replace(step, trip=trip, condition=condition, operands=tuple(rest))


class _Numbers:
    """Numbers values in the order in which they are met; those of outer blocks are `outer`."""

    def __init__(self) -> None:
        self._own: dict[Value, int] = {}
        self._outer: dict[Value, int] = {}

    @property
    def outer(self) -> tuple[Value, ...]:
        """The values of outer blocks, as the bodies read them first."""
        return tuple(self._outer)

    def step(self, step: Step) -> Hashable:
        """The signature of a step without what it reads in its own block."""
        results = tuple(value is not None for value in step.results)
        read = tuple(value is not None for value in reads(step))
        match step:
            case Leaf(blocks=blocks, domain=domain, op=op) if not blocks:
                attributes = attributes_key(step.attributes)
                if attributes is None or (not domain and op in RANDOM):
                    raise _Unlike
                return (domain, op, step.version, attributes, read, len(results))
            case Loop():
                kind = (step.info.op, step.info.version, step.roles, step.stacks, step.fixed_state)
                return (kind, read, results, self.bodies(step))
            case Branch():
                return (step.info.version, read, results, self.bodies(step))
        raise _Unlike

    def bodies(self, step: Step) -> Hashable:
        """The signatures of the bodies of a step."""
        return tuple(self._block(body) for _, body in bodies(step))

    def _block(self, block: Block) -> Hashable:
        self._define(block.params)
        self._define(constant.value for constant in block.constants)
        constants = []
        for constant in block.constants:
            if not isinstance(constant.data, Literal):
                raise _Unlike
            array = constant.array
            constants.append((array.dtype.str, array.shape, array.tobytes()))
        steps = []
        for step in block.steps:
            read = tuple(map(self._number, reads(step)))
            steps.append((self.step(step), read))
            self._define(step.results)
        results = tuple(map(self._number, block.results))
        declared = tuple(str(erase_symbols(value.declared)) for value in block.params)
        claims = tuple(str(erase_symbols(claim.type)) for claim in block.claims)
        return (tuple(constants), tuple(steps), results, declared, claims)

    def _define(self, values: Iterable[Value | None]) -> None:
        for value in values:
            if value is not None:
                self._own.setdefault(value, len(self._own))

    def _number(self, value: Value | None) -> int | None:
        if value is None:
            return None
        if value in self._own:
            return self._own[value]
        return -1 - self._outer.setdefault(value, len(self._outer))
