"""Matrix products: MatMul, Gemm, Einsum, Det, and integer MatMul."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle.ir import show_shape
from treadle.ops.kernels.common import NARROW, in_float32, is_integer
from treadle.ops.kernels.registry import evaluates


@evaluates("MatMul", 1, 9, 13)
@in_float32
def matmul(left: np.ndarray, right: np.ndarray) -> Any:
    """numpy.matmul."""
    return np.asarray(np.matmul(left, right))


@evaluates("Gemm", 7, 9, 11, 13)
@in_float32
def gemm(
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray | None = None,
    *,
    alpha: float,
    beta: float,
    transA: int,  # noqa: N803 - the schema's name
    transB: int,  # noqa: N803
) -> Any:
    """Alpha * A @ B + beta * C."""
    product = np.matmul(a.T if transA else a, b.T if transB else b)
    result = _scaled(product, alpha)
    return result if c is None else result + _scaled(c, beta)


@evaluates("Gemm", 1, 6)
def gemm_1(
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    *,
    alpha: float,
    beta: float,
    broadcast: int,
    transA: int,  # noqa: N803
    transB: int,  # noqa: N803
) -> Any:
    """Gemm before opset 7: C is broadcast only if the attribute `broadcast` is set."""
    result = gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    if not broadcast and c.shape != result.shape:
        raise ValueError(f"without `broadcast` C must have the shape {show_shape(result.shape)}")
    return result


def _scaled(x: np.ndarray, factor: float) -> np.ndarray:
    if factor == 1:
        return x
    return np.asarray(x * factor).astype(x.dtype) if is_integer(x) else x * factor


@evaluates("MatMulInteger", 10)
def matmul_integer(
    a: np.ndarray,
    b: np.ndarray,
    a_zero: np.ndarray | None = None,
    b_zero: np.ndarray | None = None,
) -> Any:
    """(A - its zero point) @ (B - its zero point) in int32; zero points by row and by column."""
    left = a.astype(np.int32) - (0 if a_zero is None else _by_row(a_zero.astype(np.int32)))
    right = b.astype(np.int32) - (0 if b_zero is None else b_zero.astype(np.int32))
    return np.asarray(np.matmul(left, right), np.int32)


def _by_row(zero: np.ndarray) -> np.ndarray:
    return zero[:, np.newaxis] if zero.ndim == 1 and zero.size > 1 else zero


@evaluates("Einsum", 12, 28)
def einsum(*operands: np.ndarray, equation: str) -> Any:
    """numpy.einsum, which has the operator's notation."""
    dtype = operands[0].dtype
    given: Sequence[np.ndarray] = operands
    if dtype in NARROW:
        given = [each.astype(np.float32) for each in operands]
    return np.asarray(np.einsum(equation.replace(" ", ""), *given)).astype(dtype, copy=False)


@evaluates("Det", 11, 22)
@in_float32
def determinant(x: np.ndarray) -> Any:
    """The determinant of each matrix of the last two axes."""
    return np.asarray(np.linalg.det(x), x.dtype)
