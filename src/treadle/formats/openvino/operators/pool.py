"""Pooling."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.formats.openvino.operators.select import typed
from treadle.formats.openvino.operators.windows import windows

_ROUNDING = {"floor": 0, "ceil": 1, "ceil_torch": 1}


@layer("MaxPool", 1, 8, 14)
def max_pool(context: LayerContext) -> Made:
    """The maximum of each window; from version 8 on also its index."""
    given = _windows(context, dilated=context.version > 1)
    if context.version < 8:
        return context.leaf("MaxPool", context[0], **given)
    values, places = context.leaves("MaxPool", 2, context[0], **given)
    axis = context.integer("axis", 0)
    if axis % context.rank(0):
        # indices count within the axes from `axis` on; ONNX's count within all axes
        inner = context.leaf(
            "ReduceProd", context.leaf("Shape", context[0], start=axis), keepdims=1
        )
        places = context.leaf("Mod", places, inner)
    return values, typed(context, places, "index_element_type")


@layer("AvgPool", 1, 14)
def avg_pool(context: LayerContext) -> Made:
    """The mean of each window, with or without its padding."""
    whole = int(not context.truth("exclude-pad", context.truth("exclude_pad", True)))
    given = _windows(context, dilated=False)
    return context.leaf("AveragePool", context[0], count_include_pad=whole, **given)


def _windows(context: LayerContext, *, dilated: bool) -> dict[str, object]:
    rounding = context.text("rounding_type", "floor", *_ROUNDING)
    given = windows(context, dilated=dilated) | {"kernel_shape": context.integers("kernel")}
    if rounding == "ceil" and "pads" in given:
        _refuse_empty_windows(context, dilated=dilated)
    return given | {"ceil_mode": _ROUNDING[rounding]}


def _refuse_empty_windows(context: LayerContext, *, dilated: bool) -> None:
    """Refuse a last window that starts after the data, which `ceil_torch` and ONNX leave out."""
    strides, kernel = context.integers("strides"), context.integers("kernel")
    ones, zeros = [1] * len(strides), [0] * len(strides)
    dilations = context.integers("dilations", ones) if dilated else ones
    begin, end = context.integers("pads_begin", zeros), context.integers("pads_end", zeros)
    shape = context.shape(0)
    extents = shape[2:] if shape is not None else [None] * len(strides)
    for extent, step, taps, apart, before, after in zip(
        extents, strides, kernel, dilations, begin, end, strict=True
    ):
        reach = (taps - 1) * apart + 1
        if isinstance(extent, int):
            last = -(-(extent + before + after - reach) // step) * step
            is_empty = last >= extent + before
        else:
            is_empty = after - reach + step > 0
        if is_empty:
            raise IrError("CF909", "rounding_type ceil makes a window of nothing but padding",
                        "use ceil_torch, which leaves that window out")  # fmt: skip
