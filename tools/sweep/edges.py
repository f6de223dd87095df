"""Values at the limits of element types, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

FOUR_BITS = ("int4", "uint4")
WHOLE = (*FOUR_BITS, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
SHORT_FLOATS = (
    "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
)  # fmt: skip
COMPLEX = ("complex64", "complex128")
TEXT = "object"
DTYPES = (*WHOLE, *FLOATS, *SHORT_FLOATS, *COMPLEX, "bool", TEXT)
_TEXTS = {
    "small": ["a", "bc", "b"],
    "empty": ["", "a"],
    "white space": [" ", "a b", "\t\u00a0c\n"],
    "unicode": ["\u00e9", "e\u0301", "\u65e5\u672c", "\U0001f600"],
    "long": ["x" * 100, "y" * 31 + "z"],
    "number": ["1", "-0", "1e3", "nan"],
}
_COMPLEX = {
    "small": [0.0, 1 + 2j, -0.5j],
    "nan": [complex(np.nan, 1), complex(1, np.nan)],
    "inf": [complex(np.inf, 0), complex(0, -np.inf)],
    "-0": [complex(-0.0, 0.0), complex(0.0, -0.0)],
}
_POWERS = {"2**24": 24, "2**31": 31, "2**53": 53, "2**63": 63}


def edges(name: str) -> Mapping[str, np.ndarray]:
    """The values of each edge that the type has, among small ones."""
    dtype = np.dtype(name)
    if name == TEXT:
        return {edge: np.array([*texts, "a", "B"], object) for edge, texts in _TEXTS.items()}
    if dtype.kind == "b":
        return {"small": np.array([True, False, False, True, True])}
    if name in WHOLE:
        found: Mapping[str, Sequence[Any]] = _whole(dtype)
    else:
        found = _COMPLEX if name in COMPLEX else _floating(dtype)
    return {edge: _among_small(values, dtype) for edge, values in found.items() if len(values)}


def _whole(dtype: np.dtype[Any]) -> dict[str, Sequence[int]]:
    limits = ml_dtypes.iinfo(dtype)
    found: dict[str, Sequence[int]] = {
        "small": [0, 2, 5],
        "least": [limits.min, limits.min + 1],
        "greatest": [limits.max, limits.max - 1],
    }
    for edge, power in _POWERS.items():
        near = [sign * 2**power + more for sign in (1, -1) for more in (-1, 0, 1)]
        fits = [each for each in near if limits.min <= each <= limits.max]
        found[edge] = fits if any(abs(each) >= 2**power for each in fits) else []
    return found


def _floating(dtype: np.dtype[Any]) -> dict[str, Sequence[float]]:
    limits = ml_dtypes.finfo(dtype)
    most = float(limits.max)
    has_infinity = bool(np.isinf(np.array(np.inf).astype(dtype).astype(float)))
    return {
        "small": [0.0, 0.5, -2.25],
        "least": [float(limits.min), float(limits.min) / 2],
        "greatest": [float(limits.max), float(limits.max) / 2],
        "nan": [np.nan],
        "inf": [np.inf, -np.inf] if has_infinity else [],
        "-0": [-0.0, 0.0],
        "denormal": [float(limits.smallest_subnormal), -float(limits.smallest_normal) / 4],
        "2**24": [2.0**24, 2.0**24 + 2] if most > 2**25 else [],
        "2**53": [2.0**53, -(2.0**53)] if most > 2**54 else [],
    }


def _among_small(values: Sequence[complex], dtype: np.dtype[Any]) -> np.ndarray:
    whole = [1, 7, 3] if dtype.name.startswith("uint") else [1, 7, -3]
    return np.array([*values, *(whole if dtype.name in WHOLE else [1, 3.5, -1.25])], dtype)


def filled(values: np.ndarray, shape: Sequence[int], turn: int) -> np.ndarray:
    """A tensor of the values from the turn-th on; `len(values)` elements in a row have all of them.

    The order changes from run to run, so that a value stands at every position along an axis.
    """
    size, width = int(np.prod(shape)), len(values)
    first = np.roll(values, -turn)
    if size <= width:
        return np.resize(first, tuple(shape))
    rng = np.random.default_rng([turn, *shape])
    orders = [rng.permutation(width) for _ in range(-(-size // width))]
    return values[np.concatenate(orders)][:size].reshape(tuple(shape))
