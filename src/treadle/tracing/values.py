"""Prints run-time values briefly, and measures their memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.ir import show_array

_SHOWN = 8
_EDGE = 3
_DIGITS = 4


def show_value(value: object) -> str:
    """The value on one line: `float32[2,3] [[0, 0.5, 1], [2, 3, 4]]`, `seq of 2: ...`, `absent`."""
    if isinstance(value, np.ndarray):
        return f"{show_array(value)} {_elements(value)}"
    if isinstance(value, list):
        more = ["..."] if len(value) > _EDGE else []
        items = "; ".join([*map(show_value, value[:_EDGE]), *more])
        return f"seq of {len(value)}{': ' if value else ''}{items}"
    return "absent" if value is None else str(value)


def size_of(value: Any) -> int:
    """The bytes of a run-time value; a string counts one per character."""
    if isinstance(value, np.ndarray):
        return value.nbytes + (sum(map(len, value.flat)) if value.dtype == object else 0)
    if isinstance(value, list):
        return sum(map(size_of, value))
    return 0


def _elements(array: np.ndarray) -> str:
    if array.size > _SHOWN:
        first = ", ".join(map(_element, array.flat[:_EDGE]))
        return f"{first}, ... {_element(array.flat[-1])}"
    return _nested(array.tolist() if array.dtype == object else array)


def _nested(part: Any) -> str:
    if isinstance(part, list) or (isinstance(part, np.ndarray) and part.ndim):
        return f"[{', '.join(map(_nested, part))}]"
    return _element(part)


def _element(item: Any) -> str:
    if isinstance(item, np.ndarray):
        item = item[()]
    if isinstance(item, str | bool | np.bool_ | np.integer | np.complexfloating):
        return repr(item) if isinstance(item, str) else str(item)
    try:
        return f"{float(item):.{_DIGITS}g}"
    except (TypeError, ValueError):
        return str(item)
