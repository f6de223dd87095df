"""Pooling."""

from __future__ import annotations

from treadle.formats.openvino.faults import Fault
from treadle.formats.openvino.hand import Hand
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.formats.openvino.operators.select import typed
from treadle.formats.openvino.operators.windows import windows
from treadle.ir import Value

_ROUNDING = {"floor": 0, "ceil": 1, "ceil_torch": 1}


@layer("MaxPool", 1, 8, 14)
def max_pool(hand: Hand) -> Made:
    """The largest of each window; from version 8 on also where it is."""
    given = _windows(hand, dilated=hand.version > 1)
    if hand.version < 8:
        return hand.leaf("MaxPool", hand[0], **given)
    if hand.integer("axis", 0) != 0:
        raise Fault("CF909", "indices from another axis than 0 have no ONNX form")
    values, places = hand.leaves("MaxPool", 2, hand[0], **given)
    return values, typed(hand, places, "index_element_type")


@layer("AvgPool", 1, 14)
def avg_pool(hand: Hand) -> Made:
    """The mean of each window, with what pads it or without."""
    whole = int(not hand.truth("exclude-pad", hand.truth("exclude_pad", True)))
    given = _windows(hand, dilated=False)
    return hand.leaf("AveragePool", hand[0], count_include_pad=whole, **given)


def _windows(hand: Hand, *, dilated: bool) -> dict[str, object]:
    rounding = _ROUNDING[hand.text("rounding_type", "floor", *_ROUNDING)]
    shape = {"kernel_shape": hand.integers("kernel"), "ceil_mode": rounding}
    return windows(hand, dilated=dilated) | shape


@layer("AdaptiveAvgPool", 8)
def adaptive_avg_pool(hand: Hand) -> Made:
    """The mean over all of each spatial axis: only to one element."""
    return _everything(hand, "ReduceMean")


def _everything(hand: Hand, op: str) -> Value:
    if any(extent != 1 for extent in hand.wholes(1, "the output shape")):
        raise Fault("CF909", "windows of different lengths have no ONNX form")
    axes = hand.whole(*range(2, hand.rank(0)))
    return hand.leaf(op, hand[0], axes, keepdims=1)
