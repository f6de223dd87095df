"""Pickles of frozen dataclasses and arrays that load quickly.

A frozen dataclass with slots is normally restored by `__setstate__`, which looks up its fields each
time; here its constructor is called with them. Arrays are restored read-only, over the pickle's
bytes.
"""

from __future__ import annotations

import pickle
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

NO_FORM = (pickle.PicklingError, TypeError, AttributeError, RecursionError)
"""The errors of writing an object that cannot be pickled."""

SPOILT = (
    *NO_FORM, pickle.UnpicklingError, EOFError, ImportError, IndexError, KeyError, ValueError,
)  # fmt: skip
"""The errors of reading bytes that are not such a pickle."""


class CompactPickler(pickle.Pickler):
    """Writes these pickles; `pickle.loads` reads them."""

    def reducer_override(self, value: Any) -> Any:
        """How an array or a dataclass is written; other objects are pickled as usual."""
        if type(value) is np.ndarray and not value.dtype.hasobject:
            return _array, (value.tobytes(), value.dtype, value.shape)
        kind: Any = type(value)
        names = None if kind is type else _constructor_fields(kind)
        if names is None:
            return NotImplemented
        return kind, tuple(getattr(value, name) for name in names)


def _array(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    return np.frombuffer(data, dtype).reshape(shape)


@cache
def _constructor_fields(kind: Any) -> tuple[str, ...] | None:
    """The fields that its constructor takes; None if they are not its whole state."""
    if not is_dataclass(kind) or not getattr(kind, "__dataclass_params__").frozen:  # noqa: B009
        return None
    found = fields(kind)
    is_plain = all(each.init and not each.kw_only for each in found)
    is_plain = is_plain and not hasattr(kind, "__post_init__") and "__slots__" in vars(kind)
    return tuple(each.name for each in found) if is_plain else None
