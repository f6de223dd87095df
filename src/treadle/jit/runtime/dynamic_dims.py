"""Decides which axes of inputs are dynamic: those whose extent keeps changing between runs.

An axis becomes dynamic with its third extent, and axes that were always equally long share one
dynamic extent. Extents of 0 and 1 stay in the signature, because they broadcast. If kernels with
dynamic axes fail too often, all axes stay static from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from treadle.jit.kernel.ir import SymbolicDim
from treadle.jit.runtime.specialize import DynamicDims

Axes = tuple[int, int]
Columns = Mapping[Axes, tuple[int, ...]]
Seen = tuple[tuple[int, ...], ...]
_MIN_EXTENTS = 3
"""Different extents an axis must have had before it becomes dynamic."""
_MAX_SEEN_SHAPES = 64
"""Sets of shapes that are remembered."""
_MAX_MISSES = 3
"""Failed guards after which no axis is dynamic any more."""


@dataclass(eq=False, slots=True)
class DynamicDimTracker:
    """The shapes seen so far, by dtypes and ranks; not thread-safe.

    `declared` are the dynamic axes of a kernel that was compiled for the declared types.
    """

    base: DynamicDims
    declared: DynamicDims | None = None
    seen: dict[object, list[Seen]] = field(default_factory=dict)
    made: dict[object, DynamicDims] = field(default_factory=dict)
    misses: int = 0

    @property
    def is_closed(self) -> bool:
        """Whether kernels with dynamic axes failed too often."""
        return self.misses >= _MAX_MISSES

    def miss(self, lengths: DynamicDims) -> None:
        """Record that a kernel with these dynamic axes could not be compiled, or failed."""
        if lengths is not self.base:
            self.misses += 1

    def close(self) -> None:
        """Keep all axes static from now on, except those that are always dynamic."""
        self.misses = _MAX_MISSES

    def lengths(self, arrays: Sequence[np.ndarray]) -> DynamicDims:
        """The dynamic axes for these arrays."""
        if self.is_closed:
            return self.base
        if self.declared is not None and self._is_open_in_all(arrays, self.declared):
            return self.declared
        kind = tuple((array.dtype, array.ndim) for array in arrays)
        shapes = tuple(array.shape for array in arrays)
        seen = self.seen.setdefault(kind, [])
        if shapes not in seen:
            seen.append(shapes)
            del seen[:-_MAX_SEEN_SHAPES]
        columns = self._columns(seen, shapes)
        if not columns:
            return self.base
        names = self._named(columns, seen)
        key = kind, tuple(names.items())
        if key not in self.made:
            self.made[key] = opened_signature(self.base, names)
        return self.made[key]

    def _is_open_in_all(self, arrays: Sequence[np.ndarray], dims: DynamicDims) -> bool:
        """Whether the extent of every axis opened by `dims` is one that does not broadcast."""
        opened = dims.open.keys() - self.base.open.keys()
        return all(axis < arrays[k].ndim and arrays[k].shape[axis] > 1 for k, axis in opened)

    def _named(self, columns: Columns, seen: list[Seen]) -> dict[Axes, SymbolicDim | Axes]:
        """The group of each axis that becomes dynamic: an axis of equal length, or the first one.

        Equal names give equal signatures, so they must also have equal extents.
        """
        names: dict[tuple[int, ...], SymbolicDim | Axes] = {
            tuple(each[k][axis] for each in seen): extent
            for (k, axis), extent in self.base.open.items()
            if axis < len(seen[-1][k])  # a boxed input has no axes in this run
        }
        return {key: names.setdefault(column, key) for key, column in columns.items()}

    def _columns(self, seen: list[Seen], shapes: Seen) -> dict[Axes, tuple[int, ...]]:
        """The extents seen on the axes that become dynamic, one after the other."""
        axes = [(k, axis) for k, shape in enumerate(shapes) for axis in range(len(shape))]
        found = {
            (k, axis): tuple(each[k][axis] for each in seen)
            for k, axis in axes
            if (k, axis) not in self.base.open and shapes[k][axis] > 1
        }
        return {key: column for key, column in found.items() if len(set(column)) >= _MIN_EXTENTS}


def opened_signature(base: DynamicDims, names: Mapping[Axes, SymbolicDim | Axes]) -> DynamicDims:
    """The lengths with more dynamic axes: each equal to an extent, or to another dynamic axis."""
    made = {name: SymbolicDim(f"d{name[0]}_{name[1]}") for name in names.values()
            if not isinstance(name, SymbolicDim)}  # fmt: skip
    found = {
        key: name if isinstance(name, SymbolicDim) else made[name] for key, name in names.items()
    }
    return replace(base, open={**base.open, **found})
