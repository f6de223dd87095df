"""GridSample, ROIAlign, Roll, Bucketize, RandomUniform and GRN."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value

_SAMPLES = {"bilinear": "linear", "bicubic": "cubic", "nearest": "nearest"}


@layer("GridSample", 9)
def grid_sample(hand: LayerContext) -> Made:
    """Sample the image at the positions of a grid, with coordinates from -1 to 1."""
    return hand.leaf(
        "GridSample",
        hand[0],
        hand[1],
        mode=_SAMPLES[hand.text("mode", "bilinear", *_SAMPLES)],
        padding_mode=hand.text("padding_mode", "zeros", "zeros", "border", "reflection"),
        align_corners=int(hand.truth("align_corners", False)),
    )


@layer("ROIAlign", 3, 9)
def roi_align(hand: LayerContext) -> Made:
    """Regions of images, each pooled to one size."""
    aligned = hand.text("aligned_mode", "asymmetric", "asymmetric", *_HALF_PIXEL)
    mode = hand.text("mode", None, "avg", "max")
    samples, sizes = hand.integer("sampling_ratio"), [hand.integer(k) for k in _POOLED]
    if mode == "avg":
        return _aligned(hand, aligned, sizes, samples)
    if samples < 1:
        raise IrError("CF909", "mode max with sampling_ratio 0 has no ONNX form",
                    "give sampling_ratio a number above 0")  # fmt: skip
    # ONNX takes the maximum of weighted corners; here every sample is first a region of its own
    each = _aligned(hand, aligned, [size * samples for size in sizes], 1)
    window = [samples, samples]
    return hand.leaf("MaxPool", each, kernel_shape=window, strides=window)


_POOLED = ("pooled_h", "pooled_w")


def _aligned(hand: LayerContext, aligned: str, sizes: list[int], samples: int) -> Value:
    """The means of samples; half_pixel shifts regions before scaling and back afterwards."""
    regions = hand[1]
    if aligned == "half_pixel":
        regions = hand.leaf("Add", regions, hand.like(1, 0.5))
    half = "half_pixel" if aligned in _HALF_PIXEL else "output_half_pixel"
    return hand.leaf(
        "RoiAlign",
        hand[0],
        regions,
        hand.int64(2),
        mode="avg",
        output_height=sizes[0],
        output_width=sizes[1],
        sampling_ratio=samples,
        spatial_scale=hand.number("spatial_scale"),
        coordinate_transformation_mode=half,
    )


_HALF_PIXEL = ("half_pixel_for_nn", "half_pixel")


@layer("GRN", 1)
def grn(hand: LayerContext) -> Made:
    """GRN: x / sqrt(sum of squares over channels + bias)."""
    square = hand.leaf("Mul", hand[0], hand[0])
    total = hand.leaf("ReduceSum", square, hand.whole(1), keepdims=1)
    biased = hand.leaf("Add", total, hand.like(0, hand.number("bias")))
    return hand.leaf("Div", hand[0], hand.leaf("Sqrt", biased))


@layer("Roll", 7)
def roll(hand: LayerContext) -> Made:
    """Rotate items along axes: items moved past one end re-enter at the other."""
    value = hand[0]
    shifts, axes = hand.wholes(1, "the shifts"), hand.wholes(2, "the axes")
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    for shift, axis in zip(shifts, axes, strict=True):
        length = hand.leaf("Squeeze", hand.leaf("Shape", value, **_at(axis)), hand.whole(0))
        # an empty axis stays empty, since a remainder by 0 is undefined
        known = hand.leaf("Max", length, hand.constant(np.array(1)))
        place = hand.leaf("Mod", hand.constant(np.array(-shift)), known)
        place = hand.leaf("Unsqueeze", place, hand.whole(0))
        along = hand.whole(axis)
        back = hand.leaf("Slice", value, place, hand.whole(2**63 - 1), along)
        front = hand.leaf("Slice", value, hand.whole(0), place, along)
        value = hand.leaf("Concat", back, front, axis=axis)
    return value


def _at(axis: int) -> dict[str, int]:
    return {"start": axis} if axis == -1 else {"start": axis, "end": axis + 1}


@layer("Bucketize", 3)
def bucketize(hand: LayerContext) -> Made:
    """The number of sorted boundaries below each item, or not above it."""
    right = hand.truth("with_right_bound", True)
    wide = hand.leaf("Unsqueeze", hand[0], hand.whole(-1))
    edges = hand.leaf("CastLike", hand[1], hand[0])
    passed = hand.leaf("Greater" if right else "GreaterOrEqual", wide, edges)
    dtype = hand.element("output_type", "i64")
    flags = {"keepdims": 0, "noop_with_empty_axes": 1}
    return hand.leaf("ReduceSum", hand.cast(passed, dtype), hand.whole(-1), **flags)


@layer("RandomUniform", 8)
def random_uniform(hand: LayerContext) -> Made:
    """Uniform numbers from `min` to `max`; they differ from OpenVINO's."""
    dtype = hand.element("output_type")
    whole = dtype.numpy.kind in "iu"
    zero = {"value": np.zeros(1, np.float32)}
    base = hand.leaf("ConstantOfShape", hand.list64(0), **zero)
    seed = hand.integer("op_seed", 0) or hand.integer("global_seed", 0)
    flags = {"seed": float(seed)} if seed else {}
    part = hand.leaf("RandomUniformLike", base, low=0.0, high=1.0, **flags)
    low, high = (hand.leaf("CastLike", hand.draft.scalar(hand[k]), part) for k in (1, 2))
    width = hand.leaf("Sub", high, low)
    moved = hand.leaf("Mul", part, width)
    placed = hand.leaf("Add", hand.leaf("Floor", moved) if whole else moved, low)
    return hand.cast(placed, dtype)
