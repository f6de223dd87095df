"""The results of rewriting functions, and checks of their common arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle import formats
from treadle.arguments import expect, items_of
from treadle.errors import InputError
from treadle.ir import Call, Function, Leaf, Model, Type
from treadle.passes import Report

Rewritten = Model | tuple[Model, Report]


def given(result: tuple[Model, Report], with_report: bool) -> Rewritten:
    """The result of a rewriting function: the model, and the report if it was asked for."""
    expect(with_report, bool, "with_report", "True or False")
    return result if with_report else result[0]


def expect_count(value: Any, what: str, least: int) -> None:
    """Raise InputError unless it is None or an integer of at least `least`."""
    if value is None:
        return
    expect(value, int, what, "a whole number")
    if value < least:
        raise InputError(f"{what} is {value}, wanted {least} or more")


def globs_of(globs: Any, what: str) -> tuple[str, ...]:
    """One glob or several; raises InputTypeError for anything else."""
    if isinstance(globs, str):
        return (globs,)
    found = tuple(items_of(globs, what, "a glob over paths, or a list of them"))
    for each in found:
        expect(each, str, f"an entry of {what}", "a glob over paths")
    return found


def standard_function(step: Leaf | Call, types: Sequence[Type | None]) -> Function | None:
    """The function by which the standard defines a step of this version."""
    return formats.schema_function(step, types, {"": step.version})
