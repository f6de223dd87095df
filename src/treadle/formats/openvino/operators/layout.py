"""Shapes and arrangement: Reshape, Squeeze, Transpose, Concat, Split, Reverse."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value


@layer("Reshape", 1)
def reshape(context: LayerContext) -> Made:
    """Reshape; with `special_zero`, 0 keeps the extent at its position."""
    return context.leaf(
        "Reshape", context[0], context.list64(1), allowzero=int(not context.truth("special_zero"))
    )


@layer("Squeeze", 1, 15)
def squeeze(context: LayerContext) -> Made:
    """Remove axes of extent 1; OpenVINO ignores axes with a greater extent."""
    if context.get(1) is None:
        return context.leaf("Squeeze", context[0])
    axes, shape = context.array(1), context.shape(0)
    if axes is None or shape is None:
        return context.leaf("Squeeze", context[0], context.list64(1))
    places = context.wholes(1, "the axes")
    if not places:
        return context.leaf("Squeeze", context[0])
    fitting = [axis for axis in places if -len(shape) <= axis < len(shape)]
    short = [axis for axis in fitting if shape[axis] in (1, None)]
    return context.leaf("Squeeze", context[0], context.whole(*short)) if short else _same(context)


def _same(context: LayerContext) -> Value:
    return context.leaf("Identity", context[0])


@layer("Unsqueeze", 1)
def unsqueeze(context: LayerContext) -> Made:
    """Insert axes of extent 1."""
    return context.leaf("Unsqueeze", context[0], context.list64(1))


@layer("Transpose", 1)
def transpose(context: LayerContext) -> Made:
    """Permute the axes; an empty permutation reverses them."""
    order = context.wholes(1, "the order")
    return context.leaf("Transpose", context[0], perm=order or None)


@layer("Concat", 1)
def concat(context: LayerContext) -> Made:
    """Concatenate along an axis."""
    return context.leaf("Concat", *context.operands, axis=context.integer("axis"))


@layer("Split", 1)
def split(context: LayerContext) -> Made:
    """Split into equal parts along an axis."""
    count = context.integer("num_splits")
    if not 0 < count <= 100_000:
        raise IrError("CF909", f"num_splits is {count}")
    return context.leaves("Split", count, context[0], axis=context.axis(1), num_outputs=count)


@layer("VariadicSplit", 1)
def variadic_split(context: LayerContext) -> Made:
    """Split into parts of given lengths along an axis; one may be -1 for the rest."""
    axis, count = context.axis(1), len(context.layer.outputs)
    known = context.array(2)
    if known is None:
        return context.leaves("Split", count, context[0], context.list64(2), axis=axis)
    lengths = context.wholes(2, "the lengths")
    if -1 not in lengths:
        return context.leaves("Split", count, context[0], context.whole(*lengths), axis=axis)
    index = lengths.index(-1)
    rest = sum(lengths) + 1
    last = {"end": axis + 1} if axis != -1 else {}
    extent = context.leaf("Shape", context[0], start=axis, **last)
    parts = [context.whole(*part) for part in (lengths[:index], lengths[index + 1 :])]
    remaining = context.leaf("Sub", extent, context.whole(rest))
    sizes = [*(parts[:1] if index else []), remaining]
    sizes += parts[1:] if index + 1 < len(lengths) else []
    length = context.leaf("Concat", *sizes, axis=0)
    return context.leaves("Split", count, context[0], length, axis=axis)


@layer("Reverse", 1)
def reverse(context: LayerContext) -> Made:
    """Reverse along axes."""
    if context.text("mode", None, "index", "mask") == "index":
        axes = context.wholes(1, "the axes")
    else:
        axes = [axis for axis, on in enumerate(context.known(1, "the mask").tolist()) if on]
    if not axes:
        return _same(context)
    count = len(axes)
    return context.leaf(
        "Slice",
        context[0],
        context.whole(*[-1] * count),
        context.whole(*[-(2**63)] * count),
        context.whole(*axes),
        context.whole(*[-1] * count),
    )


@layer("ReverseSequence", 1)
def reverse_sequence(context: LayerContext) -> Made:
    """Reverse the first items of each row."""
    batch, time = context.integer("batch_axis", 0), context.integer("seq_axis", 1)
    rank = context.rank(0)
    batch, time = batch % rank, time % rank
    if {batch, time} == {0, 1}:
        return _reversed(context, context[0], batch, time)
    order = [batch, time, *(axis for axis in range(rank) if axis not in (batch, time))]
    back = [order.index(axis) for axis in range(rank)]
    moved = _reversed(context, context.transpose(context[0], order), 0, 1)
    return context.transpose(moved, back)


def _reversed(context: LayerContext, value: Value, batch: int, time: int) -> Value:
    return context.leaf(
        "ReverseSequence", value, context.list64(1), batch_axis=batch, time_axis=time
    )


@layer("ShuffleChannels", 1)
def shuffle_channels(context: LayerContext) -> Made:
    """Interleave the channels of the groups."""
    rank, group = context.rank(0), context.integer("group", 1)
    axis = context.integer("axis", 1) % rank
    shape = context.leaf("Shape", context[0])
    width = context.leaf("Shape", context[0], start=axis, end=axis + 1)
    parts = [context.whole(group), context.leaf("Div", width, context.whole(group))]
    if axis:
        parts.insert(0, context.leaf("Shape", context[0], start=0, end=axis))
    parts.append(context.leaf("Shape", context[0], start=axis + 1))
    apart = context.leaf("Reshape", context[0], context.leaf("Concat", *parts, axis=0), allowzero=1)
    order = list(range(rank + 1))
    order[axis], order[axis + 1] = axis + 1, axis
    return context.leaf("Reshape", context.transpose(apart, order), shape, allowzero=1)
