"""Estimates the cost of onnxruntime's constant folding: products of constants."""

from __future__ import annotations

from math import prod, sqrt

from treadle.ir import Leaf, Tensor, Value
from treadle.plan import Region

_PRODUCTS = frozenset({"MatMul", "Gemm", "MatMulInteger", "Conv"})


def folded_products(region: Region) -> float:
    """The multiplications in the region's products and convolutions of constants.

    Unknown shapes count as 0.
    """
    known = {constant.value for constant in region.constants}
    total = 0.0
    for step in region.steps:
        if not isinstance(step, Leaf) or step.blocks:
            continue
        if not all(value is None or value in known for value in step.operands):
            continue
        known.update(value for value in step.results if value is not None)
        if step.op in _PRODUCTS and not step.domain:
            total += _multiplications(step)
    return total


def _multiplications(step: Leaf) -> float:
    """Estimate: m * k * n for (m, k) by (k, n).

    For a convolution the filter size for each result.
    """
    left, right, made = map(_extents, (*step.operands[:2], step.results[0]))
    if left is None or right is None or made is None:
        return 0.0
    if step.op == "Conv":
        return float(prod(made)) * prod(right[1:])
    return sqrt(float(prod(left)) * float(prod(right)) * float(prod(made)))


def _extents(value: Value | None) -> tuple[int, ...] | None:
    type_ = None if value is None else value.type
    shape = type_.shape if isinstance(type_, Tensor) else None
    if shape is None:
        return None
    extents = tuple(extent for extent in shape if isinstance(extent, int))
    return extents if len(extents) == len(shape) else None
