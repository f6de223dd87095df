"""Rules about the number of inputs and outputs of nodes and of their bodies."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.checks.rules import finding
from treadle.errors import Finding

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def counted(count: int, noun: str) -> str:
    """Write a count in words: `1 input`, `3 inputs`, `no entries`."""
    if count == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count or 'no'} {plural}"


def ordinal(position: int) -> str:
    """Write a position, counted from 0, as an ordinal: `first`, `7th`."""
    return _ORDINALS[position] if position < len(_ORDINALS) else f"{position + 1}th"


def node_inputs(
    operator: str, given: int, least: int, most: int | None, path: str
) -> list[Finding]:
    """Report a node whose number of inputs its operator does not accept.

    Absent inputs in the middle count.
    """
    if given < least:
        bound = f"{'exactly' if most == least else 'at least'} {least}"
        message = f"{operator} has {counted(given, 'input')}, it takes {bound}"
        return [finding("CF201", path, message, 'write an input that is left out as ""')]
    if most is not None and given > most:
        message = f"{operator} has {counted(given, 'input')}, it takes at most {most}"
        return [finding("CF201", path, message, "remove the others")]
    return []


def node_outputs(operator: str, given: int, path: str) -> list[Finding]:
    """Report an If, Loop or Scan without outputs: the standard requires at least one."""
    if given:
        return []
    hint = "let its bodies give a value, or remove the node"
    return [finding("CF202", path, f"{operator} has no outputs, it takes at least 1", hint)]


def body_inputs(body: str, found: int, wanted: int, of_what: str, path: str) -> list[Finding]:
    """Report a body whose number of inputs differs from the number the node passes."""
    if found == wanted:
        return []
    message = f"the {body} takes {counted(found, 'input')}, the node gives it {wanted}: {of_what}"
    return [finding("CF203", path, message, "give the body one input for each of them")]


def body_outputs(body: str, found: int, wanted: int, of_what: str, path: str) -> list[Finding]:
    """Report a body whose number of outputs differs from the number the node needs."""
    if found == wanted:
        return []
    message = f"the {body} gives {counted(found, 'output')}, the node needs {wanted}: {of_what}"
    hint = "let the body give one value for each of them"
    if found > wanted:
        hint = 'write an output of the node that is not wanted as ""'
    return [finding("CF204", path, message, hint)]


def absent_inputs(operator: str, absent: Sequence[int], first: int, path: str) -> list[Finding]:
    """Report the absent inputs from position `first` on: variadic inputs cannot be absent."""
    return [
        finding(
            "CF205",
            path,
            f'the {ordinal(position)} input of {operator} is "", it must be a value',
            "name a value, or remove the input and the body's parameter for it",
        )
        for position in absent
        if position >= first
    ]
