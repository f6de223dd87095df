"""Partitions the steps of a block into groups per engine, as large as possible.

The level of a step is the number of changes of engine on the longest path to it:

    level(s) = max(level(p) + (engine(p) != engine(s)) for p in the steps s reads from)

Steps of one engine on one level form a group. Every dependence between groups leads from a lower
level to a higher one, so the groups can run in order of level. A step that has joined others of its
engine is on the level of the first that reads it. It takes two walks over the steps.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from treadle.ir import Block, Value, reads


class Group(NamedTuple):
    """The steps that one engine runs together, by position and in order."""

    engine: str
    positions: tuple[int, ...]


def partition(block: Block, engines: Sequence[str], joined: Collection[int] = ()) -> list[Group]:
    """Partition the steps into groups in a valid order; `engines` names one engine per step.

    `joined` are the positions of steps that an engine takes only together with those reading them.
    """
    if len(set(engines)) == 1:
        return [Group(engines[0], tuple(range(len(engines))))]
    levels = _levels(block, engines)
    if joined:
        _move_late(block, engines, levels, joined)
    groups: dict[tuple[int, str], list[int]] = {}
    for position, (level, engine) in enumerate(zip(levels, engines, strict=True)):
        groups.setdefault((level, engine), []).append(position)
    ordered = sorted(groups.items(), key=lambda item: item[0][0])
    return [Group(engine, tuple(positions)) for (_, engine), positions in ordered]


def _levels(block: Block, engines: Sequence[str]) -> list[int]:
    """The level of each step."""
    made: dict[Value, tuple[int, str]] = {}
    levels = []
    for step, engine in zip(block.steps, engines, strict=True):
        before = [made[value] for value in reads(step) if value is not None and value in made]
        levels.append(max((at + (maker != engine) for at, maker in before), default=0))
        made.update((value, (levels[-1], engine)) for value in step.results if value is not None)
    return levels


def _move_late(
    block: Block, engines: Sequence[str], levels: list[int], joined: Collection[int]
) -> None:
    """Move steps that joined others to the level of the first step that reads them.

    A step that another engine reads, or that makes a result of the block, stays.
    """
    first: dict[Value, tuple[int, str]] = {
        value: (0, "") for value in block.results if value is not None
    }
    for position in reversed(range(len(levels))):
        step, engine = block.steps[position], engines[position]
        later = [first[value] for value in step.results if value is not None and value in first]
        if position in joined and later and all(reader == engine for _, reader in later):
            levels[position] = min(level for level, _ in later)
        for value in reads(step):
            if value is not None:
                level, reader = first.get(value, (levels[position], engine))
                is_same = reader == engine
                first[value] = min(level, levels[position]), engine if is_same else ""
