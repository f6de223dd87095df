"""Translates onnxruntime's exceptions into treadle's errors, in one place."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from treadle.messages import brief, in_our_notation

_NOISE = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : |(?<!\S)\S*\.(?:cc|h):\d+ ")
_PLAIN = (RuntimeError, ValueError, TypeError, IndexError, MemoryError, OverflowError)
T = TypeVar("T")


def translating_errors(question: Callable[[], T], error: Callable[[str], Exception]) -> T:
    """Raise `error` with onnxruntime's reason if the block fails in onnxruntime.

    Exceptions that onnxruntime is not known to raise are bugs of ours, and propagate.
    """
    try:
        return question()
    except failures() as failure:
        raise error(reason(failure)) from failure


@cache
def failures() -> tuple[type[Exception], ...]:
    """Onnxruntime's own exceptions, which have no common base, and Python's for C++ errors."""
    from onnxruntime.capi import onnxruntime_pybind11_state as binding

    things = vars(binding).values()
    own = (each for each in things if isinstance(each, type) and issubclass(each, Exception))
    return (*own, *_PLAIN)


def reason(failure: Exception) -> str:
    """Onnxruntime's message, without its file names, line numbers and codes."""
    text = brief(_NOISE.sub("", str(failure)))
    return f"onnxruntime: {in_our_notation(text)}"
