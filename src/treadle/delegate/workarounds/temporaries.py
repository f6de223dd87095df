"""The bytes that kernels of onnxruntime fill beside their results, where they are many.

Measured on onnxruntime 1.32, one thread, as the growth of the process's memory in one run. A
function gets the shapes of the operands and of the result and returns an upper bound.

    NonZero         the result twice; it has at most an index of each axis for each element
    Unique          nodes of a tree: 119 bytes an element that is found once, beside the results
    ConvTranspose   columns: each tap of each map of the result, for each element of an image
    ConvInteger     columns: each tap of each map, for each element of a result's image
    QLinearConv     the same; one map for each filter: 8 bytes for each, an address
    DeformConv      columns, and 32 bytes for each place that is read
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from treadle.ir import Leaf

__all__ = ["has_temporaries", "temporary_bytes"]

Shape = tuple[int, ...] | None
_NODE = 160
_ADDRESS, _PLACE, _WIDEST = 8, 32, 8
_MAPS = 2
"""The axes of an image before its extents: the images and the maps."""


def has_temporaries(step: Leaf) -> bool:
    """Whether the kernel of a step may fill much memory beside its result."""
    return not step.domain and step.op in _KERNELS


def temporary_bytes(step: Leaf, operands: Sequence[Shape], result: Shape) -> float:
    """An upper bound of the bytes that a step fills beside a result of known shape.

    0 if it cannot be told: a shape that is needed is not known.
    """
    known = [shape for shape in operands if shape is not None]
    if not has_temporaries(step) or len(known) < len(operands):
        return 0.0
    try:
        return float(_KERNELS[step.op](known, result or ()))
    except IndexError:
        return 0.0  # operands that do not fit the operator: it refuses them


def _indices(operands: Sequence[tuple[int, ...]], result: tuple[int, ...]) -> float:
    (shape, *_) = operands
    return 2 * 8 * len(shape) * prod(shape)


def _tree(operands: Sequence[tuple[int, ...]], result: tuple[int, ...]) -> float:
    return _NODE * prod(operands[0])


def _transposed(operands: Sequence[tuple[int, ...]], result: tuple[int, ...]) -> float:
    image, weights, *_ = operands
    return _WIDEST * prod(weights[1:]) * prod(image[_MAPS:])


def _columns(operands: Sequence[tuple[int, ...]], result: tuple[int, ...]) -> float:
    return prod(operands[1][1:]) * prod(result[_MAPS:])


def _quantized(operands: Sequence[tuple[int, ...]], result: tuple[int, ...]) -> float:
    image, weights = operands[0], operands[3]
    taps = image[1] * prod(weights[_MAPS:]) * prod(result[_MAPS:])
    return taps * (_ADDRESS if weights[1] == 1 else 1)


def _deformed(operands: Sequence[tuple[int, ...]], result: tuple[int, ...]) -> float:
    image, weights, places, *_ = operands
    columns = _WIDEST * image[1] * prod(weights[_MAPS:]) * prod(result[_MAPS:])
    return columns + _PLACE * prod(places[1:]) / 2


_KERNELS: Mapping[str, Callable[[Sequence[tuple[int, ...]], tuple[int, ...]], float]] = {
    "ConvInteger": _columns,
    "ConvTranspose": _transposed,
    "DeformConv": _deformed,
    "NonZero": _indices,
    "QLinearConv": _quantized,
    "Unique": _tree,
}
