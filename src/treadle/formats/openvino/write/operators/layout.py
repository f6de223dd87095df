"""Shapes and arrangement: Reshape, Transpose, Concat, Split, Slice, Pad, Expand, Tile ..."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.write.encoding import word_of
from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Made, operator
from treadle.formats.openvino.write.refusals import Refusal
from treadle.ir import DType

_SPLIT_SINCE = 18


@operator("Reshape")
def reshape(context: OpContext) -> Made:
    """Reshape; 0 keeps the extent at its position, unless allowzero makes it an extent."""
    given = context.integers("shape")
    shape = context.whole(*given) if given is not None else context[1]
    return context.layer(
        "Reshape-1", context[0], shape, special_zero=not context.integer("allowzero")
    )


@operator("Flatten")
def flatten(context: OpContext) -> Made:
    """Reshape to a matrix: the axes before `axis`, and the others."""
    rank, axis = context.rank(0), context.axis(default=1)
    if axis == 0:
        return context.reshape(context[0], 1, -1)
    if axis == 1:
        return context.reshape(context[0], 0, -1)
    if axis == rank:
        return context.reshape(context[0], -1, 1)
    parts = [context.extent_of(0, k) for k in range(axis)]
    front = parts[0]
    for part in parts[1:]:
        front = context.layer("Multiply-1", front, part)
    shape = context.layer("Concat-1", front, context.whole(-1), axis=0)
    return context.layer("Reshape-1", context[0], shape, special_zero=False)


def _given_axes(context: OpContext, rank: int | None) -> Wire | None:
    """The axes of an attribute or an input, from the front if known; None if left out."""
    given = context.integers("axes")
    if context.has(1):
        array = context.array(1)
        if array is None:
            raise Refusal("its axes are computed", "make the axes a constant")
        given = [int(axis) for axis in array.reshape(-1).tolist()]
    if given is None:
        return None
    return context.whole(*(axis if axis >= 0 or rank is None else axis + rank for axis in given))


@operator("Squeeze")
def squeeze(context: OpContext) -> Made:
    """Remove axes of extent 1."""
    shape = context.shape(0)
    axes = _given_axes(context, None if shape is None else len(shape))
    if axes is None:
        return context.layer("Squeeze-1", context[0])
    if axes.array is not None and not axes.array.size:
        return context[0]
    return context.layer("Squeeze-1", context[0], axes)


@operator("Unsqueeze")
def unsqueeze(context: OpContext) -> Made:
    """Insert axes of extent 1."""
    shape, count = context.shape(0), len(context.integers("axes") or ())
    array = context.array(1)
    if array is not None:
        count = array.size
    axes = _given_axes(context, None if shape is None else len(shape) + count)
    if axes is None:
        raise Refusal("it has no axes")
    if axes.array is not None and not axes.array.size:
        return context[0]
    return context.layer("Unsqueeze-1", context[0], axes)


@operator("Transpose")
def transpose(context: OpContext) -> Made:
    """Permute the axes; by default reverse them."""
    order = context.integers("perm")
    if order is None:
        order = list(reversed(range(context.rank(0))))
    return context.transpose(context[0], order)


@operator("Concat")
def concat(context: OpContext) -> Made:
    """Concatenate along an axis."""
    wires = context.all()
    if len(wires) == 1:
        return wires[0]
    axis = context.integer("axis", 1)
    shape = context.shape(0)
    return context.layer("Concat-1", *wires, axis=axis % len(shape) if shape else axis)


@operator("Split")
def split(context: OpContext) -> Made:
    """Split along an axis: equal parts, given lengths, or equal parts with a smaller last one."""
    count = len(context.leaf.results)
    axis, given = context.axis(), context.integers("split")
    along = context.scalar(axis)
    if given is not None or context.has(1):
        lengths = context[1] if given is None else context.whole(*given)
        return context.layers("VariadicSplit-1", count, context[0], along, lengths)
    extent = context.extent(0, axis)
    if context.version < _SPLIT_SINCE or (extent is not None and extent % count == 0):
        return context.layers("Split-1", count, context[0], along, num_splits=count)
    if extent is not None:
        long = -(-extent // count)
        known = [long] * (count - 1)
        lengths = context.whole(*known, extent - sum(known))
        return context.layers("VariadicSplit-1", count, context[0], along, lengths)
    lengths = _computed_lengths(context, axis, count)
    return context.layers("VariadicSplit-1", count, context[0], along, lengths)


def _computed_lengths(context: OpContext, axis: int, count: int) -> Wire:
    extent = context.extent_of(0, axis)
    long = context.layer("Add-1", extent, context.whole(count - 1))
    long = context.layer("Divide-1", long, context.whole(count), m_pythondiv=False)
    rest = context.layer("Multiply-1", long, context.whole(count - 1))
    last = context.layer("Subtract-1", extent, rest)
    return context.layer("Concat-1", *[long] * (count - 1), last, axis=0)


@operator("Slice")
def slice_(context: OpContext) -> Made:
    """Slice axes from start to end by a step."""
    if context.version < 10:
        ends = [context.integers(name) or [] for name in ("starts", "ends")]
        axes = context.integers("axes") or list(range(len(ends[0])))
        bounds = [context.whole(*np.clip(each, -(2**31) + 1, 2**31 - 1).tolist()) for each in ends]
        return _sliced(context, bounds[0], bounds[1], context.whole(*[1] * len(axes)), axes)
    steps = context.bounds(4) if context.has(4) else None
    if context.has(3) and context.array(3) is None:
        ones = context.layer("Broadcast-3", context.scalar(1), context.shape_of(3), mode="numpy")
        return context.layer(
            "Slice-8", context[0], context.bounds(1), context.bounds(2), steps or ones, context[3]
        )
    axes = context.wholes(3, "the axes") if context.has(3) else list(range(_count(context)))
    return _sliced(
        context,
        context.bounds(1),
        context.bounds(2),
        steps or context.whole(*[1] * len(axes)),
        axes,
    )


def _count(context: OpContext) -> int:
    count = context.extent(1, 0)
    if count is None:
        raise Refusal("it has no axes, and the number of its starts is not known", "give the axes")
    return count


def _sliced(context: OpContext, start: Wire, end: Wire, step: Wire, axes: list[int]) -> Wire:
    if not axes:
        return context[0]
    shape = context.shape(0)
    along = [axis % len(shape) if shape else axis for axis in axes]
    return context.layer("Slice-8", context[0], start, end, step, context.whole(*along))


@operator("Expand")
def expand(context: OpContext) -> Made:
    """Broadcast to a shape."""
    return context.layer("Broadcast-3", context[0], context[1], mode="bidirectional")


@operator("Tile")
def tile(context: OpContext) -> Made:
    """Repeat along each axis; OpenVINO's own layer is wrong for computed repeats."""
    if context.version < 6:
        raise Refusal("Tile-1 is not supported", "convert the model to opset 6 or later")
    if context.array(1) is not None:
        return context.layer("Tile-1", context[0], context[1])
    made = context[0]
    for axis in range(context.rank(0)):
        length, repeats = context.extent_of(0, axis), _entry(context, axis)
        count = context.squeeze(context.layer("Multiply-1", length, repeats), 0)
        made = around(context, made, axis, context.scalar(0), count)
    return made


def _entry(context: OpContext, axis: int) -> Wire:
    return context.layer(
        "Gather-8", context[1], context.whole(axis), context.scalar(0), batch_dims=0
    )


def around(context: OpContext, wire: Wire, axis: int, first: Wire, last: Wire) -> Wire:
    """The items at positions first to last along an axis, modulo its length."""
    length = context.squeeze(context.extent_of(0, axis), 0)
    places = context.layer("Range-4", first, last, context.scalar(1), output_type="i64")
    items = context.layer("FloorMod-1", places, length)
    return context.layer("Gather-8", wire, items, context.scalar(axis), batch_dims=0)


@operator("Constant")
def constant(context: OpContext) -> Made:
    """A constant that is too large, or of a kind, to be known by the analysis."""
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        given = context.attributes.get(name)
        if given is not None:
            dtype = context.result().dtype
            return context.constant(np.asarray(given, dtype.numpy if dtype else None))
    raise Refusal("this kind of constant has no form", "use a dense tensor")


@operator("ConstantOfShape")
def constant_of_shape(context: OpContext) -> Made:
    """A tensor filled with one value."""
    value = context.attributes.get("value")
    fill = np.zeros((), np.float32) if value is None else np.asarray(value).reshape(())
    return context.layer("Broadcast-3", context.constant(fill), context[0], mode="numpy")


@operator("Shape")
def shape(context: OpContext) -> Made:
    """The extents, or a slice of them."""
    whole = context.shape_of(0)
    start, end = context.integer("start"), context.attributes.get("end")
    if start == 0 and end is None:
        return whole
    last = 2**31 - 1 if end is None else int(end)
    bounds = (context.whole(start), context.whole(last), context.whole(1), context.whole(0))
    return context.layer("Slice-8", whole, *bounds)


@operator("Size")
def size(context: OpContext) -> Made:
    """The number of elements."""
    return context.layer("ReduceProd-1", context.shape_of(0), context.whole(0), keep_dims=False)


@operator("Range")
def range_(context: OpContext) -> Made:
    """start, start + step ... up to a limit, exclusive."""
    ends = [_point(context, k) for k in range(3)]
    dtype = context.dtype(0)
    if dtype in (DType.FLOAT16, DType.BFLOAT16):
        wide = [context.convert(end, DType.FLOAT32) for end in ends]
        return context.convert(context.layer("Range-4", *wide, output_type="f32"), dtype)
    return context.layer("Range-4", *ends, output_type=word_of(dtype))


def _point(context: OpContext, position: int) -> Wire:
    return (
        context[position] if context.shape(position) == () else context.squeeze(context[position])
    )


@operator("EyeLike")
def eye_like(context: OpContext) -> Made:
    """Ones on a diagonal of a matrix."""
    rows, columns = (context.extent_of(0, axis) for axis in (0, 1))
    made = context.layer(
        "Eye-9", rows, columns, context.scalar(context.integer("k")), output_type="f32"
    )
    return context.convert(made, context.result().dtype or DType.FLOAT32)


@operator("DepthToSpace", "SpaceToDepth")
def depth_and_space(context: OpContext) -> Made:
    """Blocks of channels to blocks of pixels, and the inverse."""
    mode = "depth_first" if context.text("mode") == "CRD" else "blocks_first"
    return context.layer(
        f"{context.leaf.op}-1", context[0], block_size=context.integer("blocksize"), mode=mode
    )


@operator("ReverseSequence")
def reverse_sequence(context: OpContext) -> Made:
    """Reverse the first items of each row."""
    return context.layer(
        "ReverseSequence-1",
        context[0],
        context[1],
        batch_axis=context.integer("batch_axis", 1),
        seq_axis=context.integer("time_axis", 0),
    )
