"""The state of rewriting one block: its targets, and the steps written so far."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from treadle.ir import Block, Declaration, Value
from treadle.passes.exposing.collect import Slot, Slots, State
from treadle.passes.exposing.targets import Target
from treadle.passes.exposing.writer import Writer


@dataclass(frozen=True, slots=True)
class Wanted:
    """The targets by the path of their block: those of a block itself, and those in or below it."""

    here: Mapping[str, Sequence[Target]]
    below: Mapping[str, Sequence[Target]]
    capacity: int
    asked: frozenset[tuple[str, str]]

    @classmethod
    def of(
        cls, found: Sequence[Target], outer: Mapping[Target, Iterable[str]], capacity: int
    ) -> Wanted:
        """The targets, each with the paths of the blocks around its own."""
        here: dict[str, list[Target]] = {}
        below: dict[str, list[Target]] = {}
        for target in found:
            here.setdefault(target.path, []).append(target)
            for path in (target.path, *outer[target]):
                below.setdefault(path, []).append(target)
        asked = frozenset((target.path, target.step) for target in found if target.extra)
        return cls(here, below, capacity, asked)

    def slots(self, *paths: str) -> list[Slot]:
        """The slots of all targets in or below the blocks."""
        targets = [target for path in paths for target in self.below.get(path, ())]
        return list(dict.fromkeys(s for t in targets for s in Slots.of(t).by_kind.values()))

    def asks(self, path: str, step: str) -> bool:
        """Whether an extra of the loop or branch `step` of the block itself is a target."""
        return (path, step) in self.asked


@dataclass(slots=True)
class Inside:
    """A block under rewriting.

    `clocks` are the iteration numbers of the enclosing loops, as values of the block; `state` holds
    the current slots; `tensors` the targets in tensor form, and `extras` the extras of steps, as
    values.
    """

    path: str
    wanted: Wanted
    writer: Writer
    clocks: Sequence[Value] = ()
    state: State = field(default_factory=dict)
    tensors: dict[Target, Value] = field(default_factory=dict)
    extras: dict[tuple[str, str], Value] = field(default_factory=dict)

    def body(self, name: str, clocks: Sequence[Value], slots: Iterable[Slot]) -> Inside:
        """A body inside it, at the path `name`, with values of its own."""
        inner = self.writer.inner()
        state = {slot: inner.value(f"exposed_{slot.kind}") for slot in slots}
        return Inside(name, self.wanted, inner, clocks, state)

    def finished(
        self, block: Block, params: Iterable[Value], results: Iterable[Value | None]
    ) -> Block:
        """The block with the written steps, additional params, and all results."""
        given = tuple(results)
        said = dict(zip(block.results, block.claims, strict=False))
        return replace(
            block,
            params=(*block.params, *params),
            constants=(*block.constants, *self.writer.constants),
            steps=tuple(self.writer.steps),
            results=given,
            claims=tuple(said.get(value, Declaration()) for value in given) if said else (),
        )


def own_result(writer: Writer, value: Value, taken: Container[Value | None]) -> Value:
    """The value as a result defined by a step: copied if it is a param, or a result already.

    Runtimes answer wrongly if a body returns a parameter, or a value twice.
    """
    return value if value in writer.made and value not in taken else writer.leaf("Identity", value)
