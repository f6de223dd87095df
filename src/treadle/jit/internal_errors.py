"""Turns internal compiler errors into declines: a warning and `explain` report them.

This is the boundary between a region and its kernel. With `TREADLE_DEBUG=1`, which the tests set,
the exception propagates.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from treadle.boundary import is_debugging, place_of, versions
from treadle.errors import InternalCompilerWarning
from treadle.jit.kernel.declined import Declined

_FAULTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip

_warned: set[str] = set()

P = ParamSpec("P")
R = TypeVar("R")


def decline_on_internal_error(function: Callable[P, R]) -> Callable[P, R]:
    """Turn internal errors of a function into Declined, so that the next engine runs the region."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except _FAULTS as fault:
            if is_debugging() or isinstance(fault, Warning):
                raise
            what = f"{type(fault).__name__}: {fault}".rstrip(": ")
            _warn(what, place_of(fault))
            raise Declined(f"a fault of the native engine itself ({what})") from fault

    return guarded


def _warn(what: str, path: str) -> None:
    """Warn of an internal error, once for each place it comes from."""
    if path in _warned:
        return
    message = (
        f"the native compiler failed on a part of the model, which another engine runs instead:"
        f" {what} (in {path}). The answers are right, and may come later. This is a bug of"
        f" treadle: please report it with the model and this line: {versions()}"
    )
    warnings.warn(message, InternalCompilerWarning, stacklevel=2)
    _warned.add(path)  # not where a filter makes an error of it
