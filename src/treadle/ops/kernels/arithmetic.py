"""Arithmetic of two or more operands: Add, Sub, Mul, Div, Mod, Pow, Max, Min, Sum, Mean, shifts.

Integers wrap around. Opsets 1 to 6 broadcast only the right operand, and only if the attribute
`broadcast` is set.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from treadle.ops.kernels.common import aligned, in_float32, is_integer
from treadle.ops.kernels.registry import evaluates


def unbroadcast(function: Callable[..., Any]) -> Callable[..., Any]:
    """The opset 1 to 6 form of a function of two operands."""

    def old(
        left: np.ndarray, right: np.ndarray, *, broadcast: int = 0, axis: int | None = None
    ) -> Any:
        if not broadcast and left.shape != right.shape:
            raise ValueError("without `broadcast` both operands need the same shape")
        return function(left, aligned(left, right, axis))

    return old


evaluates("Add", 7, 13, 14)(np.add)
evaluates("Sub", 7, 13, 14)(np.subtract)
evaluates("Mul", 7, 13, 14)(np.multiply)
evaluates("Add", 1, 6)(unbroadcast(np.add))
evaluates("Sub", 1, 6)(unbroadcast(np.subtract))
evaluates("Mul", 1, 6)(unbroadcast(np.multiply))


@evaluates("Div", 7, 13, 14)
def divide(left: np.ndarray, right: np.ndarray) -> Any:
    """Division; integers are rounded toward zero, as in C."""
    if not is_integer(left):
        return np.divide(left, right)
    return np.floor_divide(left - np.fmod(left, right), right)


@evaluates("Mod", 10, 13, 28)
def modulo(left: np.ndarray, right: np.ndarray, *, fmod: int) -> Any:
    """Modulo: with fmod=0 the sign of the divisor, as in Python.

    With fmod=1 of the dividend, as in C.
    """
    return np.fmod(left, right) if fmod else np.mod(left, right)


@evaluates("Pow", 7, 12, 13, 15)
def power(base: np.ndarray, exponent: np.ndarray) -> Any:
    """Power in the dtype of the base; integers wrap around, mixed dtypes compute in float64."""
    if base.dtype == exponent.dtype and not is_integer(base):
        return _float_power(base, exponent)
    is_whole = exponent.dtype.kind in "iu"
    if is_whole and is_integer(base):
        return _whole_power(base, exponent)
    result = _float_power(base.astype(np.float64), exponent.astype(np.float64))
    if is_whole:
        odd = (base < 0) & (exponent % 2 != 0)
        result = np.where(odd, -np.abs(result), result)
    return np.asarray(result).astype(base.dtype)


def _float_power(base: np.ndarray, exponent: np.ndarray) -> Any:
    """Power as IEEE 754 defines it: numpy takes square roots for 0.5, of -0 and -infinity too."""
    result = np.power(base, exponent)
    is_root = exponent == exponent.dtype.type(0.5)
    if not is_root.any():
        return result
    root = np.where(np.isneginf(base), base.dtype.type(np.inf), np.abs(result))
    return np.where(is_root, root, result)


_FACTORS = (2, 3)
"""Exponents for which multiplications take a quarter of the time of np.power."""


def _whole_power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Exact power modulo 2**bits of the base's dtype; negative exponents round toward zero.

    In 64-bit arithmetic, 1 and -1 are powers with any exponent reduced modulo 2**64.
    """
    if exponent.size == 1 and exponent.ndim <= base.ndim and exponent.reshape(()) in _FACTORS:
        return np.asarray(reduce(np.multiply, [base] * int(exponent.reshape(()))))
    exact = np.power(base.astype(np.uint64), exponent.astype(np.uint64)).astype(base.dtype)
    if not (exponent < 0).any():
        return exact
    inverse = np.power(base.astype(np.float64), exponent.astype(np.float64))
    is_fraction = (exponent < 0) & (base != 1) & ((base != -1) | (base > 0))
    return np.where(is_fraction, inverse.astype(base.dtype), exact)


evaluates("Div", 1, 6)(unbroadcast(divide))
evaluates("Pow", 1)(unbroadcast(power))


def variadic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Extend a function of two operands to any number of them."""

    def all_of(*operands: np.ndarray) -> Any:
        return reduce(function, operands)

    return all_of


evaluates("Max", 1, 6, 8, 12, 13)(variadic(np.maximum))
evaluates("Min", 1, 6, 8, 12, 13)(variadic(np.minimum))
evaluates("Sum", 1, 6, 8, 13)(variadic(np.add))


@evaluates("Mean", 1, 6, 8, 13)
@in_float32
def mean(*operands: np.ndarray) -> Any:
    """The mean of the operands, element by element."""
    return reduce(np.add, operands) / len(operands)


@evaluates("BitShift", 11, 28)
def bit_shift(value: np.ndarray, distance: np.ndarray, *, direction: str) -> Any:
    """Bits shifted out are gone; a right shift of a signed number keeps its sign."""
    shift = {"LEFT": np.left_shift, "RIGHT": np.right_shift}[direction]
    return shift(value, distance)
