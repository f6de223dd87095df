"""DepthToSpace, SpaceToDepth, BatchToSpace and SpaceToBatch: rearrange blocks of elements."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value

_IMAGE = 4


@layer("DepthToSpace", 1)
def depth_to_space(context: LayerContext) -> Made:
    """Move blocks of channels to blocks of pixels."""
    first = context.text("mode", None, "blocks_first", "depth_first") == "blocks_first"
    size, rank = context.integer("block_size", 1), context.rank(0)
    if rank == _IMAGE:
        mode = "DCR" if first else "CRD"
        return context.leaf("DepthToSpace", context[0], blocksize=size, mode=mode)
    count = rank - 2
    # [n, c, *spatial] -> [n, blocks and c in either order, *spatial] -> [n, c, s0, b0, s1, b1 ...]
    blocks = [context.whole(size)] * count
    channel = [context.whole(-1)]
    inner = [*blocks, *channel] if first else [*channel, *blocks]
    spatial = [_extent(context, axis) for axis in range(2, rank)]
    apart = _reshaped(context, context[0], [_extent(context, 0), *inner, *spatial])
    block, depth = (1, count + 1) if first else (2, 1)
    pairs = [k for axis in range(count) for k in (count + 2 + axis, block + axis)]
    turned = context.transpose(apart, [0, depth, *pairs])
    wide = [context.leaf("Mul", extent, context.whole(size)) for extent in spatial]
    return _reshaped(context, turned, [_extent(context, 0), *channel, *wide])


@layer("SpaceToDepth", 1)
def space_to_depth(context: LayerContext) -> Made:
    """Move blocks of pixels to blocks of channels."""
    first = context.text("mode", None, "blocks_first", "depth_first") == "blocks_first"
    size, rank = context.integer("block_size", 1), context.rank(0)
    if rank == _IMAGE and first:
        return context.leaf("SpaceToDepth", context[0], blocksize=size)
    if size < 1:
        raise IrError("CF909", f"block_size is {size}")
    spatial = [
        context.leaf("Div", _extent(context, k), context.whole(size)) for k in range(2, rank)
    ]
    split = [part for extent in spatial for part in (extent, context.whole(size))]
    apart = _reshaped(context, context[0], [_extent(context, 0), _extent(context, 1), *split])
    places, blocks = list(range(2, 2 * rank - 2, 2)), list(range(3, 2 * rank - 2, 2))
    inner = [*blocks, 1] if first else [1, *blocks]
    turned = context.transpose(apart, [0, *inner, *places])
    return _reshaped(context, turned, [_extent(context, 0), context.whole(-1), *spatial])


@layer("BatchToSpace", 2)
def batch_to_space(context: LayerContext) -> Made:
    """Move items of a batch to blocks of each axis, then crop its ends."""
    sizes, begins, ends = (context.wholes(k, "the blocks and crops") for k in (1, 2, 3))
    rank = context.rank(0)
    # [b1 ... bn, n, d1 ...] -> [n, d1, b1, d2, b2 ...]
    rest = [_extent(context, axis) for axis in range(1, rank)]
    apart = _reshaped(
        context, context[0], [*map(context.whole, sizes[1:]), context.whole(-1), *rest]
    )
    pairs = [k for axis in range(1, rank) for k in (rank - 1 + axis, axis - 1)]
    turned = context.transpose(apart, [rank - 1, *pairs])
    scaled = zip(rest, sizes[1:], strict=True)
    wide = [context.leaf("Mul", extent, context.whole(size)) for extent, size in scaled]
    whole = _reshaped(context, turned, [context.whole(-1), *wide])
    cut = [-end if end else 2**63 - 1 for end in ends]
    axes = context.whole(*range(rank))
    return context.leaf("Slice", whole, context.whole(*begins), context.whole(*cut), axes)


@layer("SpaceToBatch", 2)
def space_to_batch(context: LayerContext) -> Made:
    """Pad each axis with zeros, and move its blocks to items of the batch."""
    sizes, begins, ends = (context.wholes(k, "the blocks and pads") for k in (1, 2, 3))
    rank = context.rank(0)
    padded = context.leaf("Pad", context[0], context.whole(*begins, *ends))
    shape = context.leaf("Shape", padded)
    narrow = context.leaf("Div", shape, context.whole(*sizes))
    parts = [
        context.leaf("Slice", narrow, context.whole(k), context.whole(k + 1)) for k in range(rank)
    ]
    split = [p for k in range(1, rank) for p in (parts[k], context.whole(sizes[k]))]
    apart = _reshaped(context, padded, [context.whole(-1), *split])
    blocks, places = list(range(2, 2 * rank - 1, 2)), list(range(1, 2 * rank - 1, 2))
    turned = context.transpose(apart, [*blocks, 0, *places])
    return _reshaped(context, turned, [context.whole(-1), *parts[1:]])


def _extent(context: LayerContext, axis: int) -> Value:
    shape = context.shape(0)
    extent = shape[axis] if shape else None
    if isinstance(extent, int):
        return context.whole(extent)
    return context.leaf("Shape", context[0], start=axis, end=axis + 1)


def _reshaped(context: LayerContext, value: Value, extents: list[Value]) -> Value:
    shape = context.leaf("Concat", *extents, axis=0)
    return context.leaf("Reshape", value, shape)
