"""Shapes and arrangement: Reshape, Squeeze, Transpose, Concat, Split, Reverse."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value


@layer("Reshape", 1)
def reshape(hand: LayerContext) -> Made:
    """Reshape; with `special_zero`, 0 keeps the extent at its position."""
    return hand.leaf(
        "Reshape", hand[0], hand.list64(1), allowzero=int(not hand.truth("special_zero"))
    )


@layer("Squeeze", 1, 15)
def squeeze(hand: LayerContext) -> Made:
    """Remove axes of extent 1; OpenVINO ignores axes with a greater extent."""
    if hand.get(1) is None:
        return hand.leaf("Squeeze", hand[0])
    axes, shape = hand.array(1), hand.shape(0)
    if axes is None or shape is None:
        return hand.leaf("Squeeze", hand[0], hand.list64(1))
    places = [int(axis) for axis in axes.reshape(-1).tolist()]
    if not places:
        return hand.leaf("Squeeze", hand[0])
    fitting = [axis for axis in places if -len(shape) <= axis < len(shape)]
    short = [axis for axis in fitting if shape[axis] in (1, None)]
    return hand.leaf("Squeeze", hand[0], hand.whole(*short)) if short else _same(hand)


def _same(hand: LayerContext) -> Value:
    return hand.leaf("Identity", hand[0])


@layer("Unsqueeze", 1)
def unsqueeze(hand: LayerContext) -> Made:
    """Insert axes of extent 1."""
    return hand.leaf("Unsqueeze", hand[0], hand.list64(1))


@layer("Transpose", 1)
def transpose(hand: LayerContext) -> Made:
    """Permute the axes; an empty permutation reverses them."""
    order = hand.wholes(1, "the order")
    return hand.leaf("Transpose", hand[0], perm=order or None)


@layer("Concat", 1)
def concat(hand: LayerContext) -> Made:
    """Concatenate along an axis."""
    return hand.leaf("Concat", *hand.operands, axis=hand.integer("axis"))


@layer("Split", 1)
def split(hand: LayerContext) -> Made:
    """Split into equal parts along an axis."""
    count = hand.integer("num_splits")
    if not 0 < count <= 100_000:
        raise IrError("CF909", f"num_splits is {count}")
    return hand.leaves("Split", count, hand[0], axis=hand.axis(1), num_outputs=count)


@layer("VariadicSplit", 1)
def variadic_split(hand: LayerContext) -> Made:
    """Split into parts of given lengths along an axis; one may be -1 for the rest."""
    axis, count = hand.axis(1), len(hand.layer.outputs)
    known = hand.array(2)
    if known is None:
        return hand.leaves("Split", count, hand[0], hand.list64(2), axis=axis)
    lengths = hand.wholes(2, "the lengths")
    if -1 not in lengths:
        return hand.leaves("Split", count, hand[0], hand.whole(*lengths), axis=axis)
    place = lengths.index(-1)
    rest = sum(lengths) + 1
    last = {"end": axis + 1} if axis != -1 else {}
    extent = hand.leaf("Shape", hand[0], start=axis, **last)
    parts = [hand.whole(*part) for part in (lengths[:place], lengths[place + 1 :])]
    remaining = hand.leaf("Sub", extent, hand.whole(rest))
    sizes = [*(parts[:1] if place else []), remaining]
    sizes += parts[1:] if place + 1 < len(lengths) else []
    length = hand.leaf("Concat", *sizes, axis=0)
    return hand.leaves("Split", count, hand[0], length, axis=axis)


@layer("Reverse", 1)
def reverse(hand: LayerContext) -> Made:
    """Reverse along axes."""
    if hand.text("mode", None, "index", "mask") == "index":
        axes = hand.wholes(1, "the axes")
    else:
        axes = [axis for axis, on in enumerate(hand.known(1, "the mask").tolist()) if on]
    if not axes:
        return _same(hand)
    count = len(axes)
    return hand.leaf(
        "Slice",
        hand[0],
        hand.whole(*[-1] * count),
        hand.whole(*[-(2**63)] * count),
        hand.whole(*axes),
        hand.whole(*[-1] * count),
    )


@layer("ReverseSequence", 1)
def reverse_sequence(hand: LayerContext) -> Made:
    """Reverse the first items of each row."""
    batch, time = hand.integer("batch_axis", 0), hand.integer("seq_axis", 1)
    rank = hand.rank(0)
    batch, time = batch % rank, time % rank
    if {batch, time} == {0, 1}:
        return _reversed(hand, hand[0], batch, time)
    order = [batch, time, *(axis for axis in range(rank) if axis not in (batch, time))]
    back = [order.index(axis) for axis in range(rank)]
    moved = _reversed(hand, hand.transpose(hand[0], order), 0, 1)
    return hand.transpose(moved, back)


def _reversed(hand: LayerContext, value: Value, batch: int, time: int) -> Value:
    return hand.leaf("ReverseSequence", value, hand.list64(1), batch_axis=batch, time_axis=time)


@layer("ShuffleChannels", 1)
def shuffle_channels(hand: LayerContext) -> Made:
    """Interleave the channels of the groups."""
    rank, group = hand.rank(0), hand.integer("group", 1)
    axis = hand.integer("axis", 1) % rank
    shape = hand.leaf("Shape", hand[0])
    width = hand.leaf("Shape", hand[0], start=axis, end=axis + 1)
    parts = [hand.whole(group), hand.leaf("Div", width, hand.whole(group))]
    if axis:
        parts.insert(0, hand.leaf("Shape", hand[0], start=0, end=axis))
    parts.append(hand.leaf("Shape", hand[0], start=axis + 1))
    apart = hand.leaf("Reshape", hand[0], hand.leaf("Concat", *parts, axis=0), allowzero=1)
    order = list(range(rank + 1))
    order[axis], order[axis + 1] = axis + 1, axis
    return hand.leaf("Reshape", hand.transpose(apart, order), shape, allowzero=1)
