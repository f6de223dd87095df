"""GridSample, ROIAlign, Roll, Bucketize, RandomUniform and GRN."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value

_SAMPLES = {"bilinear": "linear", "bicubic": "cubic", "nearest": "nearest"}


@layer("GridSample", 9)
def grid_sample(context: LayerContext) -> Made:
    """Sample the image at the positions of a grid, with coordinates from -1 to 1."""
    return context.leaf(
        "GridSample",
        context[0],
        context[1],
        mode=_SAMPLES[context.text("mode", "bilinear", *_SAMPLES)],
        padding_mode=context.text("padding_mode", "zeros", "zeros", "border", "reflection"),
        align_corners=int(context.truth("align_corners", False)),
    )


@layer("ROIAlign", 3, 9)
def roi_align(context: LayerContext) -> Made:
    """Regions of images, each pooled to one size."""
    aligned = context.text("aligned_mode", "asymmetric", "asymmetric", *_HALF_PIXEL)
    mode = context.text("mode", None, "avg", "max")
    samples, sizes = context.integer("sampling_ratio"), [context.integer(k) for k in _POOLED]
    if mode == "avg":
        return _aligned(context, aligned, sizes, samples)
    if samples < 1:
        raise IrError("CF909", "mode max with sampling_ratio 0 has no ONNX form",
                    "give sampling_ratio a number above 0")  # fmt: skip
    # ONNX takes the maximum of weighted corners; here every sample is first a region of its own
    each = _aligned(context, aligned, [size * samples for size in sizes], 1)
    window = [samples, samples]
    return context.leaf("MaxPool", each, kernel_shape=window, strides=window)


_POOLED = ("pooled_h", "pooled_w")


def _aligned(context: LayerContext, aligned: str, sizes: list[int], samples: int) -> Value:
    """The means of samples; half_pixel shifts regions before scaling and back afterwards."""
    regions = context[1]
    if aligned == "half_pixel":
        regions = context.leaf("Add", regions, context.like(1, 0.5))
    half = "half_pixel" if aligned in _HALF_PIXEL else "output_half_pixel"
    return context.leaf(
        "RoiAlign",
        context[0],
        regions,
        context.int64(2),
        mode="avg",
        output_height=sizes[0],
        output_width=sizes[1],
        sampling_ratio=samples,
        spatial_scale=context.number("spatial_scale"),
        coordinate_transformation_mode=half,
    )


_HALF_PIXEL = ("half_pixel_for_nn", "half_pixel")


@layer("GRN", 1)
def grn(context: LayerContext) -> Made:
    """GRN: x / sqrt(sum of squares over channels + bias)."""
    square = context.leaf("Mul", context[0], context[0])
    total = context.leaf("ReduceSum", square, context.whole(1), keepdims=1)
    biased = context.leaf("Add", total, context.like(0, context.number("bias")))
    return context.leaf("Div", context[0], context.leaf("Sqrt", biased))


@layer("Roll", 7)
def roll(context: LayerContext) -> Made:
    """Rotate items along axes: items moved past one end re-enter at the other."""
    value = context[0]
    shifts, axes = context.wholes(1, "the shifts"), context.wholes(2, "the axes")
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    for shift, axis in zip(shifts, axes, strict=True):
        length = context.leaf(
            "Squeeze", context.leaf("Shape", value, **_at(axis)), context.whole(0)
        )
        # an empty axis stays empty, since a remainder by 0 is undefined
        known = context.leaf("Max", length, context.constant(np.array(1)))
        index = context.leaf("Mod", context.constant(np.array(-shift)), known)
        index = context.leaf("Unsqueeze", index, context.whole(0))
        along = context.whole(axis)
        back = context.leaf("Slice", value, index, context.whole(2**63 - 1), along)
        front = context.leaf("Slice", value, context.whole(0), index, along)
        value = context.leaf("Concat", back, front, axis=axis)
    return value


def _at(axis: int) -> dict[str, int]:
    return {"start": axis} if axis == -1 else {"start": axis, "end": axis + 1}


@layer("Bucketize", 3)
def bucketize(context: LayerContext) -> Made:
    """The number of sorted boundaries below each item, or not above it."""
    right = context.truth("with_right_bound", True)
    wide = context.leaf("Unsqueeze", context[0], context.whole(-1))
    edges = context.leaf("CastLike", context[1], context[0])
    passed = context.leaf("Greater" if right else "GreaterOrEqual", wide, edges)
    dtype = context.element("output_type", "i64")
    flags = {"keepdims": 0, "noop_with_empty_axes": 1}
    return context.leaf("ReduceSum", context.cast(passed, dtype), context.whole(-1), **flags)


@layer("RandomUniform", 8)
def random_uniform(context: LayerContext) -> Made:
    """Uniform numbers from `min` to `max`; they differ from OpenVINO's."""
    dtype = context.element("output_type")
    whole = dtype.numpy.kind in "iu"
    zero = {"value": np.zeros(1, np.float32)}
    base = context.leaf("ConstantOfShape", context.list64(0), **zero)
    seed = context.integer("op_seed", 0) or context.integer("global_seed", 0)
    flags = {"seed": float(seed)} if seed else {}
    part = context.leaf("RandomUniformLike", base, low=0.0, high=1.0, **flags)
    low, high = (context.leaf("CastLike", context.draft.scalar(context[k]), part) for k in (1, 2))
    width = context.leaf("Sub", high, low)
    moved = context.leaf("Mul", part, width)
    placed = context.leaf("Add", context.leaf("Floor", moved) if whole else moved, low)
    return context.cast(placed, dtype)
