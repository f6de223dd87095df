"""Col2Im and DeformConv: the places where the items of blocks stand in an image, computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.masks import places
from treadle.passes.versions.adapters.repeat import Turn, repeated
from treadle.passes.versions.adapters.sampling import Sampling, rows_of, term
from treadle.passes.versions.adapters.steps import float_for, operand, product_of, two
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis of blocks in an image: extents are int64[1]."""

    image: Value
    block: Value
    count: Value
    dilation: int
    pad: int
    stride: int


def blocks_in_image(at: Rewriter, step: Leaf) -> Value:
    """Col2Im: for each item of a block, every pixel gathers the block that puts this item on it."""
    x, axes = two(step)[0], _axes(at, step)
    extents = [axis.image for axis in axes]
    size, items = product_of(at, extents), product_of(at, [axis.block for axis in axes])
    count = product_of(at, [axis.count for axis in axes])
    x = at.reshape(x, at.extent(x, 0), at.extent(x, 1), count)  # another number ends the run
    columns = at.reshape(x, at.extent(x, 0), -1, items, count)
    positions = coordinates_in(at, places(at, size), extents)
    last = at.op("Sub", count, at.ints(1))
    rows = at.op("Transpose", columns, perm=[2, 0, 1, 3])
    shape = at.concat(at.slice(at.shape_of(columns), 0, 2, 0), size)
    dtype = at.dtype(x)

    def add(inner: Rewriter, item: Value, carried: Sequence[Value]) -> Turn:
        block, is_inside = _block(inner, axes, positions, inner.reshape(item, 1))
        block = inner.op("Where", is_inside, block, last)
        taken = inner.op("Gather", inner.op("Gather", rows, item, axis=0), block, axis=2)
        taken = inner.op("Where", is_inside, taken, inner.scalar_like(x, 0))
        return Turn([inner.op("Add", carried[0], taken)])

    image = at.op("ConstantOfShape", shape, value=np.zeros(1, dtype.numpy))
    image = repeated(at, at.squeeze(items, 0), [image], add)[0]
    return at.reshape(image, at.extent(image, 0), at.extent(image, 1), *extents)


def _axes(at: Rewriter, step: Leaf) -> list[_Axis]:
    given, rank = at.attributes(step), at.dim(operand(step, 1), 0)
    if not isinstance(rank, int):
        raise NoForm("the rank of the image of Col2Im is not known", "declare its shape")
    sizes = [at.cast(each, DType.INT64) for each in step.operands[1:3] if each is not None]
    pads = given.get("pads") or [0] * 2 * rank
    axes = []
    for k in range(rank):
        image, block = (at.op("Gather", each, at.ints(k)) for each in sizes)
        dilation = (given.get("dilations") or [1] * rank)[k]
        stride = (given.get("strides") or [1] * rank)[k]
        reach = at.op("Mul", at.op("Sub", block, at.ints(1)), at.ints(dilation))
        room = at.op("Sub", at.op("Add", image, at.ints(pads[k] + pads[k + rank] - 1)), reach)
        count = at.op("Add", at.op("Div", room, at.ints(stride)), at.ints(1))
        axes.append(_Axis(image, block, count, dilation, pads[k], stride))
    return axes


def _block(
    at: Rewriter, axes: Sequence[_Axis], positions: Sequence[Value], item: Value
) -> tuple[Value, Value]:
    """The number of the block whose item stands at each position, and whether there is one."""
    zero, block, is_inside = at.ints(0), at.ints(0), at.const(np.array(True))
    offsets = coordinates_in(at, item, [axis.block for axis in axes])
    for axis, position, offset in zip(axes, positions, offsets, strict=True):
        way = at.op("Sub", position, at.op("Mul", offset, at.ints(axis.dilation)))
        way = at.op("Add", way, at.ints(axis.pad))
        number = at.op("Div", way, at.ints(axis.stride))
        exact = at.op("Equal", at.op("Mul", number, at.ints(axis.stride)), way)
        exact = at.op("And", exact, at.op("Less", number, axis.count))
        exact = at.op("And", exact, at.op("Not", at.op("Less", way, zero)))
        is_inside = at.op("And", is_inside, exact)
        block = at.op("Add", at.op("Mul", block, axis.count), number)
    return block, is_inside


def coordinates_in(at: Rewriter, flat: Value, extents: Sequence[Value]) -> list[Value]:
    """The coordinates of positions in a flattened tensor of these extents."""
    found = []
    for extent in reversed(extents[1:]):
        rest = at.op("Div", flat, extent)
        found.append(at.op("Sub", flat, at.op("Mul", rest, extent)))
        flat = rest
    return [flat, *reversed(found)]


@down("DeformConv", 19)
def sampled_convolution(at: Rewriter, step: Leaf) -> Adapted:
    """A matrix product of the weights and the interpolated pixels under each item of the kernel."""
    x, weights = two(step)
    offset, bias, mask = (operand(step, k) for k in (2, 3, 4))
    assert offset is not None, "the operator requires it"
    given, dtype = at.attributes(step), at.dtype(x)
    wide = float_for(dtype)
    sets, kernel = at.ints(given["offset_group"]), product_of(at, _extents(at, weights))
    places_ = product_of(at, _extents(at, offset))
    images = at.op("Mul", at.extent(x, 0), sets)
    channels = at.op("Div", at.extent(x, 1), sets)
    split = at.reshape(at.cast(x, wide), images, channels, *_extents(at, x))
    made = _samples(at, step, split, at.cast(offset, wide), images)
    if mask is not None:
        made = at.op(
            "Mul", made, at.reshape(at.cast(mask, wide), images, at.op("Mul", kernel, places_), 1)
        )
    made = at.op("Transpose", made, perm=[0, 2, 1])
    group = at.ints(given["group"])
    inner = at.op("Mul", at.extent(weights, 1), kernel)
    made = at.reshape(made, at.extent(x, 0), group, inner, places_)
    factors = at.reshape(at.cast(weights, wide), group, -1, inner)
    made = at.op("MatMul", factors, made)
    made = at.reshape(made, at.extent(x, 0), at.extent(weights, 0), *_extents(at, offset))
    if bias is not None:
        column = at.unsqueeze(at.cast(bias, wide), *range(1, at.rank(x) - 1))
        made = at.op("Add", made, column)
    return at.cast(made, dtype)


def _extents(at: Rewriter, x: Value) -> list[Value]:
    """The extents behind the first two axes, each int64[1]."""
    return [at.extent(x, k) for k in range(2, at.rank(x))]


def _samples(at: Rewriter, step: Leaf, x: Value, offset: Value, images: Value) -> Value:
    """The pixels of [images, channels, ...] at each item and place: [images, places, channels]."""
    given, weights = at.attributes(step), two(step)[1]
    axes, size = at.rank(x) - 2, product_of(at, _extents(at, x))
    kernel = product_of(at, _extents(at, weights))
    ends = _extents(at, offset)
    count = product_of(at, ends)
    moves = at.reshape(offset, images, kernel, at.ints(axes), count)
    items = coordinates_in(at, places(at, kernel), _extents(at, weights))
    spots = coordinates_in(at, places(at, count), ends)
    sampling = Sampling(at, "linear", "zeros", aligned=True)
    found = []
    for k in range(axes):
        dilation = (given.get("dilations") or [1] * axes)[k]
        stride = (given.get("strides") or [1] * axes)[k]
        pad = (given.get("pads") or [0] * axes)[k]
        item = at.op("Sub", at.op("Mul", items[k], at.ints(dilation)), at.ints(pad))
        spot = at.op("Mul", spots[k], at.ints(stride))
        base = at.cast(at.op("Add", at.unsqueeze(item, 1), spot), at.dtype(x))
        index = at.op("Add", at.op("Gather", moves, at.const(np.array(k)), axis=2), base)
        index = at.reshape(index, images, at.op("Mul", kernel, count))
        found.append(sampling.around(at.cast(at.extent(x, 2 + k), at.dtype(x)), index))
    starts = at.unsqueeze(at.op("Mul", places(at, images), size), 1)
    rows = rows_of(at, x, axes)
    return reduce(
        lambda a, b: at.op("Add", a, b),
        (term(at, x, rows, starts, choice) for choice in product(*found)),
    )
