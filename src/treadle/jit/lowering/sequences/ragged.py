"""Ragged sequences as tensors: all elements, their offsets and their shapes.

Element `k` is flat[ends[k]:ends[k + 1]].reshape(shapes[k]). An extent that is equal for all
elements is also known statically; it is checked when elements are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Axis, Cumulative, Gather, Node, Number, Reshape, Scatter, Take
from treadle.jit.kernel.views import axis_slice
from treadle.jit.lowering.operators.gather_scatter import steps
from treadle.jit.lowering.operators.layout import concat_along, listed
from treadle.jit.lowering.operators.reduce import reduced

Numbers = Sequence[Number]
_WHOLE = DType.INT64


Known = Sequence[int]
"""The common extents of all elements, -1 for one that varies."""


class Ragged(NamedTuple):
    """A list by its component arrays: T[N], int64[n + 1] and int64[n, rank]."""

    flat: Node
    ends: Node
    shapes: Node
    known: Known

    @property
    def length(self) -> Number:
        """The number of elements."""
        return self.shapes.shape[0]

    @property
    def rank(self) -> int:
        """The rank of an element."""
        rank = self.shapes.shape[1]
        assert isinstance(rank, int)
        return rank


def none(builder: KernelBuilder, dtype: DType, rank: int, known: Known) -> Ragged:
    """An empty list."""
    flat, ends, shapes = np.empty(0, dtype.numpy), np.zeros(1, np.int64), np.empty((0, rank))
    whole = builder.constant(shapes.astype(np.int64))
    return Ragged(builder.constant(flat), builder.constant(ends), whole, known)


def one(builder: KernelBuilder, node: Node, known: Known) -> Ragged:
    """A list of this one element."""
    expect_known(builder, node.shape, known)
    size = builder.product(node.shape)
    shape = builder.reshape(listed(builder, node.shape), (1, len(node.shape)))
    return Ragged(builder.reshape(node, (size,)), listed(builder, (0, size)), shape, known)


def alike(builder: KernelBuilder, items: Node, known: Known) -> Ragged:
    """A list of the items along the first axis."""
    count, *shape = items.shape
    expect_known(builder, shape, known)
    size, row = builder.product(shape), builder.reshape(listed(builder, shape), (1, len(shape)))
    ends = builder.map("mul", steps(builder, 1, 0, builder.plus(count, 1)), builder.dim(size))
    flat = builder.reshape(items, (builder.times(count, size),))
    return Ragged(flat, ends, builder.expand(row, (count, len(shape))), known)


def expect_known(builder: KernelBuilder, shape: Numbers, known: Known) -> None:
    """Decline at run time if an element does not have the common extents."""
    if len(shape) != len(known):
        raise Declined(
            f"an element of rank {len(shape)} in a sequence of elements of rank {len(known)}"
        )
    for extent, wanted in zip(shape, known, strict=True):
        if wanted >= 0:
            builder.expect_equal(extent, wanted)


def chained(builder: KernelBuilder, lists: Sequence[Ragged]) -> Ragged:
    """Concatenate lists; there is at least one."""
    ends, last = [lists[0].ends], _last(builder, lists[0])
    for each in lists[1:]:
        ends.append(builder.map("add", axis_slice(builder, each.ends, 0, 1, 1, each.length), last))
        last = builder.map("add", last, _last(builder, each))
    flat = concat_along(builder, [each.flat for each in lists], 0)
    shapes = concat_along(builder, [each.shapes for each in lists], 0)
    return Ragged(flat, concat_along(builder, ends, 0), shapes, lists[0].known)


def some(builder: KernelBuilder, items: Ragged, first: Number, count: Number) -> Ragged:
    """A range of elements."""
    start, end = (
        _scalar(builder, items.ends, each) for each in (first, builder.plus(first, count))
    )
    ends = builder.map(
        "sub", axis_slice(builder, items.ends, 0, first, 1, builder.plus(count, 1)), start
    )
    flat = axis_slice(builder, items.flat, 0, builder.number(start), 1, _apart(builder, start, end))
    return Ragged(flat, ends, axis_slice(builder, items.shapes, 0, first, 1, count), items.known)


def element(builder: KernelBuilder, items: Ragged, index: Number) -> Node:
    """One element."""
    start = _scalar(builder, items.ends, index)
    size: Number = prod(items.known)
    if any(extent < 0 for extent in items.known):
        size = _apart(builder, start, _scalar(builder, items.ends, builder.plus(index, 1)))
    flat = axis_slice(builder, items.flat, 0, builder.number(start), 1, size)
    return _shaped(builder, flat, _shape(builder, items, index))


def concatenated(builder: KernelBuilder, items: Ragged, axis: int) -> Node:
    """Concatenate the elements along an axis; their other extents must agree."""
    builder.expect(builder.compare("greater", items.length, 0))
    first = _shape(builder, items, 0)
    _expect_alike(builder, items, [k for k in range(items.rank) if k != axis])
    lengths = _column(builder, items, axis)
    total = builder.number(reduced(builder, "add", lengths, [0], keep=False))
    shape = [*first[:axis], total, *first[axis + 1 :]]
    if builder.product(first[:axis]) == 1:
        return _shaped(builder, items.flat, shape)
    grid = (builder.product(first[:axis]), total, builder.product(first[axis + 1 :]))
    places = _places(builder, items.ends, lengths, grid)
    return _shaped(
        builder, builder.add(Gather((0,)), items.flat.dtype, grid, items.flat, places), shape
    )


def stacked(builder: KernelBuilder, items: Ragged) -> Node:
    """The elements, which have one shape, stacked along a new first axis."""
    builder.expect(builder.compare("greater", items.length, 0))
    _expect_alike(builder, items, range(items.rank))
    return _shaped(builder, items.flat, [items.length, *_shape(builder, items, 0)])


def pieces(
    builder: KernelBuilder, node: Node, axis: int, lengths: Node, known: Known, *, keep: bool = True
) -> Ragged:
    """The tensor split into pieces of these lengths, which cover the axis.

    Without `keep` the axis is removed, and pieces have one item.
    """
    count, extent = lengths.shape[0], node.shape[axis]
    outer, inner = builder.product(node.shape[:axis]), builder.product(node.shape[axis + 1 :])
    sizes = builder.map("mul", lengths, builder.dim(builder.times(outer, inner)))
    zero = builder.constant(np.zeros(1, np.int64))
    ends = concat_along(
        builder, [zero, builder.add(Cumulative("add", 0, False), _WHOLE, (count,), sizes)], 0
    )
    flat = builder.reshape(node, (builder.product(node.shape),))
    if axis:
        grid = (outer, extent, inner)
        nothing = builder.expand(builder.scalar(0, node.dtype), flat.shape)
        places = _places(builder, ends, lengths, grid)
        flat = builder.add(
            Scatter("", (0,)), node.dtype, flat.shape, nothing, builder.reshape(node, grid), places
        )
    each_of = [-1 if k == axis else e for k, e in enumerate(node.shape) if k != axis or keep]
    expect_known(builder, each_of, known)
    columns = [
        builder.reshape(lengths, (count, 1))
        if k == axis
        else builder.expand(builder.dim(each), (count, 1))
        for k, each in enumerate(node.shape)
        if k != axis or keep
    ]
    no_columns = builder.constant(np.empty((0, 0), np.int64))
    shapes = (
        concat_along(builder, columns, 1) if columns else builder.expand(no_columns, (count, 0))
    )
    return Ragged(flat, ends, shapes, known)


def _places(builder: KernelBuilder, ends: Node, lengths: Node, grid: Numbers) -> Node:
    """The positions in the flat elements of those of a tensor [outer, columns, inner].

    Its columns are those of the elements, side by side: `lengths` of each.
    """
    (count,), (_, columns, inner) = lengths.shape, grid
    begin = builder.add(Cumulative("add", 0, True), _WHOLE, (count,), lengths)
    marks = builder.expand(builder.scalar(0, _WHOLE), (builder.plus(columns, 1),))
    ones = builder.expand(builder.scalar(1, _WHOLE), (count,))
    marks = builder.add(Scatter("add", (0,)), _WHOLE, marks.shape, marks, ones, begin)
    passed = axis_slice(
        builder,
        builder.add(Cumulative("add", 0, False), _WHOLE, marks.shape, marks),
        0,
        0,
        1,
        columns,
    )
    owner = builder.map("sub", passed, builder.scalar(1, _WHOLE))

    def owned(values: Node) -> Node:
        found = builder.add(Take(0), _WHOLE, (columns,), values, owner)
        return builder.reshape(found, (1, columns, 1))

    within = builder.map("sub", steps(builder, 3, 1, columns), owned(begin))
    row = builder.map("mul", steps(builder, 3, 0, grid[0]), owned(lengths))
    item = builder.map("mul", builder.map("add", row, within), builder.dim(inner))
    start = owned(axis_slice(builder, ends, 0, 0, 1, count))
    return builder.map("add", builder.map("add", start, item), steps(builder, 3, 2, inner))


def _expect_alike(builder: KernelBuilder, items: Ragged, axes: Sequence[int]) -> None:
    """Require that the elements have one shape along these axes."""
    for axis in (axis for axis in axes if items.known[axis] < 0):
        column = _column(builder, items, axis)
        most, least = (reduced(builder, word, column, [0], keep=False) for word in ("max", "min"))
        builder.expect(builder.map("equal", most, least))


def _column(builder: KernelBuilder, items: Ragged, axis: int) -> Node:
    """The extents of all elements along an axis."""
    return builder.view(items.shapes, (items.length,), (Axis(0, ((0, 1),)), Axis(axis)))


def _shape(builder: KernelBuilder, items: Ragged, index: Number) -> list[Number]:
    return [
        builder.number(builder.view(items.shapes, (), (Axis(index), Axis(k))))
        if extent < 0
        else extent
        for k, extent in enumerate(items.known)
    ]


def _shaped(builder: KernelBuilder, flat: Node, shape: Numbers) -> Node:
    """The elements in a shape that they are known to have."""
    if len(shape) == 1:
        return flat
    if all(isinstance(each, int) for each in (*shape, *flat.shape)):
        return builder.reshape(flat, shape)
    return builder.add(Reshape(), flat.dtype, tuple(shape), flat)


def _last(builder: KernelBuilder, items: Ragged) -> Node:
    """The total number of numbers in all elements."""
    return _scalar(builder, items.ends, items.length)


def _scalar(builder: KernelBuilder, numbers: Node, index: Number) -> Node:
    return builder.view(numbers, (), (Axis(index),))


def _apart(builder: KernelBuilder, start: Node, end: Node) -> Number:
    return builder.number(builder.map("sub", end, start))
