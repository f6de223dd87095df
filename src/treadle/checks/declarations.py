"""Declarations of a file that contradict what is known of its values."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from treadle.checks.rules import finding
from treadle.checks.types import kinds_contradict, shapes_contradict
from treadle.errors import Finding
from treadle.ir import Block, Type, Value, show_type


def findings(block: Block, path: str, given: Collection[Value] = ()) -> Iterator[Finding]:
    """One finding for each value of the block that is declared as what it is not.

    Declared are its params, its steps' results and, once more, its own results. `given` are the
    iteration number and the conditions of a loop: their one element may be declared with any rank.
    """
    made = (value for step in block.steps for value in step.results)
    for value in (*block.params, *made):
        if value is not None and value not in given:
            yield from _claim(value, value.declared, path)
    for result, claim in zip(block.results, block.claims, strict=False):
        if result is not None and result not in given and claim.type != result.declared:
            yield from _claim(result, claim.type, path)


def _claim(value: Value, claim: Type | None, path: str) -> Iterator[Finding]:
    if claim is None or claim == value.inferred:
        return
    if kinds_contradict(claim, value.inferred):
        yield finding("CF303", path, _message(value, claim), "declare what it is, or nothing")
    elif shapes_contradict(claim, value.inferred):
        hint = "declare what it is, or nothing: nobody believes it"
        yield finding("CF304", path, _message(value, claim), hint)


def _message(value: Value, claim: Type) -> str:
    return f"{value.name} is declared {show_type(claim)}, it is {show_type(value.inferred)}"
