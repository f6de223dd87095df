"""Comparisons and logic: results are bool, or whole numbers for the bitwise operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.ops.kernels.arithmetic import unbroadcast
from treadle.ops.kernels.registry import evaluates

evaluates("Equal", 7, 11, 13, 19)(np.equal)
evaluates("Greater", 7, 9, 13)(np.greater)
evaluates("Less", 7, 9, 13)(np.less)
evaluates("GreaterOrEqual", 12, 16)(np.greater_equal)
evaluates("LessOrEqual", 12, 16)(np.less_equal)
evaluates("And", 7)(np.logical_and)
evaluates("Or", 7)(np.logical_or)
evaluates("Xor", 7)(np.logical_xor)
evaluates("Not", 1)(np.logical_not)
evaluates("Equal", 1)(unbroadcast(np.equal))
evaluates("Greater", 1)(unbroadcast(np.greater))
evaluates("Less", 1)(unbroadcast(np.less))
evaluates("And", 1)(unbroadcast(np.logical_and))
evaluates("Or", 1)(unbroadcast(np.logical_or))
evaluates("Xor", 1)(unbroadcast(np.logical_xor))
evaluates("BitwiseAnd", 18)(np.bitwise_and)
evaluates("BitwiseOr", 18)(np.bitwise_or)
evaluates("BitwiseXor", 18)(np.bitwise_xor)
evaluates("BitwiseNot", 18)(np.invert)
evaluates("IsNaN", 9, 13, 20)(np.isnan)


@evaluates("IsInf", 10, 20)
def is_infinite(x: np.ndarray, *, detect_negative: int, detect_positive: int) -> Any:
    """Whether each element is an infinity of a requested sign."""
    infinite = np.isinf(x)
    if not detect_negative:
        infinite = infinite & (x > 0)
    if not detect_positive:
        infinite = infinite & (x < 0)
    return infinite


@evaluates("Where", 9, 16)
def where(condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    """Elements of x where the condition holds, of y elsewhere."""
    return np.where(condition, x, y)
