"""Stacked results as what a loop carried before: what goes behind a loop that stacks instead."""

from __future__ import annotations

import numpy as np

from treadle.ir import Value
from treadle.passes.clean.writing import Writer


def merged_rows(
    writer: Writer,
    stack: Value,
    row: Value,
    axis: int,
    like: Value | None = None,
    result: Value | None = None,
) -> Value:
    """A stack of rows put one behind the other along one of their own axes.

    [n, *before, k, *behind]  ->  [*before, n * k, *behind]

    Where an extent of a row may be 0, or is not certain, the other extents are those of `like`: a
    stack without an iteration does not have them.
    """
    shape, extents = writer.at.shape(row), writer.at.extents(row)
    assert shape is not None, "a stack of rows of one shape"
    order = list(range(1, len(shape) + 1))
    order.insert(axis, 0)
    moved = writer.leaf("Transpose", stack, perm=order) if axis else stack
    if extents is not None and 0 not in extents:
        target = np.array([-1 if k == axis else extent for k, extent in enumerate(extents)])
        return writer.leaf("Reshape", moved, writer.constant(target), result=result)
    length = shape[axis]
    assert isinstance(length, int), "rows that are as long as one another"
    assert like is not None, "something that has the extents of the rows"
    places = np.arange(len(shape)) == axis
    count = writer.leaf("Gather", writer.leaf("Shape", stack), writer.constant(np.array([0])))
    along = writer.leaf("Mul", count, writer.constant(np.where(places, length, 0)))
    others = writer.leaf("Mul", writer.leaf("Shape", like), writer.constant(1 - places))
    extents_ = writer.leaf("Add", others, along)
    return writer.leaf("Reshape", moved, extents_, result=result, allowzero=1)
