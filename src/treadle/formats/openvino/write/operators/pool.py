"""Pooling: the maximum, mean or norm of windows, or over all spatial axes."""

from __future__ import annotations

import math

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Made, operator
from treadle.formats.openvino.write.operators.windows import window
from treadle.formats.openvino.write.refusals import Refusal


def _pooling(hand: OpContext) -> dict[str, object]:
    kernel = hand.integers("kernel_shape") or []
    data = window(hand, len(kernel)).data()
    rounding = "ceil_torch" if hand.integer("ceil_mode") else "floor"
    return data | {"kernel": kernel, "rounding_type": rounding}


@operator("MaxPool")
def max_pool(hand: OpContext) -> Made:
    """The maximum of each window, and its index."""
    if hand.wants(1) and hand.integer("storage_order"):
        raise Refusal("indices in column order have no form", "use storage_order 0")
    more = {"index_element_type": "i64", "axis": 0}
    return hand.layers("MaxPool-14", 2, hand[0], **_pooling(hand), **more)


@operator("AveragePool")
def average_pool(hand: OpContext) -> Made:
    """The mean of each window."""
    return _mean(hand, hand[0], bool(hand.integer("count_include_pad")))


def _mean(hand: OpContext, value: Wire, padded: bool) -> Wire:
    data = _pooling(hand)
    dilated = any(step != 1 for step in hand.integers("dilations") or ())
    if not dilated:
        del data["dilations"]
    kind = "AvgPool-16" if dilated else "AvgPool-14"
    return hand.layer(kind, value, **data, **{"exclude-pad": not padded})


@operator("LpPool")
def norm_pool(hand: OpContext) -> Made:
    """The p-norm of each window: the mean of powers, times their number, to 1/p."""
    p, kernel = hand.integer("p", 2), hand.integers("kernel_shape") or []
    powers = hand.layer("Power-1", hand.layer("Abs-1", hand[0]), hand.like(0, p))
    total = hand.layer("Multiply-1", _mean(hand, powers, True), hand.like(0, math.prod(kernel)))
    return hand.layer("Power-1", total, hand.like(0, 1 / p))


def _everywhere(hand: OpContext, kind: str, value: Wire) -> Wire:
    return hand.layer(kind, value, hand.whole(*range(2, hand.rank(0))), keep_dims=True)


@operator("GlobalAveragePool")
def global_average(hand: OpContext) -> Made:
    """The mean over all spatial axes."""
    return _everywhere(hand, "ReduceMean-1", hand[0])


@operator("GlobalMaxPool")
def global_max(hand: OpContext) -> Made:
    """The largest over all spatial axes."""
    return _everywhere(hand, "ReduceMax-1", hand[0])


@operator("GlobalLpPool")
def global_norm(hand: OpContext) -> Made:
    """The p-norm over all spatial axes."""
    p = hand.integer("p", 2)
    powers = hand.layer("Power-1", hand.layer("Abs-1", hand[0]), hand.like(0, p))
    return hand.layer("Power-1", _everywhere(hand, "ReduceSum-1", powers), hand.like(0, 1 / p))
