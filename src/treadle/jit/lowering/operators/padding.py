"""Pad, Tile, OneHot, Trilu, EyeLike, DepthToSpace and SpaceToDepth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treadle import ops
from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder, array_of, extents_of
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Axis, Node, Number, SymbolicDim
from treadle.jit.kernel.views import axis_slice, packed, same
from treadle.jit.lowering.operators.axes import nonnegative_axes, nonnegative_axis
from treadle.jit.lowering.operators.gather_scatter import picked, steps
from treadle.jit.lowering.operators.layout import concat_along, extent_of, whole_numbers
from treadle.jit.lowering.registry import Attributes, Operands, lowers

Widths = tuple[Number, Number]


def _side_by_side(builder: KernelBuilder, parts: Sequence[Node], axis: int) -> Node:
    """Concatenate the parts along an axis, without empty ones."""
    present = [part for part in parts if part.shape[axis] != 0]
    return concat_along(builder, present or parts[:1], axis)


def padded(
    builder: KernelBuilder, node: Node, widths: Sequence[Widths], mode: str, fill: Node
) -> Node:
    """Enlarge the tensor axis by axis, or shrink it for negative widths, by what is there at most.

    A width computed at run time is an extent, and not negative.
    """
    for axis, (before, after) in enumerate(widths):
        node = _cut(builder, node, axis, before, after)
        before, after = (max(n, 0) if isinstance(n, int) else n for n in (before, after))
        if mode == "constant":
            first, last = (_filled(builder, node, axis, count, fill) for count in (before, after))
            node = _side_by_side(builder, [first, node, last], axis)
        elif before != 0 or after != 0:
            node = _continued(builder, node, axis, before, after, mode)
    return node


def _cut(builder: KernelBuilder, node: Node, axis: int, before: Number, after: Number) -> Node:
    first, last = (max(-n, 0) if isinstance(n, int) else 0 for n in (before, after))
    if not first + last:
        return node
    given = node.shape[axis]
    builder.expect(builder.compare("less_equal", first + last, given), is_of_shapes=True)
    return axis_slice(builder, node, axis, first, 1, builder.minus(given, first + last))


def _filled(builder: KernelBuilder, node: Node, axis: int, extent: Number, fill: Node) -> Node:
    return builder.expand(fill, [extent if k == axis else e for k, e in enumerate(node.shape)])


def _continued(
    builder: KernelBuilder, node: Node, axis: int, before: Number, after: Number, mode: str
) -> Node:
    """Extend the axis by its own items."""
    extent = node.shape[axis]
    if extent == 0:
        raise Declined("padding an axis of extent 0 with its own items")
    if isinstance(extent, int) and isinstance(before, int) and isinstance(after, int):
        places = range(-before, extent + after)
        return _taken(builder, node, axis, [_SOURCES[mode](index, extent) for index in places])
    added = builder.plus(before, after)
    is_some = builder.compare("greater", extent, 0)
    builder.expect(builder.map("or", is_some, builder.compare("equal", added, 0)))
    every = steps(builder, 1, 0, builder.plus(extent, added))
    index = builder.map("sub", every, builder.dim(before))
    return picked(builder, node, _OPEN_SOURCES[mode](builder, index, builder.most(extent, 1)), axis)


def _reflected(index: int, extent: int) -> int:
    period = 2 * (extent - 1)
    index = index % period if period else 0
    return min(index, period - index)


def _reflected_open(builder: KernelBuilder, index: Node, extent: Number) -> Node:
    period = builder.dim(builder.most(builder.times(2, builder.minus(extent, 1)), 1))
    index = builder.map("mod", index, period)
    return builder.map("min", index, builder.map("sub", period, index))


def _edge_open(builder: KernelBuilder, index: Node, extent: Number) -> Node:
    return builder.map(
        "min", builder.map("max", index, builder.dim(0)), builder.dim(builder.minus(extent, 1))
    )


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


def _taken(builder: KernelBuilder, node: Node, axis: int, places: Sequence[int]) -> Node:
    """The items at constant positions: as few slices as possible."""
    parts, start = [], 0
    while start < len(places):
        end = start + 1
        step = places[end] - places[start] if end < len(places) else 0
        while end < len(places) and places[end] - places[end - 1] == step:
            end += 1
        given = list(node.shape)
        given[axis] = end - start
        axes = [Axis(places[start], ((k, step),)) if k == axis else same(k)
                for k in range(len(given))]  # fmt: skip
        parts.append(builder.view(node, given, axes))
        start = end
    return _side_by_side(builder, parts, axis)


@lowers("Pad", 11, 13, 18, 19, 21, 23, 24, 25)
def pad(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """`pads` are the widths before each axis, then those after each."""
    x, pads, value, axes = (*operands, None, None)[:4]
    each = [extent_of(builder, width) for width in builder.elements(pads, "pads")]
    where = whole_numbers(axes, "axes")
    fill = builder.scalar(0, x.dtype) if value is None else builder.reshape(value, ())
    return padded(builder, x, _widths(len(x.shape), each, where), attributes["mode"], fill)


@lowers("Pad", 2)
def pad_2(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Pad before opset 11: the pads and the value are attributes."""
    return _old_pad(builder, operands[0], attributes["pads"], attributes)


@lowers("Pad", 1)
def pad_1(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Pad-1: the attribute is called `paddings`."""
    return _old_pad(builder, operands[0], attributes["paddings"], attributes)


def _old_pad(
    builder: KernelBuilder, node: Node, pads: Sequence[int], attributes: Attributes
) -> Node:
    widths = _widths(len(node.shape), pads, None)
    return padded(
        builder, node, widths, attributes["mode"], builder.scalar(attributes["value"], node.dtype)
    )


def _widths(rank: int, each: Sequence[Number], where: Sequence[int] | None) -> list[Widths]:
    axes = list(range(rank)) if where is None else nonnegative_axes(where, rank)
    if len(each) != 2 * len(axes):
        raise Declined(f"{len(each)} pads for {len(axes)} axes")
    widths: list[Widths] = [(0, 0)] * rank
    for k, axis in enumerate(axes):
        widths[axis] = each[k], each[k + len(axes)]
    return widths


@lowers("Tile", 6, 13)
def tile(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """The tensor repeated along each axis."""
    repeats = [extent_of(builder, each) for each in builder.elements(operands[1], "repeats")]
    return tiled(builder, operands[0], repeats)


@lowers("Tile", 1)
def tile_1(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """Tile-1: repeated along one axis."""
    x, tiles, where = operands
    axis, count = (
        nonnegative_axis(int(array_of(where, "an axis").item()), len(x.shape)),
        builder.extent(tiles),
    )
    return tiled(builder, x, [count if k == axis else 1 for k in range(len(x.shape))])


def tiled(builder: KernelBuilder, node: Node, repeats: Sequence[Number]) -> Node:
    """np.tile with one repetition per axis."""
    given = node.shape
    if len(repeats) != len(given) or any(isinstance(n, int) and n < 0 for n in repeats):
        raise Declined(f"{len(repeats)} repetitions for {len(given)} axes, or a negative one")
    pairs = [each for pair in zip(repeats, given, strict=True) for each in pair]
    if any(isinstance(count, SymbolicDim) for count in repeats):
        builder.expect_countable(pairs)
    axes = [same(2 * k + 1) for k in range(len(given))]
    result = [builder.times(count, extent) for count, extent in zip(repeats, given, strict=True)]
    repeated = builder.view(node, pairs, axes)
    return builder.reshape(repeated if repeated.is_static else packed(builder, repeated), result)


@lowers("OneHot", 9, 11, 28)
def one_hot(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The on-value at each index, the off-value elsewhere; an index out of range sets nothing."""
    indices, depth, values = operands
    extent = builder.extent(depth)
    given, rank = indices.shape, len(indices.shape) + 1
    axis = nonnegative_axis(attributes["axis"], rank)
    where = builder.reshape(builder.cast(indices, DType.INT64), (*given[:axis], 1, *given[axis:]))
    hot = steps(builder, rank, axis, extent)
    wrapped = builder.map("add", where, builder.dim(extent))
    found = [builder.map("equal", each, hot) for each in (where, wrapped)]
    off, on = (builder.view(values, (), (Axis(k),)) for k in range(2))
    return builder.map("where", builder.map("or", *found), on, off)


@lowers("Trilu", 14)
def triangle(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The upper or lower triangle of the last two axes, zeros elsewhere."""
    x, diagonal = (*operands, None)[:2]
    rows, columns = x.shape[-2:]
    first = builder.scalar(0, DType.INT64) if diagonal is None else builder.reshape(diagonal, ())
    apart = builder.map("sub", steps(builder, 2, 1, columns), steps(builder, 2, 0, rows))
    comparison = "greater_equal" if attributes["upper"] else "less_equal"
    inside = builder.map(comparison, apart, first)
    return builder.map("where", inside, x, builder.scalar(0, x.dtype))


@lowers("EyeLike", 9, 22)
def eye_like(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Ones on a diagonal of a matrix of this shape."""
    rows, columns = operands[0].shape
    to = attributes.get("dtype")
    dtype = ops.element_from_proto(to) if to else operands[0].dtype
    assert dtype is not None
    if isinstance(rows, int) and isinstance(columns, int):
        return builder.constant(np.eye(rows, columns, attributes["k"]).astype(dtype.numpy))
    apart = builder.map("sub", steps(builder, 2, 1, columns), steps(builder, 2, 0, rows))
    return builder.cast(builder.map("equal", apart, builder.dim(attributes["k"])), dtype)


def _turned(builder: KernelBuilder, node: Node, shape: Sequence[int], perm: Sequence[int]) -> Node:
    """Reshape the tensor and permute its axes."""
    where = {axis: k for k, axis in enumerate(perm)}
    axes = [same(where[k]) for k in range(len(shape))]
    return builder.view(builder.reshape(node, shape), [shape[axis] for axis in perm], axes)


@lowers("DepthToSpace", 1, 11, 13, 28)
def depth_to_space(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Blocks of channels to blocks of the plane; in mode DCR the block is the outer part."""
    n, c, h, w = extents_of(operands[0])
    size = attributes["blocksize"]
    depth = c // size**2
    if attributes.get("mode", "DCR") == "DCR":
        shape, perm = (n, size, size, depth, h, w), (0, 3, 4, 1, 5, 2)
    else:
        shape, perm = (n, depth, size, size, h, w), (0, 1, 4, 2, 5, 3)
    return builder.reshape(
        _turned(builder, operands[0], shape, perm), (n, depth, h * size, w * size)
    )


@lowers("SpaceToDepth", 1, 13, 28)
def space_to_depth(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The reverse of DepthToSpace."""
    n, c, h, w = extents_of(operands[0])
    size = attributes["blocksize"]
    is_outer = attributes.get("mode", "DCR") == "DCR"
    perm = (0, 3, 5, 1, 2, 4) if is_outer else (0, 1, 3, 5, 2, 4)
    blocks = _turned(builder, operands[0], (n, c, h // size, size, w // size, size), perm)
    return builder.reshape(blocks, (n, c * size**2, h // size, w // size))
