"""Generates inputs of a model for the test program of a library."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from treadle import jit
from treadle.ir import DType, Tensor, Value
from treadle.jit import FreeKernel

__all__ = ["made_up_inputs"]

_EXTENT, _MOST = 3, 5


def made_up_inputs(values: Sequence[Value], kernel: FreeKernel) -> dict[str, np.ndarray]:
    """Normal floats and integers from 0 to 4; unknown extents are 3."""
    return {
        value.name: _array(value.name, DType(dtype), _extents(value, shape))
        for value, (dtype, shape) in zip(values, jit.signatures(kernel).inputs, strict=True)
    }


def _extents(value: Value, shape: Sequence[int | str]) -> tuple[int, ...]:
    """The extents of the kernel; for dynamic ones those of the model, if it has them."""
    known = value.type.shape if isinstance(value.type, Tensor) else None
    told = known if known is not None else (None,) * len(shape)
    return tuple(
        extent if isinstance(extent, int) else dim if isinstance(dim, int) else _EXTENT
        for extent, dim in zip(shape, told, strict=True)
    )


def _array(name: str, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    if dtype is DType.BOOL:
        return np.asarray(generator.integers(0, 2, shape) == 1)
    if dtype.numpy.kind in "iu":
        return np.asarray(generator.integers(0, _MOST, shape)).astype(dtype.numpy)
    return np.asarray(generator.standard_normal(shape)).astype(dtype.numpy)
