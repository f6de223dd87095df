"""Arrays for the recorded values of a loop, into which its windows write directly.

    buffer, [trips, *shape]     |  window 0  |     window 1     |  not yet run  |

Nothing is copied after a window, and a run that ends early leaves the rows of all windows before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treadle.passes import Exposure, Form

_ALIGNMENT = 16
"""Native code expects of a result what numpy gives a new array."""


@dataclass(eq=False, slots=True)
class RowBuffers:
    """The arrays of a loop of `limit` iterations, for the outputs in `names`.

    `start` is the iteration with which the next window begins.
    """

    limit: int
    names: frozenset[str]
    start: int = 0
    arrays: dict[str, np.ndarray | None] = field(default_factory=dict)

    @classmethod
    def of(cls, exposure: Exposure, limit: int) -> RowBuffers:
        """Those for the values that an exposed loop makes in every iteration, with one shape."""
        names = frozenset(
            called["values"]
            for target, called in exposure.names.items()
            if target.form is Form.TENSOR and target.depth
        )
        return cls(limit, names)

    def memory(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
        """The memory for the rows of the next window; None if a new array must be made."""
        if name not in self.names or not shape:
            return None
        if name not in self.arrays:
            self.arrays[name] = _empty((self.limit, *shape[1:]), dtype)
        array, end = self.arrays[name], self.start + shape[0]
        if array is None or array.dtype != dtype or array.shape[1:] != shape[1:]:
            return None
        rows = array[self.start : end]
        is_aligned = rows.__array_interface__["data"][0] % _ALIGNMENT == 0
        return rows if len(rows) == shape[0] and is_aligned else None


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):
        return None
