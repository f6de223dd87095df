"""Kinds of element types."""

from __future__ import annotations

from treadle.ir import DType

SIXTEEN_BIT_FLOATS = (DType.FLOAT16, DType.BFLOAT16)
"""Floats of 16 bits: machine code computes with them as float32."""


def is_float(dtype: DType) -> bool:
    """Whether it is a float."""
    return dtype in (DType.FLOAT32, DType.FLOAT64, *SIXTEEN_BIT_FLOATS)


def is_signed(dtype: DType) -> bool:
    """Whether it is a signed whole number."""
    return dtype.numpy.kind == "i"
