"""Lists whose elements differ, natively: tensors of all elements, of where each is, of its shape.

Element `k` is flat[ends[k]:ends[k + 1]].reshape(shapes[k]). Where an extent is one and the same for
all elements, which is looked at as they come, it is known beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Axis, Fetch, Node, Number, Pick, Put, Reshape, Running
from treadle.jit.lower.index import steps
from treadle.jit.lower.layout import joined, listed
from treadle.jit.lower.reduce import reduced
from treadle.jit.lower.slicing import part
from treadle.jit.nodes import Declined

Numbers = Sequence[Number]
_WHOLE = DType.INT64


Known = Sequence[int]
"""The extents of all elements, -1 for one that differs."""


class Ragged(NamedTuple):
    """A list by its parts: T[N], int64[n + 1] and int64[n, rank]."""

    flat: Node
    ends: Node
    shapes: Node
    known: Known

    @property
    def length(self) -> Number:
        """How many elements."""
        return self.shapes.shape[0]

    @property
    def rank(self) -> int:
        """The rank of an element."""
        rank = self.shapes.shape[1]
        assert isinstance(rank, int)
        return rank


def none(b: Building, dtype: DType, rank: int, known: Known) -> Ragged:
    """The list of no elements."""
    flat, ends, shapes = np.empty(0, dtype.numpy), np.zeros(1, np.int64), np.empty((0, rank))
    whole = b.constant(shapes.astype(np.int64))
    return Ragged(b.constant(flat), b.constant(ends), whole, known)


def one(b: Building, x: Node, known: Known) -> Ragged:
    """The list of this element."""
    expect_known(b, x.shape, known)
    size = b.product(x.shape)
    shape = b.reshape(listed(b, x.shape), (1, len(x.shape)))
    return Ragged(b.reshape(x, (size,)), listed(b, (0, size)), shape, known)


def alike(b: Building, items: Node, known: Known) -> Ragged:
    """The list of the items along the first axis."""
    count, *shape = items.shape
    expect_known(b, shape, known)
    size, row = b.product(shape), b.reshape(listed(b, shape), (1, len(shape)))
    ends = b.map("mul", steps(b, 1, 0, b.plus(count, 1)), b.dim(size))
    flat = b.reshape(items, (b.times(count, size),))
    return Ragged(flat, ends, b.expand(row, (count, len(shape))), known)


def expect_known(b: Building, shape: Numbers, known: Known) -> None:
    """The kernel is refused where an element has other extents than all have."""
    if len(shape) != len(known):
        raise Declined("an element of another rank")
    for extent, wanted in zip(shape, known, strict=True):
        if wanted >= 0:
            b.expect_equal(extent, wanted)


def chained(b: Building, lists: Sequence[Ragged]) -> Ragged:
    """The elements of all, in order; there is one list at least."""
    ends, last = [lists[0].ends], _last(b, lists[0])
    for each in lists[1:]:
        ends.append(b.map("add", part(b, each.ends, 0, 1, 1, each.length), last))
        last = b.map("add", last, _last(b, each))
    flat = joined(b, [each.flat for each in lists], 0)
    shapes = joined(b, [each.shapes for each in lists], 0)
    return Ragged(flat, joined(b, ends, 0), shapes, lists[0].known)


def some(b: Building, items: Ragged, first: Number, count: Number) -> Ragged:
    """Elements side by side."""
    start, end = (_scalar(b, items.ends, each) for each in (first, b.plus(first, count)))
    ends = b.map("sub", part(b, items.ends, 0, first, 1, b.plus(count, 1)), start)
    flat = part(b, items.flat, 0, b.number(start), 1, _apart(b, start, end))
    return Ragged(flat, ends, part(b, items.shapes, 0, first, 1, count), items.known)


def element(b: Building, items: Ragged, place: Number) -> Node:
    """One element."""
    start = _scalar(b, items.ends, place)
    size: Number = prod(items.known)
    if any(extent < 0 for extent in items.known):
        size = _apart(b, start, _scalar(b, items.ends, b.plus(place, 1)))
    flat = part(b, items.flat, 0, b.number(start), 1, size)
    return _shaped(b, flat, _shape(b, items, place))


def concatenated(b: Building, items: Ragged, axis: int) -> Node:
    """The elements joined along an axis; they are alike along the others."""
    b.expect(b.compare("greater", items.length, 0))
    first = _shape(b, items, 0)
    _expect_alike(b, items, [k for k in range(items.rank) if k != axis])
    lengths = _column(b, items, axis)
    total = b.number(reduced(b, "add", lengths, [0], keep=False))
    shape = [*first[:axis], total, *first[axis + 1 :]]
    if b.product(first[:axis]) == 1:
        return _shaped(b, items.flat, shape)
    grid = (b.product(first[:axis]), total, b.product(first[axis + 1 :]))
    places = _places(b, items.ends, lengths, grid)
    return _shaped(b, b.add(Fetch((0,)), items.flat.dtype, grid, items.flat, places), shape)


def stacked(b: Building, items: Ragged) -> Node:
    """The elements, which are alike, along a new first axis."""
    b.expect(b.compare("greater", items.length, 0))
    _expect_alike(b, items, range(items.rank))
    return _shaped(b, items.flat, [items.length, *_shape(b, items, 0)])


def pieces(
    b: Building, x: Node, axis: int, lengths: Node, known: Known, *, keep: bool = True
) -> Ragged:
    """The tensor in pieces of these lengths along an axis, none below zero, all of it together.

    `keep`: else the axis goes, along which pieces are of one item.
    """
    count, extent = lengths.shape[0], x.shape[axis]
    outer, inner = b.product(x.shape[:axis]), b.product(x.shape[axis + 1 :])
    sizes = b.map("mul", lengths, b.dim(b.times(outer, inner)))
    zero = b.constant(np.zeros(1, np.int64))
    ends = joined(b, [zero, b.add(Running("add", 0, False), _WHOLE, (count,), sizes)], 0)
    flat = b.reshape(x, (b.product(x.shape),))
    if axis:
        grid = (outer, extent, inner)
        nothing = b.expand(b.scalar(0, x.dtype), flat.shape)
        places = _places(b, ends, lengths, grid)
        flat = b.add(Put("", (0,)), x.dtype, flat.shape, nothing, b.reshape(x, grid), places)
    each_of = [-1 if k == axis else e for k, e in enumerate(x.shape) if k != axis or keep]
    expect_known(b, each_of, known)
    columns = [
        b.reshape(lengths, (count, 1)) if k == axis else b.expand(b.dim(each), (count, 1))
        for k, each in enumerate(x.shape)
        if k != axis or keep
    ]
    no_columns = b.constant(np.empty((0, 0), np.int64))
    shapes = joined(b, columns, 1) if columns else b.expand(no_columns, (count, 0))
    return Ragged(flat, ends, shapes, known)


def _places(b: Building, ends: Node, lengths: Node, grid: Numbers) -> Node:
    """Where in the flat elements those of a tensor [outer, columns, inner] are.

    Its columns are those of the elements, side by side: `lengths` of each.
    """
    (count,), (_, columns, inner) = lengths.shape, grid
    begin = b.add(Running("add", 0, True), _WHOLE, (count,), lengths)
    marks = b.expand(b.scalar(0, _WHOLE), (b.plus(columns, 1),))
    ones = b.expand(b.scalar(1, _WHOLE), (count,))
    marks = b.add(Put("add", (0,)), _WHOLE, marks.shape, marks, ones, begin)
    passed = part(b, b.add(Running("add", 0, False), _WHOLE, marks.shape, marks), 0, 0, 1, columns)
    owner = b.map("sub", passed, b.scalar(1, _WHOLE))

    def owned(values: Node) -> Node:
        found = b.add(Pick(0), _WHOLE, (columns,), values, owner)
        return b.reshape(found, (1, columns, 1))

    within = b.map("sub", steps(b, 3, 1, columns), owned(begin))
    row = b.map("mul", steps(b, 3, 0, grid[0]), owned(lengths))
    item = b.map("mul", b.map("add", row, within), b.dim(inner))
    start = owned(part(b, ends, 0, 0, 1, count))
    return b.map("add", b.map("add", start, item), steps(b, 3, 2, inner))


def _expect_alike(b: Building, items: Ragged, axes: Sequence[int]) -> None:
    """The elements are of one shape along these axes."""
    for axis in (axis for axis in axes if items.known[axis] < 0):
        column = _column(b, items, axis)
        most, least = (reduced(b, word, column, [0], keep=False) for word in ("max", "min"))
        b.expect(b.map("equal", most, least, dtype=DType.BOOL))


def _column(b: Building, items: Ragged, axis: int) -> Node:
    """The extents of all elements along an axis."""
    return b.view(items.shapes, (items.length,), (Axis(0, ((0, 1),)), Axis(axis)))


def _shape(b: Building, items: Ragged, place: Number) -> list[Number]:
    return [
        b.number(b.view(items.shapes, (), (Axis(place), Axis(k)))) if extent < 0 else extent
        for k, extent in enumerate(items.known)
    ]


def _shaped(b: Building, flat: Node, shape: Numbers) -> Node:
    """The elements in a shape that they are known to have."""
    if len(shape) == 1:
        return flat
    if all(isinstance(each, int) for each in (*shape, *flat.shape)):
        return b.reshape(flat, shape)
    return b.add(Reshape(), flat.dtype, tuple(shape), flat)


def _last(b: Building, items: Ragged) -> Node:
    """How many numbers all elements have."""
    return _scalar(b, items.ends, items.length)


def _scalar(b: Building, numbers: Node, place: Number) -> Node:
    return b.view(numbers, (), (Axis(place),))


def _apart(b: Building, start: Node, end: Node) -> Number:
    return b.number(b.map("sub", end, start))
