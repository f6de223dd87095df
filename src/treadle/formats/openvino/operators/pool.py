"""Pooling."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.formats.openvino.operators.select import typed
from treadle.formats.openvino.operators.windows import windows

_ROUNDING = {"floor": 0, "ceil": 1, "ceil_torch": 1}


@layer("MaxPool", 1, 8, 14)
def max_pool(hand: LayerContext) -> Made:
    """The maximum of each window; from version 8 on also its index."""
    given = _windows(hand, dilated=hand.version > 1)
    if hand.version < 8:
        return hand.leaf("MaxPool", hand[0], **given)
    values, places = hand.leaves("MaxPool", 2, hand[0], **given)
    axis = hand.integer("axis", 0)
    if axis % hand.rank(0):
        # indices count within the axes from `axis` on; ONNX's count within all axes
        inner = hand.leaf("ReduceProd", hand.leaf("Shape", hand[0], start=axis), keepdims=1)
        places = hand.leaf("Mod", places, inner)
    return values, typed(hand, places, "index_element_type")


@layer("AvgPool", 1, 14)
def avg_pool(hand: LayerContext) -> Made:
    """The mean of each window, with or without its padding."""
    whole = int(not hand.truth("exclude-pad", hand.truth("exclude_pad", True)))
    given = _windows(hand, dilated=False)
    return hand.leaf("AveragePool", hand[0], count_include_pad=whole, **given)


def _windows(hand: LayerContext, *, dilated: bool) -> dict[str, object]:
    rounding = hand.text("rounding_type", "floor", *_ROUNDING)
    given = windows(hand, dilated=dilated) | {"kernel_shape": hand.integers("kernel")}
    if rounding == "ceil" and "pads" in given:
        _refuse_empty_windows(hand, dilated=dilated)
    return given | {"ceil_mode": _ROUNDING[rounding]}


def _refuse_empty_windows(hand: LayerContext, *, dilated: bool) -> None:
    """Refuse a last window that starts after the data, which `ceil_torch` and ONNX leave out."""
    strides, kernel = hand.integers("strides"), hand.integers("kernel")
    ones, zeros = [1] * len(strides), [0] * len(strides)
    dilations = hand.integers("dilations", ones) if dilated else ones
    begin, end = hand.integers("pads_begin", zeros), hand.integers("pads_end", zeros)
    shape = hand.shape(0)
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
