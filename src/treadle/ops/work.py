"""Predicts the multiplications of operators that take more time than it takes to read operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from treadle.ir import Leaf
from treadle.ops.attributes import attributes_of
from treadle.ops.products import Given
from treadle.ops.sizes import Count

__all__ = ["FEW", "multiplications"]

FEW = 2**28
"""Fewer multiplications take 5 ms at most, or some more in numpy."""
_QUANTIZED = 3
"""The position of the second factor of QLinearMatMul and QLinearConv."""


def multiplications(leaf: Leaf) -> Count | None:
    """The function that computes a step's multiplications from its operands; None where few.

    It gives 0 where the operands are too small for 2^28 of them.
    """
    count = None if leaf.domain else _COUNTS.get(leaf.op)
    return None if count is None else partial(count, given=attributes_of(leaf.attributes))


def _product(operands: Sequence[Any], given: Given, second: int = 1) -> float:
    left, right = operands[0], operands[second]
    if left.size * right.size <= FEW or not left.ndim or not right.ndim:
        return 0.0
    columns = right.shape[-1] if right.ndim > 1 else 1
    rows = left.size // max(left.shape[-1], 1)
    batch = math.prod(right.shape[:-2]) if right.ndim > left.ndim else 1
    return float(batch * rows * left.shape[-1] * columns)


def _gemm(operands: Sequence[Any], given: Given) -> float:
    left, right = operands[:2]
    if left.size * right.size <= FEW:
        return 0.0
    return float(left.size * right.shape[0 if given.get("transB") else 1])


def _convolution(operands: Sequence[Any], given: Given, second: int = 1) -> float:
    """Each pixel of the image, at stride 1, with each number of each kernel."""
    images, kernels = operands[0], operands[second]
    if images.size * kernels.size <= FEW:
        return 0.0
    strides = math.prod(given.get("strides") or [1])
    pixels = images.shape[0] * math.prod(images.shape[2:])
    return float(pixels * kernels.size) / strides


def _transposed_convolution(operands: Sequence[Any], given: Given) -> float:
    images, kernels = operands[:2]
    if images.size * kernels.size <= FEW:
        return 0.0
    return float(images.size * math.prod(kernels.shape[1:]))


def _einsum(operands: Sequence[Any], given: Given) -> float:
    """The product of all extents that the equation names."""
    if math.prod(each.size for each in operands) <= FEW:
        return 0.0
    terms = given["equation"].replace(" ", "").partition("->")[0].split(",")
    pairs = zip(terms, operands, strict=True)
    return float(math.prod(dict(
        pair for term, each in pairs for pair in zip(term, each.shape, strict=False)
    ).values()))  # fmt: skip


def _recurrence(operands: Sequence[Any], given: Given) -> float:
    """Each item with the weights of both products."""
    items, weights, again = operands[:3]
    return float(math.prod(items.shape[:2]) * (weights.size + again.size))


def _attention(operands: Sequence[Any], given: Given) -> float:
    """Each query with each key, and again with each value."""
    queries, keys = operands[:2]
    return 2.0 * queries.size * keys.shape[-2]


def _determinant(operands: Sequence[Any], given: Given) -> float:
    return float(operands[0].size * operands[0].shape[-1])


_COUNTS: Mapping[str, Callable[..., float]] = {
    **dict.fromkeys(("MatMul", "MatMulInteger"), _product),
    **dict.fromkeys(("Conv", "ConvInteger"), _convolution),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), _recurrence),
    "Attention": _attention,
    "ConvTranspose": _transposed_convolution,
    "Det": _determinant,
    "Einsum": _einsum,
    "Gemm": _gemm,
    "QLinearConv": partial(_convolution, second=_QUANTIZED),
    "QLinearMatMul": partial(_product, second=_QUANTIZED),
}
