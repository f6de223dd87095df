"""SplitToSequence on the tensors that stand for a list.

SplitToSequence(x)              the axis of x moved to the front
SplitToSequence(x, lengths)     a Loop that appends one slice in each iteration
"""

from __future__ import annotations

import numpy as np

from treadle.ir import DType, Leaf, Tensor, Value
from treadle.passes.rewrites.lists.forms import Form, Parts
from treadle.passes.rewrites.lists.operators import checked, empty, insert, loop
from treadle.passes.rewrites.writer import Writer
from treadle.passes.simplify.operators import attribute

_INT64 = DType.INT64


def split(writer: Writer, form: Form, step: Leaf) -> Parts:
    """The list of slices of a tensor along an axis."""
    x, *rest = step.operands
    assert x is not None, "SplitToSequence has an input"
    lengths = rest[0] if rest else None
    axis = attribute(step, "axis", 0)
    assert isinstance(axis, int), "an attribute of the schema"
    if lengths is not None:
        return _by_lengths(writer, form, x, lengths, axis)
    keepdims = bool(attribute(step, "keepdims", 1))
    rank = len(form.dims) + (not keepdims)
    axis %= rank
    order = [axis, *(k for k in range(rank) if k != axis)]
    content = writer.leaf("Transpose", x, perm=order)
    if keepdims:
        content = writer.unsqueeze(content, axis + 1)
    if not form.is_ragged:
        return Parts(content)
    shape = writer.leaf("Shape", content)
    count = writer.slice(shape, 0, 1, 0)
    extents = writer.slice(shape, 1, rank + 1, 0)
    rows = writer.leaf("Concat", count, writer.ints(len(form.dims)), axis=0)
    return Parts(content, writer.leaf("Expand", extents, rows))


def _by_lengths(writer: Writer, form: Form, x: Value, lengths: Value, axis: int) -> Parts:
    axis %= len(form.dims)
    shape = writer.leaf("Shape", x)
    extent = writer.leaf("Gather", shape, writer.number(axis, _INT64))
    given = writer.cast(lengths, _INT64)
    shape_of_lengths = writer.at.shape(lengths)
    assert shape_of_lengths is not None, "looked at before"
    each = (
        _equal(writer, given, extent) if shape_of_lengths == () else _proven(writer, given, extent)
    )
    start = empty(writer, form)

    def body(inner: Writer, i: Value, begin: Value, *parts: Value) -> tuple[Value, ...]:
        size = inner.unsqueeze(inner.leaf("Gather", each, i), 0)
        end = inner.leaf("Add", begin, size)
        piece = inner.leaf("Slice", x, begin, end, inner.ints(axis))
        longer = insert(inner, form, Parts(*parts), piece)
        return (end, *longer.values)

    counted = writer.leaf("Gather", writer.leaf("Shape", each), writer.number(0, _INT64))
    named = form.new("part").values
    types = [value.declared for value in named]
    carried = [(writer.ints(0), Tensor(_INT64, (1,)))]
    carried += [
        (value, type_)
        for value, type_ in zip(start.values, types, strict=True)
        if isinstance(type_, Tensor)
    ]
    return Parts(*loop(writer, counted, carried, body)[1:])


def _equal(writer: Writer, length: Value, extent: Value) -> Value:
    """The lengths of slices that are equally long, but for the last; a length below 1 fails."""
    zero = writer.number(0, _INT64)
    length = checked(writer, length, writer.leaf("Less", zero, length))
    starts = writer.leaf("Range", zero, extent, length)
    left = writer.leaf("Sub", extent, starts)
    return writer.leaf("Where", writer.leaf("Less", left, length), left, length)


def _proven(writer: Writer, lengths: Value, extent: Value) -> Value:
    """The lengths; they fail unless they sum to the extent, and none is negative."""
    total = _sum(writer, writer.leaf("Abs", lengths))
    is_whole = writer.leaf("Equal", total, extent)
    is_positive = writer.leaf("Equal", _sum(writer, lengths), extent)
    return checked(writer, lengths, writer.leaf("And", is_whole, is_positive))


def _sum(writer: Writer, x: Value) -> Value:
    """The sum of a vector, also of an empty one, as a scalar."""
    padded = writer.leaf("Concat", x, writer.number(np.array([0]), _INT64), axis=0)
    return writer.leaf("ReduceSum", padded, keepdims=0)
