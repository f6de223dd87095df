"""Kinds of element types."""

from __future__ import annotations

import numpy as np

from treadle.ir import DType

SIXTEEN_BIT_FLOATS = (DType.FLOAT16, DType.BFLOAT16)
"""Floats of 16 bits: machine code computes with them as float32."""


def is_float(dtype: DType) -> bool:
    """Whether it is a float."""
    return dtype in (DType.FLOAT32, DType.FLOAT64, *SIXTEEN_BIT_FLOATS)


def is_exact_in(dtype: DType, other: DType) -> bool:
    """Whether the other type has every number of a type, so that a cast to it loses nothing."""
    if dtype is DType.BOOL or dtype is other:
        return True
    if DType.BFLOAT16 in (dtype, other) or (is_float(other) and not is_float(dtype)):
        return dtype is DType.BFLOAT16 and other in (DType.FLOAT32, DType.FLOAT64)
    return bool(np.can_cast(dtype.numpy, other.numpy))


def is_signed(dtype: DType) -> bool:
    """Whether it is a signed whole number."""
    return dtype.numpy.kind == "i"
