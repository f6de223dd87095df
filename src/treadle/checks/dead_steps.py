"""Advice on steps whose results nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.ir import Block, Value, reads, step_path

_SHOWN = 4


def used_values(block: Block) -> set[Value]:
    """The values of the block that a step reads or that the block returns."""
    used = {value for step in block.steps for value in reads(step) if value is not None}
    return used | {value for value in block.results if value is not None}


def findings(block: Block, path: str) -> Iterator[Finding]:
    """Report all dead steps of the block in one finding, the last step of a chain first."""
    live = {value for value in block.results if value is not None}
    dead = []
    for position, step in reversed(list(enumerate(block.steps))):
        if any(value in live for value in step.results):
            live |= {value for value in reads(step) if value is not None}
        else:
            dead.append(step_path(path, step, position).rpartition("/")[2])
    if dead:
        more = f" and {len(dead) - _SHOWN} more" if len(dead) > _SHOWN else ""
        message = f"nothing reads the results of {', '.join(dead[:_SHOWN])}{more}"
        yield finding("CF107", path, message, "remove what is not needed")
