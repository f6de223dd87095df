"""Tensors made from sizes: ShapeOf, Range, Eye, Broadcast, Tile."""

from __future__ import annotations

import math

import numpy as np

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.formats.openvino.operators.select import typed
from treadle.ir import Value


@layer("ShapeOf", 1, 3)
def shape_of(hand: LayerContext) -> Made:
    """ShapeOf: the extents."""
    return typed(hand, hand.leaf("Shape", hand[0]), "output_type")


@layer("Range", 1, 4)
def range_(hand: LayerContext) -> Made:
    """start, start + step ... up to stop, exclusive."""
    dtype = hand.dtype(0) if hand.version < 4 else hand.element("output_type")
    kinds = [hand.is_float(k) for k in range(3)]
    if any(kinds) and dtype.numpy.kind in "iu" and not _is_clear(hand):
        message = "integers between floats: its specification truncates them to integers first, and"
        raise IrError("CF909", f"{message} counts the floats, which gives two lengths",
                    "compute the range in floats and convert it")  # fmt: skip
    ends = []
    for k in range(3):
        array = hand.array(k)
        if array is not None:
            ends.append(hand.constant(array.astype(dtype.numpy).reshape(())))
            continue
        value = hand[k] if hand.dtype(k) is dtype else hand.cast(hand[k], dtype)
        ends.append(value if hand.rank(k) == 0 else hand.leaf("Reshape", value, hand.whole()))
    return hand.leaf("Range", *ends)


def _is_clear(hand: LayerContext) -> bool:
    """Whether the bounds are constants for which both readings give the same length."""
    arrays = [hand.array(k) for k in range(3)]
    ends = [float(array.reshape(-1)[0]) for array in arrays if array is not None and array.size]
    if len(ends) < len(arrays) or not all(map(math.isfinite, ends)) or not int(ends[2]):
        return False
    counts = [
        max(math.ceil((stop - start) / step), 0) for start, stop, step in (ends, map(int, ends))
    ]
    return counts[0] == counts[1]


@layer("Eye", 9)
def eye(hand: LayerContext) -> Made:
    """Ones on a diagonal, for as many matrices as the batch shape has."""
    extents = hand.leaf("Concat", hand.list64(0), hand.list64(1), axis=0)
    dtype = hand.element("output_type")
    zero = {"value": np.zeros(1, dtype.numpy)}
    zeros = hand.leaf("ConstantOfShape", extents, **zero)
    matrix = hand.leaf("EyeLike", zeros, k=hand.axis(2))
    if hand.get(3) is None:
        return matrix
    return hand.leaf("Expand", matrix, hand.leaf("Concat", hand.list64(3), extents, axis=0))


@layer("Broadcast", 1, 3)
def broadcast(hand: LayerContext) -> Made:
    """Broadcast to a shape."""
    # "none" is how version 1 spells what its specification calls "explicit"
    mode = hand.text("mode", "numpy", "numpy", "explicit", "none", "bidirectional", "pdpd")
    shape = hand.list64(1)
    if mode in ("numpy", "bidirectional"):
        return hand.leaf("Expand", hand[0], shape)
    if mode == "pdpd":
        raise IrError("CF909", "mode pdpd is not supported here")
    return hand.leaf("Expand", _placed(hand), shape)


def _placed(hand: LayerContext) -> Value:
    """The operand with its axes placed by `axes_mapping`."""
    places = hand.wholes(2, "axes_mapping")
    wanted = hand.shape(1)
    known = hand.array(1)
    rank = known.size if known is not None else (wanted or (None,))[0]
    if not isinstance(rank, int):
        raise IrError("CF909", "the length of the target shape is not known")
    if places != sorted(set(places)) or any(not 0 <= place < rank for place in places):
        raise IrError("CF909", f"axes_mapping {places} does not rise within {rank} axes")
    missing = [axis for axis in range(rank) if axis not in places]
    return hand.leaf("Unsqueeze", hand[0], hand.whole(*missing)) if missing else hand[0]


@layer("Tile", 1)
def tile(hand: LayerContext) -> Made:
    """Repeat along each axis; the shorter of ranks and repeats is padded with ones in front."""
    rank = hand.rank(0)
    shape, known = hand.shape(1), hand.array(1)
    count = known.size if known is not None else (shape or (None,))[0]
    if not isinstance(count, int):
        raise IrError("CF909", "the number of repeats is not known")
    value, repeats = hand[0], hand.list64(1)
    if count > rank:
        value = hand.leaf("Unsqueeze", value, hand.whole(*range(count - rank)))
    if count < rank:
        repeats = hand.leaf("Concat", hand.whole(*[1] * (rank - count)), repeats, axis=0)
    return hand.leaf("Tile", value, repeats)
