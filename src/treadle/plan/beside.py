"""Small steps beside a loop go to the loop's engine, so that a run calls it once.

    made = the steps an engine takes for themselves
    until nothing joins:
        a step it takes beside them joins where
            all that read it are among them, or
            all it reads is made by them or before the block, and something by them

A step whose operands are all made before the block joins no loop by what it reads. Where more than
256 would join, which take a second to compile, none does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from treadle.ir import Block, Step, Value, reads

_MOST = 256


def joining(block: Block, own: Collection[int], beside: Collection[int]) -> set[int]:
    """The positions in `beside` that join the steps at `own`."""
    makers = {value: k for k, step in enumerate(block.steps) for value in step.results if value}
    readers = _readers(block)
    taken = set(own)
    forwards = sorted(beside)
    for joins, positions in (
        (partial(_leads, readers), forwards[::-1]),
        (partial(_follows, block, makers), forwards),
        (partial(_leads, readers), forwards[::-1]),
    ):
        for position in positions:
            if joins(block.steps[position], taken):
                taken.add(position)
    joined = taken.difference(own)
    return joined if len(joined) <= _MOST else set()


def _readers(block: Block) -> Mapping[Value, Sequence[int]]:
    """Who reads each value; -1 stands for the results of the block."""
    readers: dict[Value, list[int]] = {}
    for position, step in enumerate(block.steps):
        for value in reads(step):
            if value is not None:
                readers.setdefault(value, []).append(position)
    for value in block.results:
        if value is not None:
            readers.setdefault(value, []).append(-1)
    return readers


def _leads(readers: Mapping[Value, Sequence[int]], step: Step, taken: set[int]) -> bool:
    """Whether only the taken steps read what it makes."""
    found = {k for value in step.results if value is not None for k in readers.get(value, ())}
    return bool(found) and found <= taken


def _follows(block: Block, makers: Mapping[Value, int], step: Step, taken: set[int]) -> bool:
    """Whether all it reads is made by the taken steps, by steps that read nothing, or before."""
    found = {makers[value] for value in reads(step) if value is not None and value in makers}
    others = found - taken
    return others < found and not any(any(reads(block.steps[k])) for k in others)
