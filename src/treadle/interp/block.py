"""Runs a block: its values lie in slots, each step reads and writes them in order.

slots = constants; slots[params] = arguments
for step in steps: step(slots)
return slots[results]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from treadle.interp.frame import Action, Frame, Slots
from treadle.ir import Value
from treadle.plan import BlockPlan, Region
from treadle.tracing import ValueMade

ABSENT = 0
"""The slot that holds None: where an operand is left out."""


class SlotsOf:
    """Which slot each value of one block has."""

    def __init__(self) -> None:
        self._slots: dict[Value, int] = {}

    def __len__(self) -> int:
        return len(self._slots) + 1

    def of(self, value: Value | None) -> int:
        """The slot of a value, given when it is first asked for."""
        return ABSENT if value is None else self._slots.setdefault(value, len(self._slots) + 1)

    def all(self, values: Iterable[Value | None]) -> tuple[int, ...]:
        """The slots of several values."""
        return tuple(self.of(value) for value in values)


@dataclass(frozen=True, slots=True)
class Done:
    """One action and what follows it: values to tell a listener of, slots nothing reads again."""

    act: Action
    path: str
    made: tuple[tuple[int, str], ...]
    dead: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class BlockProgram:
    """A block ready to run, by several threads at once."""

    path: str
    template: tuple[object, ...]
    given: tuple[tuple[int, str], ...]
    constants: tuple[tuple[int, str], ...]
    actions: tuple[Done, ...]
    results: tuple[int, ...]

    def __call__(self, arguments: Sequence[object], frame: Frame) -> list[object]:
        """The block's results for these arguments, one per parameter."""
        slots: Slots = list(self.template)
        for (slot, _), argument in zip(self.given, arguments, strict=True):
            slots[slot] = argument
        context = frame.context
        watched = context.listener is not None
        if watched:
            self._tell(slots, frame, self.path, "", (*self.given, *self.constants))
        bounded = context.options is not None or context.limits.seconds is not None
        for done in self.actions:
            if bounded:
                context.poll(done.path, frame.iterations)
            done.act(slots, frame)
            if watched:
                self._tell(slots, frame, self.path, done.path, done.made)
            for slot in done.dead:
                slots[slot] = None
        return [slots[slot] for slot in self.results]

    def _tell(
        self,
        slots: Slots,
        frame: Frame,
        path: str,
        step: str,
        values: Iterable[tuple[int, str]],
    ) -> None:
        listener = frame.context.listener
        assert listener is not None
        for slot, name in values:
            listener(ValueMade(path, frame.iterations, name, slots[slot], step))


Part = tuple[Action, str, tuple[Value | None, ...], tuple[Value | None, ...]]
"""An action, its path, what it reads and what it makes."""

Compile = Callable[[Region, str, SlotsOf], Iterable[Part]]


def program(plan: BlockPlan, compile_region: Compile) -> BlockProgram:
    """The block of a plan, ready to run."""
    block, slots = plan.block, SlotsOf()
    given = tuple((slots.of(value), value.name) for value in block.params)
    arrays = {slots.of(constant.value): constant.array for constant in block.constants}
    constants = tuple((slots.of(c.value), c.value.name) for c in block.constants)
    parts = [part for region in plan.regions for part in compile_region(region, plan.path, slots)]
    results = slots.all(block.results)
    dead = _dead(parts, slots, {*results, *arrays, ABSENT}, [slot for slot, _ in given])
    actions = tuple(
        Done(act, path, tuple((slots.of(v), v.name) for v in made if v is not None), last)
        for (act, path, _, made), last in zip(parts, dead, strict=True)
    )
    template = tuple(arrays.get(slot) for slot in range(len(slots)))
    return BlockProgram(plan.path, template, given, constants, actions, results)


def _dead(
    parts: Sequence[Part], slots: SlotsOf, kept: set[int], given: Sequence[int]
) -> list[tuple[int, ...]]:
    """After each part, the slots that nothing reads any more."""
    last = dict.fromkeys(given, 0)
    for position, (_, _, read, made) in enumerate(parts):
        for slot in (*slots.all(read), *slots.all(made)):
            last[slot] = position
    dead: list[list[int]] = [[] for _ in parts]
    for slot, position in last.items():
        if slot not in kept and parts:
            dead[position].append(slot)
    return [tuple(each) for each in dead]
