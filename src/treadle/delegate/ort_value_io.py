"""Runs a session with bfloat16 or float8 inputs or outputs, by OrtValues over the bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle.delegate.io_types import WIDE
from treadle.ir import DType

_BYTES: Mapping[int, type[np.generic]] = {1: np.uint8, 2: np.uint16}


@dataclass(frozen=True, slots=True)
class OrtValueCall:
    """A call with the signature of the session's `run`.

    `given` are the element types of outputs.
    """

    session: Any
    given: tuple[DType, ...]

    def __call__(
        self, outputs: Sequence[str], feed: Mapping[str, Any], options: object
    ) -> list[object]:
        """The outputs as numpy arrays."""
        arrays = {name: np.asarray(array, order="C") for name, array in feed.items()}
        values = {name: _entering(array) for name, array in arrays.items()}
        made = self.session.run_with_ort_values(values, list(outputs), options)
        return [_leaving(value, dtype) for value, dtype in zip(made, self.given, strict=True)]


_NUMBERS = {dtype.numpy: number for dtype, number in WIDE.items()}


def _entering(array: np.ndarray) -> Any:
    from onnxruntime import OrtValue
    from onnxruntime.capi import onnxruntime_pybind11_state as binding

    number = _NUMBERS.get(array.dtype)
    if number is None:
        return OrtValue.ortvalue_from_numpy(array)._get_c_value()
    raw = array.view(_BYTES[array.itemsize])
    return binding.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, number)


def _leaving(value: Any, dtype: DType) -> np.ndarray:
    if dtype not in WIDE:
        return np.asarray(value.numpy())
    size = value.tensor_size_in_bytes()
    raw = (ctypes.c_uint8 * size).from_address(value.data_ptr()) if size else b""
    shape = tuple(value.shape())
    return np.frombuffer(raw, np.uint8).copy().view(dtype.numpy).reshape(shape)
