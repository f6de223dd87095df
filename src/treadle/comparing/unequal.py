"""Finds the first occurrence at which two columns differ, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle.ir import dtype_of
from treadle.report import Tolerance, tolerance_of
from treadle.tracing import Column

_EXACT = Tolerance(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The tolerances for floats; by dtype if they are None."""

    relative: float | None = None
    absolute: float | None = None

    def of(self, dtype: np.dtype[Any]) -> Tolerance:
        """The tolerance of an element type."""
        found = tolerance_of(dtype_of(dtype))
        if found == _EXACT:
            return found
        relative = found.relative if self.relative is None else self.relative
        return Tolerance(relative, found.absolute if self.absolute is None else self.absolute)


@dataclass(frozen=True, slots=True)
class Unequal:
    """The first difference: its iteration numbers and both values; `only` if one is missing."""

    iterations: tuple[int, ...]
    got: Any = None
    wanted: Any = None
    only: str = ""


def first_unequal(got: Column, wanted: Column, bounds: Bounds) -> Unequal | None:
    """The first difference of the columns; None if they agree."""
    count = min(len(got), len(wanted))
    same_at = count
    if got.numbers is not None or wanted.numbers is not None or got.extents != wanted.extents:
        same_at = _common_rows(got.at[:count], wanted.at[:count])
    row = _first_row(got, wanted, same_at, bounds)
    if row is not None:
        at = tuple(int(n) for n in wanted.at[row])
        return Unequal(at, got.made[row], wanted.made[row])
    if same_at == len(got) == len(wanted):
        return None
    return _missing(got, wanted, same_at)


def _common_rows(got: np.ndarray, wanted: np.ndarray) -> int:
    """The number of rows before the first of different iterations."""
    if got.shape != wanted.shape:
        return 0
    apart = (got != wanted).any(axis=1)
    return int(apart.argmax()) if apart.any() else len(got)


def _missing(got: Column, wanted: Column, row: int) -> Unequal:
    mine = tuple(map(int, got.at[row])) if row < len(got) else None
    other = tuple(map(int, wanted.at[row])) if row < len(wanted) else None
    if other is None or (mine is not None and mine < other):
        assert mine is not None, "one of them has more"
        return Unequal(mine, got.made[row], None, "got")
    return Unequal(other, None, wanted.made[row], "wanted")


def _first_row(got: Column, wanted: Column, count: int, bounds: Bounds) -> int | None:
    one, other = got.made, wanted.made
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and count:
        if one.dtype != other.dtype or one.shape[1:] != other.shape[1:]:
            return 0
        wrong = ~agree(one[:count], other[:count], bounds)
        rows = wrong.reshape(count, -1).any(axis=1)
        return int(rows.argmax()) if rows.any() else None
    for row in range(count):
        if not same(one[row], other[row], bounds):
            return row
    return None


def same(got: Any, wanted: Any, bounds: Bounds) -> bool:
    """Whether two values are equal within the tolerance of their dtype."""
    if isinstance(got, list) and isinstance(wanted, list):
        pairs = zip(got, wanted, strict=False)
        return len(got) == len(wanted) and all(same(a, b, bounds) for a, b in pairs)
    if got is None or wanted is None:
        return got is wanted
    if isinstance(got, dict) or isinstance(wanted, dict):
        return bool(got == wanted)
    one, other = np.asarray(got), np.asarray(wanted)
    if one.shape != other.shape or dtype_of(one.dtype) != dtype_of(other.dtype):
        return False
    return bool(agree(one, other, bounds).all())


def agree(got: np.ndarray, wanted: np.ndarray, bounds: Bounds) -> np.ndarray:
    """Elementwise agreement of two arrays of equal shape and dtype; NaN agrees with NaN."""
    tolerance = bounds.of(wanted.dtype)
    if tolerance == _EXACT:
        return np.asarray((got == wanted) | _both_nan(got, wanted))
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    one, other = got.astype(wide), wanted.astype(wide)
    close = np.isclose(one, other, tolerance.relative, tolerance.absolute, equal_nan=True)
    return np.asarray(close)


def _both_nan(got: np.ndarray, wanted: np.ndarray) -> Any:
    if got.dtype.kind in "OUSbiu":
        return False
    return np.isnan(got.astype(np.float64)) & np.isnan(wanted.astype(np.float64))


@dataclass(frozen=True, slots=True)
class Element:
    """The first element in which two tensors differ."""

    index: tuple[int, ...]
    got: Any
    wanted: Any
    ulps: int | None = None
    relative: float | None = None


def element(got: Any, wanted: Any, bounds: Bounds) -> Element | None:
    """The first differing element; None unless both are tensors of one shape and dtype."""
    if not isinstance(got, np.ndarray | np.generic) or not isinstance(
        wanted, np.ndarray | np.generic
    ):
        return None
    one, other = np.asarray(got), np.asarray(wanted)
    if one.shape != other.shape or one.dtype != other.dtype:
        return None
    wrong = np.atleast_1d(~agree(one, other, bounds))
    where = tuple(int(axis[0]) for axis in np.nonzero(wrong))
    a, b = np.atleast_1d(one)[where], np.atleast_1d(other)[where]
    index = where if one.ndim else ()
    if one.dtype.kind in "OUSbc":
        return Element(index, _item(a), _item(b))
    x, y = float(a), float(b)
    relative = abs(x - y) / abs(y) if y and np.isfinite([x, y]).all() else None
    return Element(index, _item(a), _item(b), _ulps(a, b), relative)


def _item(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


_BITS = {2: "int16", 4: "int32", 8: "int64"}


def _ulps(got: Any, wanted: Any) -> int | None:
    """The distance of two floats of one dtype, in floats."""
    dtype = np.asarray(got).dtype
    if dtype.kind in "iub" or not np.isfinite([float(got), float(wanted)]).all():
        return None
    if dtype.itemsize not in _BITS:
        return None
    bits = np.dtype(_BITS[dtype.itemsize])
    ordered = [int(np.asarray(v).view(bits)) for v in (got, wanted)]
    lowest = -(1 << (8 * dtype.itemsize - 1))
    one, other = (n if n >= 0 else lowest - n for n in ordered)
    distance: int = abs(one - other)
    return distance
