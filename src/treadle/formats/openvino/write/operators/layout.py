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
def reshape(hand: OpContext) -> Made:
    """Reshape; 0 keeps the extent at its position, unless allowzero makes it an extent."""
    given = hand.integers("shape")
    shape = hand.whole(*given) if given is not None else hand[1]
    return hand.layer("Reshape-1", hand[0], shape, special_zero=not hand.integer("allowzero"))


@operator("Flatten")
def flatten(hand: OpContext) -> Made:
    """Reshape to a matrix: the axes before `axis`, and the others."""
    rank, axis = hand.rank(0), hand.axis(default=1)
    if axis == 0:
        return hand.reshape(hand[0], 1, -1)
    if axis == 1:
        return hand.reshape(hand[0], 0, -1)
    if axis == rank:
        return hand.reshape(hand[0], -1, 1)
    parts = [hand.extent_of(0, k) for k in range(axis)]
    front = parts[0]
    for part in parts[1:]:
        front = hand.layer("Multiply-1", front, part)
    shape = hand.layer("Concat-1", front, hand.whole(-1), axis=0)
    return hand.layer("Reshape-1", hand[0], shape, special_zero=False)


def _given_axes(hand: OpContext, rank: int | None) -> Wire | None:
    """The axes of an attribute or an input, from the front if known; None if left out."""
    given = hand.integers("axes")
    if hand.has(1):
        array = hand.array(1)
        if array is None:
            raise Refusal("its axes are computed", "make the axes a constant")
        given = [int(axis) for axis in array.reshape(-1).tolist()]
    if given is None:
        return None
    return hand.whole(*(axis if axis >= 0 or rank is None else axis + rank for axis in given))


@operator("Squeeze")
def squeeze(hand: OpContext) -> Made:
    """Remove axes of extent 1."""
    shape = hand.shape(0)
    axes = _given_axes(hand, None if shape is None else len(shape))
    if axes is None:
        return hand.layer("Squeeze-1", hand[0])
    if axes.array is not None and not axes.array.size:
        return hand[0]
    return hand.layer("Squeeze-1", hand[0], axes)


@operator("Unsqueeze")
def unsqueeze(hand: OpContext) -> Made:
    """Insert axes of extent 1."""
    shape, count = hand.shape(0), len(hand.integers("axes") or ())
    array = hand.array(1)
    if array is not None:
        count = array.size
    axes = _given_axes(hand, None if shape is None else len(shape) + count)
    if axes is None:
        raise Refusal("it has no axes")
    if axes.array is not None and not axes.array.size:
        return hand[0]
    return hand.layer("Unsqueeze-1", hand[0], axes)


@operator("Transpose")
def transpose(hand: OpContext) -> Made:
    """Permute the axes; by default reverse them."""
    order = hand.integers("perm")
    if order is None:
        order = list(reversed(range(hand.rank(0))))
    return hand.transpose(hand[0], order)


@operator("Concat")
def concat(hand: OpContext) -> Made:
    """Concatenate along an axis."""
    wires = hand.all()
    if len(wires) == 1:
        return wires[0]
    axis = hand.integer("axis", 1)
    shape = hand.shape(0)
    return hand.layer("Concat-1", *wires, axis=axis % len(shape) if shape else axis)


@operator("Split")
def split(hand: OpContext) -> Made:
    """Split along an axis: equal parts, given lengths, or equal parts with a smaller last one."""
    count = len(hand.leaf.results)
    axis, given = hand.axis(), hand.integers("split")
    along = hand.scalar(axis)
    if given is not None or hand.has(1):
        lengths = hand[1] if given is None else hand.whole(*given)
        return hand.layers("VariadicSplit-1", count, hand[0], along, lengths)
    extent = hand.extent(0, axis)
    if hand.version < _SPLIT_SINCE or (extent is not None and extent % count == 0):
        return hand.layers("Split-1", count, hand[0], along, num_splits=count)
    if extent is not None:
        long = -(-extent // count)
        known = [long] * (count - 1)
        lengths = hand.whole(*known, extent - sum(known))
        return hand.layers("VariadicSplit-1", count, hand[0], along, lengths)
    lengths = _computed_lengths(hand, axis, count)
    return hand.layers("VariadicSplit-1", count, hand[0], along, lengths)


def _computed_lengths(hand: OpContext, axis: int, count: int) -> Wire:
    extent = hand.extent_of(0, axis)
    long = hand.layer("Add-1", extent, hand.whole(count - 1))
    long = hand.layer("Divide-1", long, hand.whole(count), m_pythondiv=False)
    rest = hand.layer("Multiply-1", long, hand.whole(count - 1))
    last = hand.layer("Subtract-1", extent, rest)
    return hand.layer("Concat-1", *[long] * (count - 1), last, axis=0)


@operator("Slice")
def slice_(hand: OpContext) -> Made:
    """Slice axes from start to end by a step."""
    if hand.version < 10:
        ends = [hand.integers(name) or [] for name in ("starts", "ends")]
        axes = hand.integers("axes") or list(range(len(ends[0])))
        bounds = [hand.whole(*np.clip(each, -(2**31) + 1, 2**31 - 1).tolist()) for each in ends]
        return _sliced(hand, bounds[0], bounds[1], hand.whole(*[1] * len(axes)), axes)
    steps = hand.bounds(4) if hand.has(4) else None
    if hand.has(3) and hand.array(3) is None:
        ones = hand.layer("Broadcast-3", hand.scalar(1), hand.shape_of(3), mode="numpy")
        return hand.layer(
            "Slice-8", hand[0], hand.bounds(1), hand.bounds(2), steps or ones, hand[3]
        )
    axes = hand.wholes(3, "the axes") if hand.has(3) else list(range(_count(hand)))
    return _sliced(
        hand, hand.bounds(1), hand.bounds(2), steps or hand.whole(*[1] * len(axes)), axes
    )


def _count(hand: OpContext) -> int:
    count = hand.extent(1, 0)
    if count is None:
        raise Refusal("it has no axes, and the number of its starts is not known", "give the axes")
    return count


def _sliced(hand: OpContext, start: Wire, end: Wire, step: Wire, axes: list[int]) -> Wire:
    if not axes:
        return hand[0]
    shape = hand.shape(0)
    along = [axis % len(shape) if shape else axis for axis in axes]
    return hand.layer("Slice-8", hand[0], start, end, step, hand.whole(*along))


@operator("Expand")
def expand(hand: OpContext) -> Made:
    """Broadcast to a shape."""
    return hand.layer("Broadcast-3", hand[0], hand[1], mode="bidirectional")


@operator("Tile")
def tile(hand: OpContext) -> Made:
    """Repeat along each axis; OpenVINO's own layer is wrong for computed repeats."""
    if hand.version < 6:
        raise Refusal("Tile-1 is not supported", "convert the model to opset 6 or later")
    if hand.array(1) is not None:
        return hand.layer("Tile-1", hand[0], hand[1])
    made = hand[0]
    for axis in range(hand.rank(0)):
        length, repeats = hand.extent_of(0, axis), _entry(hand, axis)
        count = hand.squeeze(hand.layer("Multiply-1", length, repeats), 0)
        made = around(hand, made, axis, hand.scalar(0), count)
    return made


def _entry(hand: OpContext, axis: int) -> Wire:
    return hand.layer("Gather-8", hand[1], hand.whole(axis), hand.scalar(0), batch_dims=0)


def around(hand: OpContext, wire: Wire, axis: int, first: Wire, last: Wire) -> Wire:
    """The items at positions first to last along an axis, modulo its length."""
    length = hand.squeeze(hand.extent_of(0, axis), 0)
    places = hand.layer("Range-4", first, last, hand.scalar(1), output_type="i64")
    items = hand.layer("FloorMod-1", places, length)
    return hand.layer("Gather-8", wire, items, hand.scalar(axis), batch_dims=0)


@operator("Constant")
def constant(hand: OpContext) -> Made:
    """A constant that is too large, or of a kind, to be known by the analysis."""
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        given = hand.attributes.get(name)
        if given is not None:
            dtype = hand.result().dtype
            return hand.constant(np.asarray(given, dtype.numpy if dtype else None))
    raise Refusal("this kind of constant has no form", "use a dense tensor")


@operator("ConstantOfShape")
def constant_of_shape(hand: OpContext) -> Made:
    """A tensor filled with one value."""
    value = hand.attributes.get("value")
    fill = np.zeros((), np.float32) if value is None else np.asarray(value).reshape(())
    return hand.layer("Broadcast-3", hand.constant(fill), hand[0], mode="numpy")


@operator("Shape")
def shape(hand: OpContext) -> Made:
    """The extents, or a slice of them."""
    whole = hand.shape_of(0)
    start, end = hand.integer("start"), hand.attributes.get("end")
    if start == 0 and end is None:
        return whole
    last = 2**31 - 1 if end is None else int(end)
    bounds = (hand.whole(start), hand.whole(last), hand.whole(1), hand.whole(0))
    return hand.layer("Slice-8", whole, *bounds)


@operator("Size")
def size(hand: OpContext) -> Made:
    """The number of elements."""
    return hand.layer("ReduceProd-1", hand.shape_of(0), hand.whole(0), keep_dims=False)


@operator("Range")
def range_(hand: OpContext) -> Made:
    """start, start + step ... up to a limit, exclusive."""
    ends = [_point(hand, k) for k in range(3)]
    dtype = hand.dtype(0)
    if dtype in (DType.FLOAT16, DType.BFLOAT16):
        wide = [hand.convert(end, DType.FLOAT32) for end in ends]
        return hand.convert(hand.layer("Range-4", *wide, output_type="f32"), dtype)
    return hand.layer("Range-4", *ends, output_type=word_of(dtype))


def _point(hand: OpContext, position: int) -> Wire:
    return hand[position] if hand.shape(position) == () else hand.squeeze(hand[position])


@operator("EyeLike")
def eye_like(hand: OpContext) -> Made:
    """Ones on a diagonal of a matrix."""
    rows, columns = (hand.extent_of(0, axis) for axis in (0, 1))
    made = hand.layer("Eye-9", rows, columns, hand.scalar(hand.integer("k")), output_type="f32")
    return hand.convert(made, hand.result().dtype or DType.FLOAT32)


@operator("DepthToSpace", "SpaceToDepth")
def depth_and_space(hand: OpContext) -> Made:
    """Blocks of channels to blocks of pixels, and the inverse."""
    mode = "depth_first" if hand.text("mode") == "CRD" else "blocks_first"
    return hand.layer(f"{hand.leaf.op}-1", hand[0], block_size=hand.integer("blocksize"), mode=mode)


@operator("ReverseSequence")
def reverse_sequence(hand: OpContext) -> Made:
    """Reverse the first items of each row."""
    return hand.layer(
        "ReverseSequence-1",
        hand[0],
        hand[1],
        batch_axis=hand.integer("batch_axis", 1),
        seq_axis=hand.integer("time_axis", 0),
    )
