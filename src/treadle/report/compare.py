"""Compares two sets of outputs: shapes, dtypes and integers exactly, floats by a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from treadle.ir import DType, Tensor, dtype_of
from treadle.report.text import plural
from treadle.tracing import show_value


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Two numbers agree if they differ by at most `absolute + relative * |expected|`."""

    relative: float
    absolute: float


EXACT = Tolerance(0.0, 0.0)
TOLERANCES: Mapping[DType, Tolerance] = {
    DType.FLOAT64: Tolerance(1e-7, 1e-9),
    DType.COMPLEX128: Tolerance(1e-7, 1e-9),
    DType.FLOAT32: Tolerance(1e-4, 1e-5),
    DType.COMPLEX64: Tolerance(1e-4, 1e-5),
    DType.FLOAT16: Tolerance(2e-3, 1e-3),
    DType.BFLOAT16: Tolerance(2e-2, 1e-2),
}
"""The tolerances by dtype; a dtype that is not listed is compared exactly."""


def tolerance_of(dtype: DType | None) -> Tolerance:
    """The allowed difference of two elements of the type."""
    return TOLERANCES.get(dtype, EXACT) if dtype else EXACT


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference from the expected value; `name` may name an item of a sequence: `y[2]`.

    `largest` and `largest_relative` are the greatest errors if both are numbers.
    """

    name: str
    message: str
    largest: float | None = None
    largest_relative: float | None = None


def compare(
    actual: Mapping[str, object],
    expected: Mapping[str, object],
    relative: float | None = None,
    absolute: float | None = None,
) -> list[Difference]:
    """Every difference between outputs and the expected ones, none if they agree.

    Outputs that `expected` does not name are ignored; `relative` and `absolute` replace the table's
    tolerances for floats.
    """
    given = _Bounds(relative, absolute)
    found: list[Difference] = []
    for name, value in expected.items():
        if name in actual:
            found += _differences(name, actual[name], value, given)
        else:
            found.append(Difference(name, f"no such output; the outputs are {', '.join(actual)}"))
    return found


def show_differences(differences: Iterable[Difference]) -> str:
    """One line each."""
    return "\n".join(f"{each.name}: {each.message}" for each in differences)


@dataclass(frozen=True, slots=True)
class _Bounds:
    relative: float | None
    absolute: float | None

    def of(self, dtype: DType | None) -> Tolerance:
        tolerance = tolerance_of(dtype)
        if tolerance is EXACT:
            return EXACT
        if self.relative is not None:
            tolerance = replace(tolerance, relative=self.relative)
        if self.absolute is not None:
            tolerance = replace(tolerance, absolute=self.absolute)
        return tolerance


def _differences(
    name: str, actual: object, expected: object, bounds: _Bounds
) -> Iterator[Difference]:
    if isinstance(actual, list) and isinstance(expected, list):
        if len(actual) != len(expected):
            counts = f"{plural(len(actual), 'item')}, expected {len(expected)}"
            yield Difference(name, f"a sequence of {counts}")
        for k, (one, other) in enumerate(zip(actual, expected, strict=False)):
            yield from _differences(f"{name}[{k}]", one, other, bounds)
    elif isinstance(actual, dict) and isinstance(expected, dict):
        if actual != expected:
            yield Difference(name, f"{show_value(actual)}, expected {show_value(expected)}")
    elif _is_plain(actual) or _is_plain(expected):
        if (actual is None) is not (expected is None) or type(actual) is not type(expected):
            yield Difference(name, f"{show_value(actual)}, expected {show_value(expected)}")
    else:
        yield from _arrays(name, np.asarray(actual), np.asarray(expected), bounds)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, list | dict)


def _arrays(
    name: str, actual: np.ndarray, expected: np.ndarray, bounds: _Bounds
) -> Iterator[Difference]:
    dtype, wanted = dtype_of(actual.dtype), dtype_of(expected.dtype)
    if dtype is not wanted or actual.shape != expected.shape:
        found, right = Tensor(dtype, actual.shape), Tensor(wanted, expected.shape)
        yield Difference(name, f"{found}, expected {right}")
        return
    tolerance = bounds.of(dtype)
    wrong = ~_agree(actual, expected, tolerance)
    if wrong.any():
        yield _unequal(name, actual, expected, wrong)


def _agree(actual: np.ndarray, expected: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    if dtype_of(actual.dtype) is DType.STRING:
        return np.asarray(actual.astype(str) == expected.astype(str))
    if tolerance is EXACT and actual.dtype.kind in "biuc":
        return np.asarray(actual == expected)
    wide = np.complex128 if actual.dtype.kind == "c" else np.float64
    return np.isclose(
        actual.astype(wide),
        expected.astype(wide),
        tolerance.relative,
        tolerance.absolute,
        equal_nan=True,
    )


def _unequal(name: str, actual: np.ndarray, expected: np.ndarray, wrong: np.ndarray) -> Difference:
    count = int(wrong.sum())
    where = tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(wrong)))
    at = f" at {list(where)}" if actual.ndim else ""
    one = np.atleast_1d(actual)[where]
    other = np.atleast_1d(expected)[where]
    of = f"{count} of {plural(actual.size, 'element')} differ" if actual.size > 1 else "it differs"
    first = "; the first" if count > 1 else ","
    largest, relative = _errors(actual, expected)
    errors = f"; largest error {largest:.3g}" if largest is not None and actual.size > 1 else ""
    message = f"{of}{first}{at} is {one}, expected {other}{errors}"
    return Difference(name, message, largest, relative)


def _errors(actual: np.ndarray, expected: np.ndarray) -> tuple[float | None, float | None]:
    if actual.dtype.kind in "OUSTb" or dtype_of(actual.dtype) is DType.STRING:
        return None, None
    wide = np.complex128 if actual.dtype.kind == "c" else np.float64
    one, other = actual.astype(wide), expected.astype(wide)
    both = np.isfinite(one) & np.isfinite(other)
    if not both.any():
        return None, None
    error = np.abs(one[both] - other[both])
    scale = np.abs(other[both])
    known = scale > 0
    relative = float((error[known] / scale[known]).max()) if known.any() else None
    return float(error.max()), relative
