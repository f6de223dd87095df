"""Reads the one element of a trip count or a condition."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle import ops
from treadle.errors import RunError
from treadle.tracing import Iterations

_WHOLE = (np.dtype(np.int64), np.dtype(np.int32))
_BOOL = (np.dtype(np.bool_),)


def boolean(value: Any, what: str, path: str, iterations: Iterations) -> bool:
    """The bool a one-element bool tensor of any rank holds."""
    return bool(_single(value, _BOOL, what, path, iterations))


def whole(value: Any, what: str, path: str, iterations: Iterations) -> int:
    """The number a one-element int64 or int32 tensor of any rank holds."""
    return int(_single(value, _WHOLE, what, path, iterations))


def _single(
    value: Any,
    dtypes: tuple[np.dtype[Any], ...],
    what: str,
    path: str,
    iterations: Iterations,
) -> Any:
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype in dtypes:
        return value.item()
    wanted = " or ".join(map(str, dtypes))
    found = ops.describe(value)
    raise RunError(f"{what} is {found}, wanted one element of {wanted}", path, iterations)
