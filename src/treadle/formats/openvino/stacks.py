"""Concatenated outputs of a loop: parts are stacked along a new axis and then merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from treadle.formats.openvino.block_builder import LayerBlockBuilder
from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.records import PortEntry
from treadle.formats.openvino.slices import checked_axis
from treadle.ir import Tensor, Value


class Join(NamedTuple):
    """One concatenated result: the body's value, the axis, and the length of a part."""

    value: Value
    claim: Tensor
    axis: int
    part: int
    reverse: bool


def join_of(draft: LayerBlockBuilder, value: Value, entry: PortEntry, dims: Sequence[int]) -> Join:
    """The concatenation described by a port map entry; raises IrError if it makes no sense.

    `dims` are those the file declares for the output, from which the bounds count.
    """
    stride = 1 if entry.stride is None else entry.stride
    part = 1 if entry.part_size is None else entry.part_size
    bounds = (0 if entry.start is None else entry.start, -1 if entry.end is None else entry.end)
    if not _is_all(bounds, stride, dims, entry.axis or 0):
        message = f"an output from {bounds[0]} to {bounds[1]} does not hold all its parts"
        raise IrError("CF907", message, "write start 0 and end -1, reversed for a negative stride",
                    entry.line)  # fmt: skip
    if abs(stride) != part or part < 1:
        message = f"an output with stride {stride} and part_size {part} has gaps or overlaps"
        raise IrError("CF907", message, "make them equal", entry.line)
    claim = draft.type_of(value)
    return Join(value, claim, checked_axis(claim, entry), part, stride < 0)


def _is_all(bounds: tuple[int, int], stride: int, dims: Sequence[int], axis: int) -> bool:
    """Whether the parts fill the axis from its start to its end, or in reverse."""
    forward = bounds if stride > 0 else bounds[::-1]
    if forward == (0, -1):
        return True
    extent = dims[axis] if -len(dims) <= axis < len(dims) else -1
    low, high = (bound + extent + 1 if bound < 0 else bound for bound in forward)
    return extent >= 0 and (low, high) == (0, extent)


def element(draft: LayerBlockBuilder, join: Join) -> Value:
    """The body's element for stacking: parts of one item lose their axis."""
    if join.part > 1:
        return join.value
    value = draft.leaf("Squeeze", join.value, draft.whole(join.axis))
    shape = join.claim.shape
    if shape is None:
        return value
    axis = join.axis
    declared = Tensor(join.claim.dtype, (*shape[:axis], *shape[axis + 1 :]))
    named = replace(value, declared=declared)
    draft.rename(len(draft.steps) - 1, {value: named})
    return named


def concatenated_stack(draft: LayerBlockBuilder, join: Join, stacked: Value) -> Value:
    """The loop's output, with its parts concatenated along the axis."""
    if join.part == 1:
        return stacked
    axis = join.axis
    if axis < 0:
        raise IrError("CF907", f"axis {axis} of an output whose rank is not known")
    extent = draft.leaf("Shape", stacked, start=axis, end=axis + 2)
    together = draft.leaf("ReduceProd", extent, keepdims=1)
    parts = [together, draft.leaf("Shape", stacked, start=axis + 2)]
    if axis:
        parts.insert(0, draft.leaf("Shape", stacked, start=0, end=axis))
    return draft.leaf("Reshape", stacked, draft.leaf("Concat", *parts, axis=0), allowzero=1)
