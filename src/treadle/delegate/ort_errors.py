"""The one border to what onnxruntime raises: there it becomes an error of ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from treadle.messages import brief, in_our_notation

_NOISE = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : |/?\S*\.(?:cc|h):\d+ ")
_PLAIN = (RuntimeError, ValueError, TypeError, IndexError, MemoryError, OverflowError)
T = TypeVar("T")


def translating_errors(question: Callable[[], T], error: Callable[[str], Exception]) -> T:
    """What onnxruntime answers; where it fails, `error` of its reason is raised.

    What it is not known to raise is a fault of ours, and passes.
    """
    try:
        return question()
    except failures() as failure:
        raise error(reason(failure)) from failure


@cache
def failures() -> tuple[type[Exception], ...]:
    """Its own exceptions, which have no base in common, and what C++'s become in Python."""
    from onnxruntime.capi import onnxruntime_pybind11_state as binding

    things = vars(binding).values()
    own = (each for each in things if isinstance(each, type) and issubclass(each, Exception))
    return (*own, *_PLAIN)


def reason(failure: Exception) -> str:
    """What onnxruntime says, without its file names, line numbers and codes."""
    text = brief(_NOISE.sub("", str(failure)))
    return f"onnxruntime: {in_our_notation(text)}"
