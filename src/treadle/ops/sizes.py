"""Predicts the bytes of results that may be much larger than their operands.

One table: sizes that values of operands determine (here), and products of extents (`products.py`).
A result larger than the memory of the machine, or of its cgroup, is reported as an error before it
is allocated: otherwise the system would kill the process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from treadle.ir import Leaf
from treadle.ops import products
from treadle.ops.attributes import attributes_of
from treadle.ops.products import Given

Count = Callable[[Sequence[Any]], float]
MISFITS = (TypeError, ValueError, AttributeError, IndexError, KeyError, ZeroDivisionError)
"""Raised by such a function for operands that do not fit the operator."""
_SCALES, _SIZES = 2, 3
_AXES = 3


def result_bytes(leaf: Leaf) -> Count | None:
    """The function that computes a lower bound of the bytes of a step's result from its operands.

    None if it is no larger than the operands.
    """
    count = None if leaf.domain else _COUNTS.get(leaf.op)
    return None if count is None else partial(count, given=attributes_of(leaf.attributes))


def needed_bytes(leaf: Leaf) -> Count | None:
    """The same for the larger of the result and what the kernel writes before it."""
    result = result_bytes(leaf)
    before = None if leaf.domain else _TEMPORARIES.get(leaf.op)
    if result is None or before is None:
        return result
    temporary = partial(before, given=attributes_of(leaf.attributes))
    return lambda operands: max(result(operands), temporary(operands))


def may_grow(leaf: Leaf) -> bool:
    """Whether the result may have the extents of several operands multiplied."""
    return not leaf.domain and leaf.op in _GROWING


def is_broadcast(leaf: Leaf) -> bool:
    """Whether the extents of the result are those of the operands, broadcast."""
    return not leaf.domain and leaf.op in _BROADCAST


def _shape(operands: Sequence[Any], given: Given) -> float:
    value = given.get("value")
    return _product(operands[0]) * (4 if value is None else value.itemsize)


def _expand(operands: Sequence[Any], given: Given) -> float:
    shape = [1] * len(operands[1]) + [*operands[0].shape]
    own = shape[len(shape) - max(len(operands[1]), operands[0].ndim) :]
    wanted = [1] * (len(own) - len(operands[1])) + [int(n) for n in operands[1]]
    extents = [max(a, b) if a and b else 0 for a, b in zip(own, wanted, strict=True)]
    return _product(extents) * operands[0].itemsize


def _tile(operands: Sequence[Any], given: Given) -> float:
    return operands[0].nbytes * _product(operands[1])


def _resize(operands: Sequence[Any], given: Given) -> float:
    fed = (*operands, None, None, None)
    if fed[_SIZES] is not None and fed[_SIZES].size:
        return _product(fed[_SIZES]) * operands[0].itemsize
    scales = fed[1] if len(operands) == 2 else fed[_SCALES]
    return 0 if scales is None else operands[0].nbytes * _product(scales)


def _range(operands: Sequence[Any], given: Given) -> float:
    start, limit, delta = (float(np.asarray(each).reshape(())) for each in operands)
    return max(0.0, (limit - start) / delta) * operands[0].itemsize if delta else 0


def _pad(operands: Sequence[Any], given: Given) -> float:
    pads = [int(n) for n in operands[1]]
    rank = len(pads) // 2
    extents = list(operands[0].shape)
    fed = operands[_AXES] if len(operands) > _AXES else None
    axes = range(rank) if fed is None else fed.tolist()
    for k, axis in enumerate(axes):
        extents[axis] += pads[k] + pads[k + rank]
    return _product(extents) * operands[0].itemsize


def _one_hot(operands: Sequence[Any], given: Given) -> float:
    depth = float(np.asarray(operands[1]).reshape(-1)[0])
    return operands[0].size * max(depth, 0.0) * operands[2].itemsize


def _mel_weights(operands: Sequence[Any], given: Given) -> float:
    bands, length = (float(np.asarray(each).reshape(-1)[0]) for each in operands[:2])
    return max(bands, 0.0) * max(length / 2 + 1, 0.0) * 4  # float32 or wider


def _window(operands: Sequence[Any], given: Given) -> float:
    return float(np.asarray(operands[0]).reshape(-1)[0]) * 2  # float16 or wider


def _crop_or_pad(operands: Sequence[Any], given: Given) -> float:
    extents = list(operands[0].shape)
    for axis, n in zip(given.get("axes", range(len(extents))), operands[1].tolist(), strict=True):
        extents[axis] = n
    return _product(extents) * operands[0].itemsize


def _columns_to_image(operands: Sequence[Any], given: Given) -> float:
    columns, image, block = operands[:3]
    maps = columns.shape[0] * columns.shape[1] // max(int(_product(block)), 1)
    return maps * _product(image) * columns.itemsize


def _unpool(operands: Sequence[Any], given: Given) -> float:
    return _product(operands[2]) * operands[0].itemsize if len(operands) > 2 else 0.0


def _regions(operands: Sequence[Any], given: Given) -> float:
    """RoiAlign and MaxRoiPool: a small image of each map for each region."""
    image, regions = operands[:2]
    extents = given.get("pooled_shape") or (given["output_height"], given["output_width"])
    return _product([len(regions), image.shape[1], *extents]) * image.itemsize


def _sampled(operands: Sequence[Any], given: Given) -> float:
    image, grid = operands
    return _product([*image.shape[:2], *grid.shape[1:-1]]) * image.itemsize


def _grid(operands: Sequence[Any], given: Given) -> float:
    size = operands[1].tolist()
    return _product([size[0], *size[2:], len(size) - 2]) * operands[0].itemsize


def _fourier(operands: Sequence[Any], given: Given) -> float:
    length = operands[1] if len(operands) > 1 else None
    if length is None:
        return 0.0
    return operands[0].nbytes / max(operands[0].shape) * float(np.asarray(length).reshape(-1)[0])


def _frames(operands: Sequence[Any], given: Given) -> float:
    signal, step, window, length = (*operands, None, None)[:4]
    size = len(window) if length is None else int(length.reshape(-1)[0])
    frames = (signal.shape[1] - size) // int(step.reshape(-1)[0]) + 1
    return float(signal.shape[0] * frames * (size // 2 + 1) * 2 * signal.itemsize)


def _places(operands: Sequence[Any], given: Given) -> float:
    """An index of each axis for each nonzero element."""
    return 8.0 * operands[0].ndim * np.count_nonzero(operands[0])


def _numbers(operands: Sequence[Any], given: Given) -> float:
    """For each element the number of the distinct one that it equals."""
    return 8.0 * operands[0].size


def _joined_text(operands: Sequence[Any], given: Given) -> float:
    """A byte or more for each character of the texts, which broadcasting repeats."""
    if not all(each.size for each in operands):
        return 0.0
    made = products.broadcast_size(*(each.shape for each in operands))
    return sum(characters(each) * made / each.size for each in operands)


def characters(texts: np.ndarray) -> int:
    """The number of characters of an array of text, which may hold other objects."""
    return sum(len(each) for each in texts.ravel().tolist() if isinstance(each, str | bytes))


def _split_text(operands: Sequence[Any], given: Given) -> float:
    """A reference for each part of the text with the most parts, in each row."""
    texts = operands[0].ravel().tolist()
    if len(texts) * max(map(len, texts), default=0) <= products.FEW:
        return 0.0
    delimiter, most = given.get("delimiter") or None, given.get("maxsplit")
    parts = max(len(each.split(delimiter, -1 if most is None else most)) for each in texts)
    return 8.0 * len(texts) * parts


def _product(numbers: Any) -> float:
    """The product of extents, 0 if one is not positive; infinite beyond float64."""
    extents = np.maximum(np.asarray(numbers, np.float64), 0)
    if not extents.all():
        return 0.0
    with np.errstate(over="ignore"):
        return float(np.prod(extents))


_ARITHMETIC = "Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Max Mean Min Mod Mul Or PRelu"
_ARITHMETIC += " Pow Sub Sum Where Xor"
_COMPARISONS = "Equal Greater GreaterOrEqual Less LessOrEqual"
_COUNTS: Mapping[str, Callable[..., float]] = {
    **dict.fromkeys(_ARITHMETIC.split(), products.arithmetic),
    **dict.fromkeys(_COMPARISONS.split(), products.comparison),
    **dict.fromkeys(("MatMul", "MatMulInteger"), products.matmul),
    **dict.fromkeys(("Conv", "ConvInteger"), products.convolution),
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), products.pool),
    **dict.fromkeys(("RandomNormal", "RandomUniform"), products.of_shape),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), _window),
    **dict.fromkeys(("Resize", "Upsample"), _resize),
    **dict.fromkeys(("MaxRoiPool", "RoiAlign"), _regions),
    "AffineGrid": _grid,
    "Attention": products.attention,
    "CenterCropPad": _crop_or_pad,
    "Col2Im": _columns_to_image,
    "Concat": products.concatenation,
    "ConstantOfShape": _shape,
    "ConvTranspose": products.transposed_convolution,
    "DFT": _fourier,
    "Einsum": products.einsum,
    "Expand": _expand,
    "Gather": products.gather,
    "GatherND": products.gather_nd,
    "Gemm": products.gemm,
    "GridSample": _sampled,
    "MaxUnpool": _unpool,
    "MelWeightMatrix": _mel_weights,
    "NonZero": _places,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Range": _range,
    "STFT": _frames,
    "StringConcat": _joined_text,
    "StringSplit": _split_text,
    "Tile": _tile,
    "Unique": _numbers,
}
_BROADCAST = frozenset((*_ARITHMETIC.split(), *_COMPARISONS.split()))
_GROWING = _BROADCAST | {
    "Attention", "AveragePool", "Conv", "ConvInteger", "ConvTranspose", "Einsum", "Gather",
    "GatherND", "Gemm", "GridSample", "LpPool", "MatMul", "MatMulInteger", "MaxPool", "MaxRoiPool",
    "QLinearConv", "QLinearMatMul", "RoiAlign",
}  # fmt: skip
_TEMPORARIES: Mapping[str, Callable[..., float]] = {
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), products.padded),
    **dict.fromkeys(("Conv", "ConvInteger"), products.columns),
    "Unique": lambda operands, given: 3 * _numbers(operands, given),
}
