"""The recorded values of one name: each occurrence, with its iteration numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from treadle.errors import InputError
from treadle.tracing.events import Iterations
from treadle.tracing.values import size_of


class QualifiedName(NamedTuple):
    """Where a value is: the path of its block, "" where none is known, and its name.

    Names may have slashes, so the two cannot be told apart in `full_name`.
    """

    path: str
    name: str

    @property
    def full_name(self) -> str:
        """The path and the name, the name alone where no path is known."""
        return f"{self.path}/{self.name}" if self.path else self.name


@dataclass(frozen=True, eq=False)
class Column:
    """The value `name` of the block at `path`.

    `made` holds every occurrence in the order of execution: an array with an extra first axis, or a
    list if shapes differ or the value is not a tensor. `numbers`, int64[n, loops], are the
    iteration numbers of each; None if all iterations of loops that run `extents` times are present,
    in order, those of the outermost loop from `start` on. `step` is the path of the step that
    defines it. `is_loose` marks an array that was recorded elsewhere, of which nobody said how many
    loops are around the value.
    """

    path: str
    name: str
    made: np.ndarray | Sequence[Any]
    numbers: np.ndarray | None = None
    extents: tuple[int, ...] = ()
    step: str = ""
    is_loose: bool = False
    start: int = 0

    @property
    def full_name(self) -> str:
        """The path and the name, the name alone where no path is known."""
        return self.qualified_name.full_name

    @property
    def qualified_name(self) -> QualifiedName:
        """The path and the name."""
        return QualifiedName(self.path, self.name)

    def __len__(self) -> int:
        return len(self.made)

    @property
    def loops(self) -> int:
        """The number of loops around the value."""
        return len(self.extents) if self.numbers is None else int(self.numbers.shape[1])

    @cached_property
    def at(self) -> np.ndarray:
        """The iteration numbers of each occurrence, int64[n, loops]."""
        if self.numbers is not None:
            return self.numbers
        at = np.indices(self.extents, np.int64).reshape(len(self.extents), len(self)).T
        if self.start:
            at[:, 0] += self.start
        return at

    def items(self) -> Iterator[tuple[Iterations, Any]]:
        """Each occurrence, with its iteration numbers."""
        return zip(map(tuple, self.at.tolist()), self.made, strict=True)

    @cached_property
    def bytes(self) -> int:
        """The number of bytes of the values."""
        return sum(map(size_of, self.made)) if isinstance(self.made, list) else size_of(self.made)

    def picked(self, mask: np.ndarray) -> Column:
        """The occurrences where a mask, bool[n], holds."""
        if mask.all():
            return self
        if isinstance(self.made, np.ndarray):
            made: Sequence[Any] | np.ndarray = self.made[mask]
        else:
            made = [value for value, kept in zip(self.made, mask.tolist(), strict=True) if kept]
        return replace(self, made=made, numbers=self.at[mask], extents=(), start=0)

    def fitted(self, loops: int) -> Column:
        """A loose column as a value inside `loops` loops: its leading axes are their iterations.

        The column itself if it is not loose, or has too few axes.
        """
        if not self.is_loose or not isinstance(self.made, np.ndarray) or self.made.ndim < loops:
            return self
        extents, shape = self.made.shape[:loops], self.made.shape[loops:]
        rows = self.made.reshape(prod(extents), *shape)
        return replace(self, made=rows, extents=extents, is_loose=False)

    def shifted(self, start: int, loop: int = 0) -> Column:
        """The column with `start` added to the iteration numbers of a loop, the outermost for 0."""
        if not start or self.loops <= loop:
            return self
        if self.numbers is None and not loop:
            return replace(self, start=self.start + start)
        numbers = self.at.copy()
        numbers[:, loop] += start
        return replace(self, numbers=numbers, extents=(), start=0)

    def rows(self) -> np.ndarray | None:
        """All occurrences in one array, [n, *shape]; None if they are not tensors of one shape."""
        if isinstance(self.made, np.ndarray):
            return self.made
        if not all(isinstance(each, np.ndarray | np.generic) for each in self.made):
            return None
        kinds = {(each.shape, each.dtype) for each in self.made}
        return np.stack(self.made) if len(kinds) == 1 else None

    def stacked(self) -> np.ndarray:
        """The rows with one axis per loop if all iterations are present; else [n, *shape]."""
        rows = self.rows()
        if rows is None:
            raise InputError(
                f"{self.path}/{self.name} is not a tensor of one shape in every iteration;"
                f' recorder["{self.path}/{self.name}"] has each value'
            )
        if self.numbers is None and self.extents and not self.start:
            return rows.reshape(*self.extents, *rows.shape[1:])
        if not self.loops:
            return rows[0] if len(rows) == 1 else rows
        extents = tuple(int(each) + 1 for each in self.at.max(axis=0, initial=-1))
        if len(rows) != prod(extents):
            return rows
        in_order = np.indices(extents).reshape(len(extents), -1).T
        is_dense = np.array_equal(self.at, in_order)
        return rows.reshape(*extents, *rows.shape[1:]) if is_dense else rows


def merge_columns(columns: Iterable[Column]) -> list[Column]:
    """One column per value, with the occurrences of all its columns in their order."""
    parts: dict[tuple[str, str], list[Column]] = {}
    for each in columns:
        parts.setdefault((each.path, each.name), []).append(each)
    return [found[0] if len(found) == 1 else _concatenate(found) for found in parts.values()]


def _concatenate(parts: Sequence[Column]) -> Column:
    rows = [each.made for each in parts if isinstance(each.made, np.ndarray)]
    kinds = {(each.shape[1:], each.dtype) for each in rows}
    is_array = len(rows) == len(parts) and len(kinds) == 1
    made: Any = _one_array(rows) if is_array else [v for each in parts for v in each.made]
    if _are_consecutive(parts):
        count = sum(each.extents[0] for each in parts)
        return replace(parts[0], made=made, extents=(count, *parts[0].extents[1:]))
    at = np.concatenate([each.at for each in parts])
    return replace(parts[0], made=made, numbers=at, extents=(), start=0)


def _are_consecutive(parts: Sequence[Column]) -> bool:
    """Whether each column has all iterations, and begins where the one before ends."""
    if any(each.numbers is not None or not each.extents for each in parts):
        return False
    return all(
        a.start + a.extents[0] == b.start and a.extents[1:] == b.extents[1:]
        for a, b in pairwise(parts)
    )


def _one_array(rows: Sequence[np.ndarray]) -> np.ndarray:
    """The rows as one array, without a copy if they are consecutive rows of an array."""
    base, starts = rows[0].base, [each.__array_interface__["data"][0] for each in rows]
    is_one = isinstance(base, np.ndarray) and base.flags.c_contiguous
    for one, other, start, following in zip(rows, rows[1:], starts, starts[1:], strict=False):
        is_next = start + one.nbytes == following and one.flags.c_contiguous
        is_one = is_one and is_next and one.base is base is other.base
    if not is_one or base is None:
        return np.concatenate(rows)
    offset = starts[0] - base.__array_interface__["data"][0]
    count = sum(map(len, rows))
    return np.ndarray((count, *rows[0].shape[1:]), rows[0].dtype, base, offset)
