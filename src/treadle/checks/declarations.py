"""Rules about declared types that contradict the types of the values."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from treadle.checks.rules import finding
from treadle.checks.types import kinds_contradict, shapes_contradict
from treadle.errors import Finding
from treadle.ir import Block, Type, Value, show_type


def findings(block: Block, path: str, given: Collection[Value] = ()) -> Iterator[Finding]:
    """Report each value of the block whose declared type contradicts its inferred type.

    Params, the results of steps and, a second time, the block's own results can be declared.
    `given` holds the iteration number and the conditions of a loop: they have one element and may
    be declared with any rank.
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
        yield finding("CF303", path, _message(value, claim), "declare the right type, or none")
    elif shapes_contradict(claim, value.inferred):
        hint = "declare the right type or none: readers ignore this one"
        yield finding("CF304", path, _message(value, claim), hint)


def _message(value: Value, claim: Type) -> str:
    return f"{value.name} is declared {show_type(claim)}, it is {show_type(value.inferred)}"
