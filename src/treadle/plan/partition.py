"""Gathers the steps of a block that one engine takes into groups as large as possible.

The level of a step counts the changes of engine on the longest way to it:

    level(s) = max(level(p) + (engine(p) != engine(s)) for p in what s reads from)

Steps of one engine on one level form a group. Whatever joins two groups leads from a lower level to
a higher one, so the groups in order of level can run one after the other, and a step moves past all
those it does not depend on. One walk over the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from treadle.ir import Block, Value, reads


class Group(NamedTuple):
    """The steps, by position and in order, that one engine runs together."""

    engine: str
    positions: tuple[int, ...]


def partition(block: Block, engines: Sequence[str]) -> list[Group]:
    """The groups in an order in which they can run; `engines` names one engine for each step."""
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
