"""Estimates the cost of onnxruntime's constant folding: time and memory.

It computes what follows from constants while it makes a session, and holds all of it at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod, sqrt

from treadle import machine
from treadle.delegate.workarounds.sizes import bytes_of_element
from treadle.ir import Leaf, Tensor, Value
from treadle.plan import Region

_PRODUCTS = frozenset({"MatMul", "Gemm", "MatMulInteger", "Conv"})
_MOST_FOLDED = 2.0**36  # multiplications; they take a few seconds
_MOST_BYTES = 2.0**30
"""Of weights that a model fills with one number each, as those of networks made for tests."""
_USUAL_GROWTH = 16
"""Weights may be cast, transposed or dequantized: their forms have a few times their bytes."""


def is_much_to_fold(region: Region) -> bool:
    """Whether onnxruntime's constant folding would take seconds, or much more than the constants.

    Unknown shapes count as 0.
    """
    folded = list(_folded(region))
    if sum(map(_multiplications, folded)) > _MOST_FOLDED:
        return True
    made = _bytes(value for step in folded for value in step.results)
    given = _bytes(constant.value for constant in region.constants)
    return made > max(_MOST_BYTES, _USUAL_GROWTH * given)


def unfolded(region: Region) -> Iterator[Value]:
    """The large values that follow from constants, and that a run computes for that reason."""
    large = [
        value
        for step in _folded(region)
        for value in step.results
        if value is not None and _bytes_of(value) > machine.LARGE
    ]
    if large and is_much_to_fold(region):
        yield from large


def _folded(region: Region) -> Iterator[Leaf]:
    """The steps whose operands are constants, or results of such steps."""
    known = {constant.value for constant in region.constants}
    for step in region.steps:
        if not isinstance(step, Leaf) or step.blocks:
            continue
        if all(value is None or value in known for value in step.operands):
            known.update(value for value in step.results if value is not None)
            yield step


def _bytes(values: Iterable[Value | None]) -> float:
    return sum(map(_bytes_of, values))


def _bytes_of(value: Value | None) -> float:
    extents = _extents(value)
    dtype = value.type.dtype if value is not None and isinstance(value.type, Tensor) else None
    if extents is None or dtype is None:
        return 0.0
    return float(prod(extents)) * bytes_of_element(dtype)


def _multiplications(step: Leaf) -> float:
    """Estimate of a product: m * k * n for (m, k) by (k, n).

    For a convolution the filter size for each result.
    """
    if step.op not in _PRODUCTS or step.domain:
        return 0.0
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
