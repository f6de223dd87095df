"""Adapters for axes computed at run time: of reductions, Squeeze and Unsqueeze."""

from __future__ import annotations

import numpy as np

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.steps import first, operand, two
from treadle.passes.versions.no_form import NoForm
from treadle.passes.versions.rewriter import Rewriter

_SCATTER_RENAMED = 11
_TOGETHER = frozenset(["ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"])
"""Reductions that may be computed along one axis after the other."""


def mask_of_axes(at: Rewriter, axes: Value, rank: int) -> Value:
    """A mask bool[rank] of the given axes."""
    wide = at.cast(axes, DType.INT64)
    below = at.op("Less", wide, at.ints(0))
    wide = at.op("Where", below, at.op("Add", wide, at.ints(rank)), wide)
    same = at.op("Equal", at.unsqueeze(wide, 1), at.const(np.arange(rank)))
    counts = at.reduce("ReduceSum", at.cast(same, DType.INT32), [0], keepdims=False)
    return at.op("Greater", counts, at.const(np.array(0, np.int32)))


def unsqueezed_in_the_run(at: Rewriter, step: Leaf) -> Value:
    """Reshape the operand with ones inserted between its extents."""
    x, axes = two(step)
    count = at.dim(axes, 0)
    if not isinstance(count, int):
        raise NoForm("how many axes are added is not known", "make axes a constant")
    rank = at.rank(x) + count
    kept = at.op("Not", mask_of_axes(at, axes, rank))
    places = at.reshape(at.op("NonZero", kept), -1)
    ones = at.ints(*[1] * rank)
    scatter = "ScatterElements" if at.opset >= _SCATTER_RENAMED else "Scatter"
    shape = at.op(scatter, ones, places, at.op("Shape", x), axis=0) if at.rank(x) else ones
    return at.op("Reshape", x, shape)


def squeezed_in_the_run(at: Rewriter, step: Leaf) -> Value:
    """Reshape the operand without the extents of the axes."""
    x, axes = two(step)
    kept = at.op("Not", mask_of_axes(at, axes, at.rank(x)))
    return at.op("Reshape", x, at.compress(at.op("Shape", x), kept, 0))


def reduced_in_the_run(at: Rewriter, step: Leaf) -> Value:
    """Reduce the operand along each given axis; without keepdims reshape the result."""
    x, axes, given = first(step), operand(step, 1), at.attributes(step)
    if step.op not in _TOGETHER or axes is None:
        raise NoForm("axes is computed in the run", "make axes a constant")
    rank = at.rank(x)
    chosen = mask_of_axes(at, axes, rank)
    if not given["noop_with_empty_axes"]:
        count = at.op("Shape", axes)
        chosen = at.op("Or", chosen, at.op("Equal", count, at.ints(0)))
    for axis in range(rank):
        x = _reduced_if(at, step.op, x, axis, at.op("Gather", chosen, at.ints(axis)))
    if given["keepdims"]:
        return x
    kept = at.compress(at.op("Shape", x), at.op("Not", chosen), 0)
    return at.op("Reshape", x, kept)


def _reduced_if(at: Rewriter, op: str, x: Value, axis: int, chosen: Value) -> Value:
    """The reduced item if the axis is selected, else the items of the operand."""
    both = at.concat(at.reduce(op, x, [axis]), x, axis=axis)
    others = at.op("Expand", at.op("Not", chosen), at.extent(x, axis))
    return at.compress(both, at.concat(chosen, others), axis)
