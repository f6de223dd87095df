"""Predicts the bytes of results whose extents multiply those of operands.

Each function returns a lower bound from operands and attributes, and 0 for small operands, for
which nothing is computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Given = Mapping[str, Any]
FEW = 2**20
"""The number of elements below which nothing is computed."""


def arithmetic(operands: Sequence[Any], given: Given) -> float:
    """A result of the operands' dtype, broadcast."""
    return _broadcast(operands) * operands[-1].itemsize


def comparison(operands: Sequence[Any], given: Given) -> float:
    """A bool result, broadcast."""
    return _broadcast(operands)


def _broadcast(operands: Sequence[Any]) -> float:
    if math.prod(each.size for each in operands) <= FEW:
        return 0.0
    return broadcast_size(*(each.shape for each in operands))


def broadcast_size(*shapes: tuple[int, ...]) -> float:
    """The elements of a result of the operands' shapes, broadcast."""
    rank = max(map(len, shapes))
    full = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return float(math.prod(0 if 0 in axis else max(axis) for axis in zip(*full, strict=True)))


def concatenation(operands: Sequence[Any], given: Given) -> float:
    """All operands, one after the other."""
    elements = sum(each.size for each in operands)
    return float(elements * operands[0].itemsize) if elements > FEW else 0.0


def matmul(operands: Sequence[Any], given: Given) -> float:
    """Rows of the left by columns of the right."""
    left, right = operands[:2]
    if left.size * right.size <= FEW:
        return 0.0
    rows = left.shape[-2] if left.ndim > 1 else 1
    columns = right.shape[-1] if right.ndim > 1 else 1
    stacked = broadcast_size(left.shape[:-2], right.shape[:-2])
    return stacked * rows * columns * max(left.itemsize, 1 if left.itemsize > 1 else 4)


def gemm(operands: Sequence[Any], given: Given) -> float:
    """The same, either transposed."""
    left, right = operands[:2]
    rows = left.shape[1 if given.get("transA") else 0]
    columns = right.shape[0 if given.get("transB") else 1]
    return float(rows * columns * left.itemsize)


def gather(operands: Sequence[Any], given: Given) -> float:
    """A slice of the table for each index."""
    table, indices = operands
    extent = table.shape[given.get("axis", 0)]
    return table.nbytes / extent * indices.size if extent else 0.0


def gather_nd(operands: Sequence[Any], given: Given) -> float:
    """The element or slice for each index tuple."""
    table, indices = operands
    inner = table.shape[given.get("batch_dims", 0) + indices.shape[-1] :]
    return float(math.prod(indices.shape[:-1]) * math.prod(inner) * table.itemsize)


def convolution(operands: Sequence[Any], given: Given) -> float:
    """An output channel for each kernel."""
    images, kernels = operands[:2]
    maps = _windows(images.shape[2:], kernels.shape[2:], given)
    return images.shape[0] * kernels.shape[0] * maps * images.itemsize


def columns(operands: Sequence[Any], given: Given) -> float:
    """The elements under the kernel at each of its places, as float32 or wider, or the pads."""
    images, kernels = operands[:2]
    maps = _windows(images.shape[2:], kernels.shape[2:], given)
    read = math.prod(images.shape[:2]) * math.prod(kernels.shape[2:]) * maps
    return max(read * max(images.itemsize, 4), padded(operands, given))


def padded(operands: Sequence[Any], given: Given) -> float:
    """The images with their pads, which are written before windows are read."""
    images = operands[0]
    inner, rank = images.shape[2:], images.ndim - 2
    pads = given.get("pads") or [0] * 2 * rank
    extents = [max(n + pads[k] + pads[k + rank], 0) for k, n in enumerate(inner)]
    return float(math.prod((*images.shape[:2], *extents)) * images.itemsize)


def transposed_convolution(operands: Sequence[Any], given: Given) -> float:
    """The kernel's extent for each element, at the strides."""
    images, kernels = operands[:2]
    channels = images.shape[0] * kernels.shape[1] * given.get("group", 1)
    inner, rank = images.shape[2:], images.ndim - 2
    strides, pads = given.get("strides", [1] * rank), given.get("pads", [0] * 2 * rank)
    extents = given.get("output_shape") or [
        (inner[k] - 1) * strides[k] + kernels.shape[2 + k] - pads[k] - pads[k + rank]
        for k in range(rank)
    ]
    return channels * math.prod(max(n, 0) for n in extents[-rank:]) * float(images.itemsize)


def pool(operands: Sequence[Any], given: Given) -> float:
    """A number for each window."""
    images = operands[0]
    maps = _windows(images.shape[2:], given["kernel_shape"], given)
    return math.prod(images.shape[:2]) * maps * images.itemsize


def _windows(inner: Sequence[int], kernel: Sequence[int], given: Given) -> float:
    """The number of windows of an image; at least one per axis if pads are automatic."""
    rank = len(inner)
    strides, dilations = (given.get(n) or [1] * rank for n in ("strides", "dilations"))
    if given.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return float(math.prod(n // strides[k] for k, n in enumerate(inner)))
    pads = given.get("pads") or [0] * 2 * rank
    spans = [
        n + pads[k] + pads[k + rank] - dilations[k] * (kernel[k] - 1) - 1
        for k, n in enumerate(inner)
    ]
    return float(math.prod(max(span // strides[k] + 1, 0) for k, span in enumerate(spans)))


def einsum(operands: Sequence[Any], given: Given) -> float:
    """The product of the extents its result names; an ellipsis counts for 1."""
    terms, arrow, result = given["equation"].replace(" ", "").partition("->")
    if not arrow or "." in terms or math.prod(each.size for each in operands) <= FEW:
        return 0.0
    pairs = zip(terms.split(","), operands, strict=True)
    extents = {word: n for term, each in pairs for word, n in zip(term, each.shape, strict=True)}
    return float(math.prod(extents[word] for word in result) * operands[0].itemsize)


def attention(operands: Sequence[Any], given: Given) -> float:
    """The scores: a number for each pair of a query and a key, in each head."""
    queries, keys = operands[:2]
    heads = queries.shape[1] if queries.ndim == 4 else given.get("q_num_heads", 1)
    pairs = queries.shape[-2] * keys.shape[-2]
    return float(queries.shape[0] * heads * pairs * queries.itemsize)


def of_shape(operands: Sequence[Any], given: Given) -> float:
    """A tensor of float32, or wider, of the shape an attribute gives."""
    return float(np.prod(np.asarray(given["shape"], np.float64))) * 2
