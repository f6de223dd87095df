"""Partitions the steps of a block into groups per engine, as large as possible.

The level of a step is the number of changes of engine on the longest path to it:

    level(s) = max(level(p) + (engine(p) != engine(s)) for p in the steps s reads from)

Steps of one engine on one level form a group. Every dependence between groups leads from a lower
level to a higher one, so the groups can run in order of level. It takes one walk over the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from treadle.ir import Block, Value, reads


class Group(NamedTuple):
    """The steps that one engine runs together, by position and in order."""

    engine: str
    positions: tuple[int, ...]


def partition(block: Block, engines: Sequence[str]) -> list[Group]:
    """Partition the steps into groups in a valid order; `engines` names one engine per step."""
    if len(set(engines)) == 1:
        return [Group(engines[0], tuple(range(len(engines))))]
    made: dict[Value, tuple[int, str]] = {}
    groups: dict[tuple[int, str], list[int]] = {}
    for position, (step, engine) in enumerate(zip(block.steps, engines, strict=True)):
        before = [made[value] for value in reads(step) if value is not None and value in made]
        level = max((at + (maker != engine) for at, maker in before), default=0)
        made.update((value, (level, engine)) for value in step.results if value is not None)
        groups.setdefault((level, engine), []).append(position)
    ordered = sorted(groups.items(), key=lambda item: item[0][0])
    return [Group(engine, tuple(positions)) for (_, engine), positions in ordered]
