"""Checks of the arguments of a session and its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from treadle.arguments import expect, expect_model, items_of, shown
from treadle.errors import (
    InputError,
    InputTypeError,
    LimitExceeded,
    RunError,
    Terminated,
    did_you_mean,
)
from treadle.feeds import disagreement
from treadle.ir import Type

__all__ = [
    "blamed_on_feeds",
    "expect_call",
    "expect_compile_mode",
    "expect_known",
    "expect_source",
    "listed",
    "picked",
]


def expect_known(keywords: Mapping[str, object]) -> None:
    """Raise InputTypeError for a keyword that sessions do not have."""
    known = ("enable_fallback", "disabled_optimizers")
    for name in keywords:
        if name not in known:
            hint = did_you_mean(name, ("engines", "listener", "sess_options", "providers", *known))
            raise InputTypeError(f'a session has no option "{name}", {hint}')


def expect_source(source: object, options: object) -> None:
    """Raise InputTypeError for an object that cannot be a model, and for wrong options."""
    expect_model(source)
    if options is not None and not _is_object_with(options, "intra_op_num_threads"):
        raise InputTypeError(f"sess_options is {shown(options)}, wanted SessionOptions()")


def expect_compile_mode(options: object) -> None:
    """Raise InputError for compiling in the background in a session that must be deterministic."""
    is_deterministic = getattr(options, "use_deterministic_compute", False)
    if is_deterministic and getattr(options, "compile", "") == "background":
        raise InputError(
            'compile="background" does not go with use_deterministic_compute: the engine of a call,'
            " and so the last bits of its results, would depend on when the code is ready; wanted"
            ' compile="first_run" or "eager"'
        )


def expect_call(feed: object, options: object) -> None:
    """Raise InputTypeError for feeds or run options of a wrong type."""
    if type(feed) is not dict and not isinstance(feed, Mapping):
        raise InputTypeError(f'{shown(feed)} is fed, wanted a dict: {{"name": value}}')
    if options is not None and not _is_object_with(options, "terminate"):
        raise InputTypeError(f"run_options is {shown(options)}, which is no RunOptions")


def _is_object_with(options: object, name: str) -> bool:
    return hasattr(options, name) and not isinstance(options, type)


def blamed_on_feeds(
    failure: RunError, inputs: Mapping[str, Type | None], values: Sequence[object]
) -> InputError | None:
    """An error that also reports feeds that do not fit each other; None if they do."""
    if isinstance(failure, LimitExceeded | Terminated):
        return None
    faults = disagreement(inputs, dict(zip(inputs, values, strict=True)))
    told = f"the inputs do not fit each other: {faults}; the run failed: {failure}"
    return InputError(told) if faults else None


def listed(names: Sequence[str]) -> Sequence[str]:
    """The names of outputs.

    Raises InputTypeError for a string, which is a sequence of names too.
    """
    if isinstance(names, str):
        raise InputTypeError(f'the outputs wanted are given as a list: ["{names}"]')
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        return names
    listed = items_of(names, "output_names", "a list of the names of outputs, or None")
    for name in listed:
        expect(name, str, "a name of an output", "a str")
    return listed


def picked(outputs: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    """The outputs at these positions; repeated ones are copied, so that none share memory."""
    return [
        deepcopy(outputs[index]) if index in positions[:number] else outputs[index]
        for number, index in enumerate(positions)
    ]
