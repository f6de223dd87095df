"""Sliced inputs of a loop: the outer value is cut into parts, one for each iteration.

start, end      the start of the first part and the end of the last; -1 is the end, -2 one before
stride          the step from part to part; below 0 the last part comes first
part_size       the length of a part along the axis, which the part keeps
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treadle.formats.openvino.block_builder import LayerBlockBuilder
from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.records import Layer, PortEntry
from treadle.ir import Tensor, Value

_END = np.iinfo(np.int64).max


class LoopSlice(NamedTuple):
    """One sliced value: from `low` to `high` along `axis`, `part` of every `step`."""

    value: Value
    claim: Tensor
    axis: int
    low: int
    high: int
    step: int
    part: int
    reverse: bool


def loop_slice_of(draft: LayerBlockBuilder, value: Value, entry: PortEntry) -> LoopSlice:
    """The slice described by a port map entry; raises IrError if it makes no sense."""
    claim = draft.type_of(value)
    start = 0 if entry.start is None else entry.start
    end = -1 if entry.end is None else entry.end
    stride = 1 if entry.stride is None else entry.stride
    part = 1 if entry.part_size is None else entry.part_size
    if stride == 0 or part < 1:
        message = f"a slice has stride {stride} and part_size {part}, wanted steps and parts"
        raise IrError("CF907", message, line=entry.line)
    if abs(stride) < part:
        message = f"the parts of a slice overlap: part_size {part}, stride {stride}"
        hint = "use a stride as long as the part, or more"
        raise IrError("CF907", message, hint, entry.line)
    low, high = (start, end) if stride > 0 else (end, start)
    axis = checked_axis(claim, entry)
    return LoopSlice(value, claim, axis, _place(low), _place(high), abs(stride), part, stride < 0)


def checked_axis(claim: Tensor, entry: PortEntry) -> int:
    """The axis, from the front if the rank is known."""
    assert entry.axis is not None, "only sliced and concatenated ports have an axis"
    if claim.shape is None:
        return entry.axis
    rank = len(claim.shape)
    if not -rank <= entry.axis < rank:
        message = f"axis {entry.axis} is out of range for {claim}"
        raise IrError("CF907", message, line=entry.line)
    return entry.axis % rank


def _place(index: int) -> int:
    """The bound in the counting of ONNX's Slice."""
    if index >= 0:
        return index
    return _END if index == -1 else index + 1


def sliced(draft: LayerBlockBuilder, cut: LoopSlice) -> Value:
    """The value that a loop slices: unchanged for parts of one item, else [.., n, part, ..]."""
    value = _trimmed(draft, cut)
    if cut.step == 1:
        return value
    axis = _front(cut)
    extent = draft.leaf("Shape", value, start=axis, end=axis + 1)
    count = draft.leaf("Div", extent, draft.whole(cut.step))
    parts = [count, draft.whole(cut.step)]
    if axis:
        parts.insert(0, draft.leaf("Shape", value, start=0, end=axis))
    parts.append(draft.leaf("Shape", value, start=axis + 1))
    shape = draft.leaf("Concat", *parts, axis=0)
    value = draft.leaf("Reshape", value, shape, allowzero=1)
    if cut.part == cut.step:
        return value
    first = cut.step - cut.part if cut.reverse else 0
    bounds = (draft.whole(first), draft.whole(first + cut.part), draft.whole(axis + 1))
    return draft.leaf("Slice", value, *bounds)


def _trimmed(draft: LayerBlockBuilder, cut: LoopSlice) -> Value:
    if cut.low == 0 and cut.high == _END:
        return cut.value
    bounds = (draft.whole(cut.low), draft.whole(cut.high), draft.whole(cut.axis))
    return draft.leaf("Slice", cut.value, *bounds)


def _front(cut: LoopSlice) -> int:
    if cut.axis < 0:
        raise IrError("CF907", f"axis {cut.axis} of {cut.value.name}, whose rank is not known")
    return cut.axis


def enter_slice(draft: LayerBlockBuilder, layer: Layer, cut: LoopSlice) -> Value:
    """The value in the body: the part, with its axis."""
    param = draft.param(layer.name)
    shape, axis = cut.claim.shape, cut.axis
    kept = (cut.part,) if cut.step > 1 else ()
    if shape is not None:
        shape = (*shape[:axis], *kept, *shape[axis + 1 :])
    draft.know(param, Tensor(cut.claim.dtype, shape))
    return param if cut.step > 1 else draft.leaf("Unsqueeze", param, draft.whole(axis))


def length_of(draft: LayerBlockBuilder, cut: LoopSlice) -> Value:
    """The number of parts, a scalar."""
    axis = cut.axis
    bounds = {"start": axis, **({"end": axis + 1} if axis != -1 else {})}
    extent = draft.leaf("Shape", _trimmed(draft, cut), **bounds)
    count = extent if cut.step == 1 else draft.leaf("Div", extent, draft.whole(cut.step))
    return draft.leaf("Squeeze", count, draft.whole(0))
