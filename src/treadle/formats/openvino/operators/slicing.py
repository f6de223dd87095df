"""Slice, and StridedSlice with its masks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value

_LEAST, _MOST = -(2**63), 2**63 - 1


@layer("Slice", 8)
def slice_(context: LayerContext) -> Made:
    """Slice axes from start to stop in steps; by default all axes."""
    start, stop, step = (context.list64(k) for k in (1, 2, 3))
    axes = context.list64(4) if context.get(4) is not None else None
    return context.leaf("Slice", context[0], start, stop, axes, step)


class _Part(NamedTuple):
    """One position of a StridedSlice: "slice" an axis, "shrink" it, or add a "new" one."""

    what: str
    position: int
    axis: int


@layer("StridedSlice", 1)
def strided_slice(context: LayerContext) -> Made:
    """StridedSlice: x[begin:end:stride] as in numpy; masks ignore bounds, shrink or add axes.

    x[1, ::2, None, ..., -1:]
    """
    parts = _parts(context)
    value = _sliced(context, [part for part in parts if part.what == "slice"])
    value = _shrunk(context, value, [part for part in parts if part.what == "shrink"])
    return _widened(context, value, parts)


def _masks(context: LayerContext, count: int) -> dict[str, list[int]]:
    names = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
    masks = {name: context.integers(name, ()) for name in names}
    return {name: (mask + [0] * count)[: max(count, len(mask))] for name, mask in masks.items()}


def _count(context: LayerContext) -> int:
    known, shape = context.array(1), context.shape(1)
    count = known.size if known is not None else (shape or (None,))[0]
    if not isinstance(count, int):
        raise IrError("CF909", "the number of bounds is not known")
    return count


def _parts(context: LayerContext) -> list[_Part]:
    count = _count(context)
    masks = _masks(context, count)
    parts: list[_Part] = []
    axis = 0
    for position in range(count):
        if masks["ellipsis_mask"][position]:
            behind = range(position + 1, count)
            taken = sum(not masks["new_axis_mask"][k] for k in behind)
            axis = context.rank(0) - taken
            parts.append(_Part("ellipsis", position, axis))
            continue
        if masks["new_axis_mask"][position]:
            parts.append(_Part("new", position, axis))
            continue
        shrinks = masks["shrink_axis_mask"][position]
        parts.append(_Part("shrink" if shrinks else "slice", position, axis))
        axis += 1
    return parts


def _sliced(context: LayerContext, parts: list[_Part]) -> Value:
    count = _count(context)
    masks = _masks(context, count)
    if all(masks["begin_mask"][p.position] and masks["end_mask"][p.position] for p in parts) and (
        context.get(3) is None
        or all(context.wholes(3, "the strides")[p.position] == 1 for p in parts)
    ):
        return context[0]
    strides = [1] * count if context.get(3) is None else context.wholes(3, "the strides")
    begins = _bounds(
        context, 1, parts, masks["begin_mask"], [0 if s > 0 else _MOST for s in strides]
    )
    ends = _bounds(
        context, 2, parts, masks["end_mask"], [_MOST if s > 0 else _LEAST for s in strides]
    )
    axes = context.whole(*(part.axis for part in parts))
    steps = context.whole(*(strides[part.position] for part in parts))
    return context.leaf("Slice", context[0], begins, ends, axes, steps)


def _bounds(
    context: LayerContext, position: int, parts: list[_Part], mask: list[int], open_: list[int]
) -> Value:
    places = [part.position for part in parts]
    if context.array(position) is not None:
        given = context.wholes(position, "a bound")
        return context.whole(*(open_[k] if mask[k] else given[k] for k in places))
    given_ = context.leaf("Gather", context.list64(position), context.whole(*places), axis=0)
    if not any(mask[k] for k in places):
        return given_
    free = context.constant(np.array([bool(mask[k]) for k in places]))
    return context.leaf("Where", free, context.whole(*(open_[k] for k in places)), given_)


def _shrunk(context: LayerContext, value: Value, parts: list[_Part]) -> Value:
    """Select one item of each of these axes, the last axis first so that positions stay valid."""
    for part in reversed(parts):
        array = context.array(1)
        if array is not None:
            index = context.constant(array.reshape(-1)[part.position].astype("int64"))
        else:
            spot = context.whole(part.position)
            index = context.leaf("Gather", context.list64(1), spot, axis=0)
            index = context.leaf("Squeeze", index, context.whole(0))
        value = context.leaf("Gather", value, index, axis=part.axis)
    return value


def _widened(context: LayerContext, value: Value, parts: list[_Part]) -> Value:
    places, out, axis = [], 0, 0
    for part in parts:
        if part.what == "ellipsis":
            out += part.axis - axis
            axis = part.axis
        elif part.what == "new":
            places.append(out)
            out += 1
        else:
            axis += 1
            out += part.what == "slice"
    return context.leaf("Unsqueeze", value, context.whole(*places)) if places else value
