"""DepthToSpace, SpaceToDepth, BatchToSpace and SpaceToBatch: rearrange blocks of elements."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value

_IMAGE = 4


@layer("DepthToSpace", 1)
def depth_to_space(hand: LayerContext) -> Made:
    """Move blocks of channels to blocks of pixels."""
    first = hand.text("mode", None, "blocks_first", "depth_first") == "blocks_first"
    size, rank = hand.integer("block_size", 1), hand.rank(0)
    if rank == _IMAGE:
        mode = "DCR" if first else "CRD"
        return hand.leaf("DepthToSpace", hand[0], blocksize=size, mode=mode)
    count = rank - 2
    # [n, c, *spatial] -> [n, blocks and c in either order, *spatial] -> [n, c, s0, b0, s1, b1 ...]
    blocks = [hand.whole(size)] * count
    channel = [hand.whole(-1)]
    inner = [*blocks, *channel] if first else [*channel, *blocks]
    spatial = [_extent(hand, axis) for axis in range(2, rank)]
    apart = _reshaped(hand, hand[0], [_extent(hand, 0), *inner, *spatial])
    block, depth = (1, count + 1) if first else (2, 1)
    pairs = [k for axis in range(count) for k in (count + 2 + axis, block + axis)]
    turned = hand.transpose(apart, [0, depth, *pairs])
    wide = [hand.leaf("Mul", extent, hand.whole(size)) for extent in spatial]
    return _reshaped(hand, turned, [_extent(hand, 0), *channel, *wide])


@layer("SpaceToDepth", 1)
def space_to_depth(hand: LayerContext) -> Made:
    """Move blocks of pixels to blocks of channels."""
    first = hand.text("mode", None, "blocks_first", "depth_first") == "blocks_first"
    size, rank = hand.integer("block_size", 1), hand.rank(0)
    if rank == _IMAGE and first:
        return hand.leaf("SpaceToDepth", hand[0], blocksize=size)
    if size < 1:
        raise IrError("CF909", f"block_size is {size}")
    spatial = [hand.leaf("Div", _extent(hand, k), hand.whole(size)) for k in range(2, rank)]
    split = [part for extent in spatial for part in (extent, hand.whole(size))]
    apart = _reshaped(hand, hand[0], [_extent(hand, 0), _extent(hand, 1), *split])
    places, blocks = list(range(2, 2 * rank - 2, 2)), list(range(3, 2 * rank - 2, 2))
    inner = [*blocks, 1] if first else [1, *blocks]
    turned = hand.transpose(apart, [0, *inner, *places])
    return _reshaped(hand, turned, [_extent(hand, 0), hand.whole(-1), *spatial])


@layer("BatchToSpace", 2)
def batch_to_space(hand: LayerContext) -> Made:
    """Move items of a batch to blocks of each axis, then crop its ends."""
    sizes, begins, ends = (hand.wholes(k, "the blocks and crops") for k in (1, 2, 3))
    rank = hand.rank(0)
    # [b1 ... bn, n, d1 ...] -> [n, d1, b1, d2, b2 ...]
    rest = [_extent(hand, axis) for axis in range(1, rank)]
    apart = _reshaped(hand, hand[0], [*map(hand.whole, sizes[1:]), hand.whole(-1), *rest])
    pairs = [k for axis in range(1, rank) for k in (rank - 1 + axis, axis - 1)]
    turned = hand.transpose(apart, [rank - 1, *pairs])
    scaled = zip(rest, sizes[1:], strict=True)
    wide = [hand.leaf("Mul", extent, hand.whole(size)) for extent, size in scaled]
    whole = _reshaped(hand, turned, [hand.whole(-1), *wide])
    cut = [-end if end else 2**63 - 1 for end in ends]
    axes = hand.whole(*range(rank))
    return hand.leaf("Slice", whole, hand.whole(*begins), hand.whole(*cut), axes)


@layer("SpaceToBatch", 2)
def space_to_batch(hand: LayerContext) -> Made:
    """Pad each axis with zeros, and move its blocks to items of the batch."""
    sizes, begins, ends = (hand.wholes(k, "the blocks and pads") for k in (1, 2, 3))
    rank = hand.rank(0)
    padded = hand.leaf("Pad", hand[0], hand.whole(*begins, *ends))
    shape = hand.leaf("Shape", padded)
    narrow = hand.leaf("Div", shape, hand.whole(*sizes))
    parts = [hand.leaf("Slice", narrow, hand.whole(k), hand.whole(k + 1)) for k in range(rank)]
    split = [p for k in range(1, rank) for p in (parts[k], hand.whole(sizes[k]))]
    apart = _reshaped(hand, padded, [hand.whole(-1), *split])
    blocks, places = list(range(2, 2 * rank - 1, 2)), list(range(1, 2 * rank - 1, 2))
    turned = hand.transpose(apart, [*blocks, 0, *places])
    return _reshaped(hand, turned, [hand.whole(-1), *parts[1:]])


def _extent(hand: LayerContext, axis: int) -> Value:
    shape = hand.shape(0)
    extent = shape[axis] if shape else None
    if isinstance(extent, int):
        return hand.whole(extent)
    return hand.leaf("Shape", hand[0], start=axis, end=axis + 1)


def _reshaped(hand: LayerContext, value: Value, extents: list[Value]) -> Value:
    shape = hand.leaf("Concat", *extents, axis=0)
    return hand.leaf("Reshape", value, shape)
