"""Trip counts and conditions: exactly one element, of any rank (design section 5)."""

from __future__ import annotations

import numpy as np

from treadle.errors import RunError
from treadle.interp.frame import Frame


def condition(value: object, what: str, path: str, frame: Frame) -> bool:
    """The truth of a condition; RunError unless it is one bool."""
    array = _single(value, what, "bool", path, frame)
    if array.dtype != np.bool_:
        raise RunError(f"{what} is {array.dtype}, wanted bool", path, frame.iterations)
    return bool(array.reshape(())[()])


def trip_count(value: object, path: str, frame: Frame) -> int:
    """The number of a trip count; RunError unless it is one int64 or int32."""
    array = _single(value, "the trip count", "int64", path, frame)
    if array.dtype not in (np.int64, np.int32):
        raise RunError(
            f"the trip count is {array.dtype}, wanted int64; convert it with a Cast",
            path,
            frame.iterations,
        )
    return int(array.reshape(())[()])


def _single(value: object, what: str, dtype: str, path: str, frame: Frame) -> np.ndarray:
    if not isinstance(value, np.ndarray):
        found = "a sequence" if isinstance(value, list) else "nothing"
        raise RunError(f"{what} is {found}, wanted one {dtype}", path, frame.iterations)
    if value.size != 1:
        raise RunError(
            f"{what} has shape {list(value.shape)}, wanted exactly one element",
            path,
            frame.iterations,
        )
    return value
