"""A fault of the compiler itself: another engine runs the region, and explain says why.

The border between a region and its kernel; tests set `tells_all` and see the fault as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

from treadle.jit.nodes import Declined

_FAULTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip


@dataclass(slots=True)
class Faults:
    """What becomes of faults: `tells_all` leaves them as they are."""

    tells_all: bool = False


FAULTS = Faults()
P = ParamSpec("P")
R = TypeVar("R")


def declining(function: Callable[P, R]) -> Callable[P, R]:
    """The function, a fault of which is Declined, so that the next engine runs the region."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except _FAULTS as fault:
            if FAULTS.tells_all:
                raise
            what = f"{type(fault).__name__}: {fault}".rstrip(": ")
            raise Declined(f"a fault of the native engine itself ({what})") from fault

    return guarded
