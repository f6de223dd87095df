"""Operators on strings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treadle.ops.kernels.registry import evaluates

_CASES: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}


def texts(items: Sequence[str], shape: Sequence[int]) -> np.ndarray:
    """A tensor of strings."""
    result = np.empty(len(items), object)
    result[:] = items
    return result.reshape(tuple(shape))


@evaluates("StringConcat", 20)
def string_concat(x: np.ndarray, y: np.ndarray) -> Any:
    """Concatenate strings pairwise, after broadcasting."""
    return np.asarray(np.add(x, y), object)


@evaluates("StringNormalizer", 10)
def string_normalizer(
    x: np.ndarray,
    *,
    case_change_action: str,
    is_case_sensitive: int,
    stopwords: Sequence[str] | None = None,
) -> np.ndarray:
    """Remove stop words and change case; [C] or [1, C], one empty word if none is left."""
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
        raise ValueError("the operand must be of shape [C] or [1, C]")
    change = _CASES[case_change_action]
    key: Callable[[str], str] = str if is_case_sensitive else str.lower
    unwanted = set(map(key, stopwords or ()))
    kept = [change(word) for word in x.reshape(-1).tolist() if key(word) not in unwanted] or [""]
    return texts(kept, [len(kept)] if x.ndim == 1 else [1, len(kept)])


@evaluates("StringSplit", 20)
def string_split(
    x: np.ndarray, *, delimiter: str | None = None, maxsplit: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The parts of each string along a new last axis, padded with "", and their number.

    An empty string has no parts, with any delimiter.
    """
    most = -1 if maxsplit is None else maxsplit
    parts = [text.split(delimiter or None, most) if text else [] for text in x.ravel().tolist()]
    counts = np.array([len(each) for each in parts], np.int64)
    longest = int(counts.max(initial=0))
    filled = [part for each in parts for part in (*each, *[""] * (longest - len(each)))]
    return texts(filled, (*x.shape, longest)), counts.reshape(x.shape)
