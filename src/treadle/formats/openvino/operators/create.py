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
def shape_of(context: LayerContext) -> Made:
    """ShapeOf: the extents."""
    return typed(context, context.leaf("Shape", context[0]), "output_type")


@layer("Range", 1, 4)
def range_(context: LayerContext) -> Made:
    """start, start + step ... up to stop, exclusive."""
    dtype = context.dtype(0) if context.version < 4 else context.element("output_type")
    kinds = [context.is_float(k) for k in range(3)]
    if any(kinds) and dtype.numpy.kind in "iu" and not _is_clear(context):
        message = "integers between floats: its specification truncates them to integers first, and"
        raise IrError("CF909", f"{message} counts the floats, which gives two lengths",
                    "compute the range in floats and convert it")  # fmt: skip
    ends = []
    for k in range(3):
        array = context.array(k)
        if array is not None:
            ends.append(context.constant(array.astype(dtype.numpy).reshape(())))
            continue
        value = context[k] if context.dtype(k) is dtype else context.cast(context[k], dtype)
        ends.append(
            value if context.rank(k) == 0 else context.leaf("Reshape", value, context.whole())
        )
    return context.leaf("Range", *ends)


def _is_clear(context: LayerContext) -> bool:
    """Whether the bounds are constants for which both readings give the same length."""
    arrays = [context.array(k) for k in range(3)]
    ends = [float(array.reshape(-1)[0]) for array in arrays if array is not None and array.size]
    if len(ends) < len(arrays) or not all(map(math.isfinite, ends)) or not int(ends[2]):
        return False
    counts = [
        max(math.ceil((stop - start) / step), 0) for start, stop, step in (ends, map(int, ends))
    ]
    return counts[0] == counts[1]


@layer("Eye", 9)
def eye(context: LayerContext) -> Made:
    """Ones on a diagonal, for as many matrices as the batch shape has."""
    extents = context.leaf("Concat", context.list64(0), context.list64(1), axis=0)
    dtype = context.element("output_type")
    zero = {"value": np.zeros(1, dtype.numpy)}
    zeros = context.leaf("ConstantOfShape", extents, **zero)
    matrix = context.leaf("EyeLike", zeros, k=context.axis(2))
    if context.get(3) is None:
        return matrix
    return context.leaf(
        "Expand", matrix, context.leaf("Concat", context.list64(3), extents, axis=0)
    )


@layer("Broadcast", 1, 3)
def broadcast(context: LayerContext) -> Made:
    """Broadcast to a shape."""
    # "none" is how version 1 spells what its specification calls "explicit"
    mode = context.text("mode", "numpy", "numpy", "explicit", "none", "bidirectional", "pdpd")
    shape = context.list64(1)
    if mode in ("numpy", "bidirectional"):
        return context.leaf("Expand", context[0], shape)
    if mode == "pdpd":
        raise IrError("CF909", "mode pdpd is not supported here")
    return context.leaf("Expand", _placed(context), shape)


def _placed(context: LayerContext) -> Value:
    """The operand with its axes placed by `axes_mapping`."""
    places = context.wholes(2, "axes_mapping")
    wanted = context.shape(1)
    known = context.array(1)
    rank = known.size if known is not None else (wanted or (None,))[0]
    if not isinstance(rank, int):
        raise IrError("CF909", "the length of the target shape is not known")
    if places != sorted(set(places)) or any(not 0 <= index < rank for index in places):
        raise IrError("CF909", f"axes_mapping {places} does not rise within {rank} axes")
    missing = [axis for axis in range(rank) if axis not in places]
    return context.leaf("Unsqueeze", context[0], context.whole(*missing)) if missing else context[0]


@layer("Tile", 1)
def tile(context: LayerContext) -> Made:
    """Repeat along each axis; the shorter of ranks and repeats is padded with ones in front."""
    rank = context.rank(0)
    shape, known = context.shape(1), context.array(1)
    count = known.size if known is not None else (shape or (None,))[0]
    if not isinstance(count, int):
        raise IrError("CF909", "the number of repeats is not known")
    value, repeats = context[0], context.list64(1)
    if count > rank:
        value = context.leaf("Unsqueeze", value, context.whole(*range(count - rank)))
    if count < rank:
        repeats = context.leaf("Concat", context.whole(*[1] * (rank - count)), repeats, axis=0)
    return context.leaf("Tile", value, repeats)
