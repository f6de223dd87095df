"""Arrays of a recorder into which native code writes values directly.

    a run               |  rows of iterations that ran     |  not yet run  |
    one in windows      |  window 0  |     window 1        |  not yet run  |

A run that ends early leaves what was written. Nothing is copied after a window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from treadle.passes import Exposure, Form, Target
from treadle.recording.outputs import place_of
from treadle.tracing import Column

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

    def wrote(self, rows: Mapping[str, int | None]) -> None:
        """The window's values are those that its run returns."""

    def room(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
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


@dataclass(eq=False, slots=True)
class RunBuffers:
    """The arrays of a run that is not divided into windows.

    `rows` is the number of rows written of those that the run has written, None for all.
    """

    exposure: Exposure
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    rows: dict[str, int | None] = field(default_factory=dict)

    def room(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """A new array, which is kept."""
        made = self.arrays[name] = np.empty(shape, dtype)
        return made

    def wrote(self, rows: Mapping[str, int | None]) -> None:
        """Keep what was written."""
        self.rows.update(rows)

    def columns(self) -> Iterator[Column]:
        """What has been written of each value that is made in every iteration with one shape."""
        for target, names in self.exposure.names.items():
            array, rows = self.arrays.get(names["values"]), self.rows.get(names["values"], 0)
            if target.form is Form.TENSOR and array is not None and rows != 0:
                yield _written(target, array[:rows] if target.depth else array)


def _written(target: Target, array: np.ndarray) -> Column:
    place = place_of(target)
    extents, shape = array.shape[: target.depth], array.shape[target.depth :]
    if not target.depth:
        return Column(*place, [array], np.zeros((1, 0), np.int64), (), target.step)
    return Column(*place, array.reshape(prod(extents), *shape), None, extents, target.step)


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):
        return None
