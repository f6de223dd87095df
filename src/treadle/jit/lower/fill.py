"""Operators that make tensors larger: pads, repetitions, masks, numbers out of nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treadle import ops
from treadle.ir import DType
from treadle.jit.building import Building, array_of, extents_of, packed
from treadle.jit.kernel_ir import Axis, Extent, Node, Number
from treadle.jit.lower.index import picked, positive, same, steps
from treadle.jit.lower.layout import extent_of, joined, whole_numbers
from treadle.jit.lower.registry import lowers
from treadle.jit.nodes import Declined

Attributes = Mapping[str, Any]
Operands = Sequence[Any]
Widths = tuple[Number, Number]
_MOST = 2**24


def _side_by_side(b: Building, parts: Sequence[Node], axis: int) -> Node:
    """The parts one after the other along an axis; empty ones left out."""
    present = [part for part in parts if part.shape[axis] != 0]
    return joined(b, present or parts[:1], axis)


def padded(b: Building, x: Node, widths: Sequence[Widths], mode: str, fill: Node) -> Node:
    """The tensor made larger, or smaller where a width is negative, axis by axis.

    A width that only the run tells is an extent, and none below zero.
    """
    for axis, (before, after) in enumerate(widths):
        x = _cut(b, x, axis, before, after)
        before, after = (max(n, 0) if isinstance(n, int) else n for n in (before, after))
        if mode == "constant":
            first, last = (_filled(b, x, axis, count, fill) for count in (before, after))
            x = _side_by_side(b, [first, x, last], axis)
        elif before != 0 or after != 0:
            x = _continued(b, x, axis, before, after, mode)
    return x


def _cut(b: Building, x: Node, axis: int, before: Number, after: Number) -> Node:
    first, last = (max(-n, 0) if isinstance(n, int) else 0 for n in (before, after))
    if not first + last:
        return x
    axes = [Axis(first, ((k, 1),)) if k == axis else same(k) for k in range(len(x.shape))]
    given = list(x.shape)
    given[axis] = b.minus(b.most(given[axis], first + last), first + last)
    return b.view(x, given, axes)


def _filled(b: Building, x: Node, axis: int, extent: Number, fill: Node) -> Node:
    return b.expand(fill, [extent if k == axis else e for k, e in enumerate(x.shape)])


def _continued(b: Building, x: Node, axis: int, before: Number, after: Number, mode: str) -> Node:
    """The axis made longer by its own items."""
    extent = x.shape[axis]
    if extent == 0:
        raise Declined("a Pad of nothing")
    if isinstance(extent, int) and isinstance(before, int) and isinstance(after, int):
        places = range(-before, extent + after)
        return _taken(b, x, axis, [_SOURCES[mode](place, extent) for place in places])
    added = b.plus(before, after)
    is_some = b.compare("greater", extent, 0)
    b.expect(b.map("or", is_some, b.compare("equal", added, 0)))
    every = steps(b, 1, 0, b.plus(extent, added))
    place = b.map("sub", every, b.dim(before))
    return picked(b, x, _OPEN_SOURCES[mode](b, place, b.most(extent, 1)), axis)


def _reflected(place: int, extent: int) -> int:
    period = 2 * (extent - 1)
    place = place % period if period else 0
    return min(place, period - place)


def _reflected_open(b: Building, place: Node, extent: Number) -> Node:
    period = b.dim(b.most(b.times(2, b.minus(extent, 1)), 1))
    place = b.map("mod", place, period)
    return b.map("min", place, b.map("sub", period, place))


def _edge_open(b: Building, place: Node, extent: Number) -> Node:
    return b.map("min", b.map("max", place, b.dim(0)), b.dim(b.minus(extent, 1)))


_SOURCES = {
    "edge": lambda place, extent: min(max(place, 0), extent - 1),
    "wrap": lambda place, extent: place % extent,
    "reflect": _reflected,
}
_OPEN_SOURCES = {
    "edge": _edge_open,
    "wrap": lambda b, place, extent: b.map("mod", place, b.dim(extent)),
    "reflect": _reflected_open,
}


def _taken(b: Building, x: Node, axis: int, places: Sequence[int]) -> Node:
    """The items at places known now: as few pieces as go by one step each."""
    parts, start = [], 0
    while start < len(places):
        end = start + 1
        step = places[end] - places[start] if end < len(places) else 0
        while end < len(places) and places[end] - places[end - 1] == step:
            end += 1
        given = list(x.shape)
        given[axis] = end - start
        axes = [Axis(places[start], ((k, step),)) if k == axis else same(k)
                for k in range(len(given))]  # fmt: skip
        parts.append(b.view(x, given, axes))
        start = end
    return _side_by_side(b, parts, axis)


@lowers("Pad", 11, 13, 18, 19, 21, 23, 24, 25)
def pad(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """`pads` are the widths before each axis, then those after each."""
    x, pads, value, axes = (*operands, None, None)[:4]
    each = [extent_of(b, width) for width in b.elements(pads, "pads")]
    where = whole_numbers(axes, "axes")
    fill = b.scalar(0, x.dtype) if value is None else b.reshape(value, ())
    return padded(b, x, _widths(len(x.shape), each, where), attributes["mode"], fill)


@lowers("Pad", 2)
def pad_2(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """The pads and the value are attributes."""
    return _old_pad(b, operands[0], attributes["pads"], attributes)


@lowers("Pad", 1)
def pad_1(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """The pads are called paddings."""
    return _old_pad(b, operands[0], attributes["paddings"], attributes)


def _old_pad(b: Building, x: Node, pads: Sequence[int], attributes: Attributes) -> Node:
    widths = _widths(len(x.shape), pads, None)
    return padded(b, x, widths, attributes["mode"], b.scalar(attributes["value"], x.dtype))


def _widths(rank: int, each: Sequence[Number], where: Sequence[int] | None) -> list[Widths]:
    axes = list(range(rank)) if where is None else [positive(axis, rank) for axis in where]
    if len(each) != 2 * len(axes):
        raise Declined("a Pad that does not fit")
    widths: list[Widths] = [(0, 0)] * rank
    for k, axis in enumerate(axes):
        widths[axis] = each[k], each[k + len(axes)]
    return widths


@lowers("Tile", 6, 13)
def tile(b: Building, operands: Operands, _: Attributes) -> Node:
    """The tensor repeated along each axis."""
    repeats = [extent_of(b, each) for each in b.elements(operands[1], "repeats")]
    return tiled(b, operands[0], repeats)


@lowers("Tile", 1)
def tile_1(b: Building, operands: Operands, _: Attributes) -> Node:
    """The tensor repeated along one axis."""
    x, tiles, where = operands
    axis, count = positive(int(array_of(where, "an axis").item()), len(x.shape)), b.extent(tiles)
    return tiled(b, x, [count if k == axis else 1 for k in range(len(x.shape))])


def tiled(b: Building, x: Node, repeats: Sequence[Number]) -> Node:
    """np.tile of as many repetitions as axes."""
    given = x.shape
    if len(repeats) != len(given) or any(isinstance(n, int) and n < 0 for n in repeats):
        raise Declined("a Tile that does not fit")
    pairs = [each for pair in zip(repeats, given, strict=True) for each in pair]
    if any(isinstance(count, Extent) for count in repeats):
        b.expect_countable(pairs)
    axes = [same(2 * k + 1) for k in range(len(given))]
    result = [b.times(count, extent) for count, extent in zip(repeats, given, strict=True)]
    repeated = b.view(x, pairs, axes)
    return b.reshape(repeated if repeated.is_static else packed(b, repeated), result)


@lowers("OneHot", 9, 11, 28)
def one_hot(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """The on-value at each index, the off-value elsewhere, and everywhere for one out of range."""
    indices, depth, values = operands
    extent = b.extent(depth)
    given, rank = indices.shape, len(indices.shape) + 1
    axis = positive(attributes["axis"], rank)
    where = b.reshape(b.cast(indices, DType.INT64), (*given[:axis], 1, *given[axis:]))
    hot = steps(b, rank, axis, extent)
    wrapped = b.map("add", where, b.dim(extent))
    found = [b.map("equal", each, hot, dtype=DType.BOOL) for each in (where, wrapped)]
    off, on = (b.view(values, (), (Axis(k),)) for k in range(2))
    return b.map("where", b.map("or", *found), on, off, dtype=values.dtype)


@lowers("Trilu", 14)
def triangle(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """The upper or lower triangle of the last two axes, zeros elsewhere."""
    x, diagonal = (*operands, None)[:2]
    rows, columns = x.shape[-2:]
    first = b.scalar(0, DType.INT64) if diagonal is None else b.reshape(diagonal, ())
    apart = b.map("sub", steps(b, 2, 1, columns), steps(b, 2, 0, rows))
    comparison = "greater_equal" if attributes["upper"] else "less_equal"
    inside = b.map(comparison, apart, first, dtype=DType.BOOL)
    return b.map("where", inside, x, b.scalar(0, x.dtype), dtype=x.dtype)


@lowers("EyeLike", 9, 22)
def eye_like(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """Ones on a diagonal of a matrix of this shape."""
    rows, columns = operands[0].shape
    to = attributes.get("dtype")
    dtype = ops.element_from_proto(to) if to else operands[0].dtype
    assert dtype is not None
    if isinstance(rows, int) and isinstance(columns, int):
        return b.constant(np.eye(rows, columns, attributes["k"]).astype(dtype.numpy))
    apart = b.map("sub", steps(b, 2, 1, columns), steps(b, 2, 0, rows))
    return b.cast(b.map("equal", apart, b.dim(attributes["k"]), dtype=DType.BOOL), dtype)


def _turned(b: Building, x: Node, shape: Sequence[int], perm: Sequence[int]) -> Node:
    """The reshaped tensor with its axes in another order."""
    where = {axis: k for k, axis in enumerate(perm)}
    axes = [same(where[k]) for k in range(len(shape))]
    return b.view(b.reshape(x, shape), [shape[axis] for axis in perm], axes)


@lowers("DepthToSpace", 1, 11, 13, 28)
def depth_to_space(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """Blocks of the channels become blocks of the plane; DCR: the block is the outer part."""
    n, c, h, w = extents_of(operands[0])
    size = attributes["blocksize"]
    depth = c // size**2
    if attributes.get("mode", "DCR") == "DCR":
        shape, perm = (n, size, size, depth, h, w), (0, 3, 4, 1, 5, 2)
    else:
        shape, perm = (n, depth, size, size, h, w), (0, 1, 4, 2, 5, 3)
    return b.reshape(_turned(b, operands[0], shape, perm), (n, depth, h * size, w * size))


@lowers("SpaceToDepth", 1, 13, 28)
def space_to_depth(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """The reverse of DepthToSpace."""
    n, c, h, w = extents_of(operands[0])
    size = attributes["blocksize"]
    is_outer = attributes.get("mode", "DCR") == "DCR"
    perm = (0, 3, 5, 1, 2, 4) if is_outer else (0, 1, 3, 5, 2, 4)
    blocks = _turned(b, operands[0], (n, c, h // size, size, w // size, size), perm)
    return b.reshape(blocks, (n, c * size**2, h // size, w // size))
