"""Adapters for Softmax: over one axis since opset 13, before over all axes from one on."""

from __future__ import annotations

from treadle.ir import Leaf
from treadle.passes.versions.adapters.steps import first, having
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down, up

_ALL = "Softmax LogSoftmax Hardmax"


@up(_ALL, 13)
def one_axis(at: Rewriter, step: Leaf) -> Adapted:
    """Softmax over the last axis directly, over several through a flattened operand."""
    x, axis = first(step), at.attributes(step)["axis"]
    shape = at.shape(x)
    if axis == -1 or (shape is not None and axis % max(len(shape), 1) == len(shape) - 1):
        return having(step, axis=-1)
    if shape is not None and axis == len(shape):
        raise NoForm("its axis is behind the last one")
    flat = at.op("Flatten", x, axis=axis)
    return at.op("Reshape", at.op(step.op, flat, axis=-1), at.shape_of(x))


@down(_ALL, 13)
def all_axes_behind(at: Rewriter, step: Leaf) -> Adapted:
    """The last axis is equivalent in both; move another axis there."""
    x, axis = first(step), at.attributes(step)["axis"]
    if axis == -1:
        return having(step, axis=-1)
    rank = at.rank(x)
    axis %= max(rank, 1)
    if axis == rank - 1:
        return having(step, axis=axis)
    order = [k for k in range(rank) if k != axis] + [axis]
    back = [order.index(k) for k in range(rank)]
    made = at.op(step.op, at.op("Transpose", x, perm=order), axis=rank - 1)
    return at.op("Transpose", made, perm=back)


@down(_ALL, 11)
def positive_axis(at: Rewriter, step: Leaf) -> Adapted:
    """Before opset 11 the axis counts from the front."""
    axis = at.attributes(step)["axis"]
    return having(step, axis=axis % max(at.rank(first(step)), 1) if axis < 0 else axis)
