"""The expected outputs of the cases, in plain Python and numpy, written from the standard's text.

One module a folder of cases, one function a case: it takes the inputs by name and gives the outputs
in order. Nothing here runs an engine; `test_cases.py` holds every case file against it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def f32(value: object) -> np.ndarray:
    """A float32 array."""
    return np.asarray(value, np.float32)


def i64(value: object) -> np.ndarray:
    """An int64 array."""
    return np.asarray(value, np.int64)


def stacked(
    items: Sequence[object], shape: Sequence[int] = (), dtype: object = np.float32
) -> np.ndarray:
    """The items along a new first axis; without any, the shape of one says the rest."""
    return (
        np.stack([np.asarray(item, dtype) for item in items])
        if items
        else np.zeros((0, *shape), dtype)
    )
