"""What every rewriting function gives back, and the arguments that several take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from treadle import formats
from treadle.arguments import expect
from treadle.errors import InputError
from treadle.ir import Call, Function, Leaf, Model, Type
from treadle.passes import Report

Rewritten = Model | tuple[Model, Report]


def given(result: tuple[Model, Report], with_report: bool) -> Rewritten:
    """What a rewriting function returns: the model, and the report where it was asked for."""
    expect(with_report, bool, "with_report", "True or False")
    return result if with_report else result[0]


def expect_count(value: Any, what: str, least: int) -> None:
    """Raise InputError for what is no whole number from `least` on; None is none given."""
    if value is None:
        return
    expect(value, int, what, "a whole number")
    if value < least:
        raise InputError(f"{what} is {value}, wanted {least} or more")


def globs_of(globs: Any, what: str) -> tuple[str, ...]:
    """One glob or several; InputTypeError for what is neither."""
    if isinstance(globs, str):
        return (globs,)
    expect(globs, Iterable, what, "a glob over paths, or a list of them")
    found = tuple(globs)
    for each in found:
        expect(each, str, f"an entry of {what}", "a glob over paths")
    return found


def standard_function(step: Leaf | Call, types: Sequence[Type | None]) -> Function | None:
    """The function the standard defines a step of this version by."""
    return formats.schema_function(step, types, {"": step.version})
