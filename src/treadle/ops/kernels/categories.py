"""Operators of ai.onnx.ml on maps and categories, which onnx.reference lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treadle.ops.kernels.registry import ML, evaluates
from treadle.ops.kernels.strings import texts

_NUMBERS: dict[str, Any] = {"TO_FLOAT": np.float32, "TO_INT64": np.int64}


@evaluates("CategoryMapper", 1, domain=ML)
def category_mapper(
    x: np.ndarray,
    *,
    cats_int64s: Sequence[int],
    cats_strings: Sequence[str],
    default_int64: int,
    default_string: str,
) -> np.ndarray:
    """Text to whole numbers or back, by two lists of one length."""
    if x.dtype.kind == "O":
        numbers = dict(zip(cats_strings, cats_int64s, strict=True))
        found = [numbers.get(word, default_int64) for word in x.reshape(-1).tolist()]
        return np.array(found, np.int64).reshape(x.shape)
    words = dict(zip(cats_int64s, cats_strings, strict=True))
    return texts([words.get(n, default_string) for n in x.reshape(-1).tolist()], x.shape)


@evaluates("ZipMap", 1, domain=ML)
def zip_map(
    x: np.ndarray,
    *,
    classlabels_int64s: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
) -> list[dict[Any, np.ndarray]]:
    """One map from label to score for each row."""
    labels = classlabels_strings or classlabels_int64s or ()
    return [
        {label: np.asarray(score) for label, score in zip(labels, row, strict=True)}
        for row in x.reshape(-1, x.shape[-1])
    ]


@evaluates("CastMap", 1, domain=ML)
def cast_map(x: Mapping[int, Any], *, cast_to: str, map_form: str, max_map: int) -> np.ndarray:
    """The values of a map in order of keys, or each at its key's place in a row of `max_map`."""
    values = dict(sorted(x.items()))
    if map_form == "SPARSE":
        values = {place: values.get(place, 0) for place in range(max_map)}
    row = list(values.values())
    if cast_to == "TO_STRING":
        return texts([str(each) for each in row], [1, len(row)])
    return np.array(row).astype(_NUMBERS[cast_to]).reshape(1, -1)
