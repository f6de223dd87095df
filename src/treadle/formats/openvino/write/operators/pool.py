"""Pooling: the maximum, mean or norm of windows, or over all spatial axes."""

from __future__ import annotations

import math

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Made, operator
from treadle.formats.openvino.write.operators.windows import window
from treadle.formats.openvino.write.refusals import Refusal


def _pooling(context: OpContext) -> dict[str, object]:
    kernel = context.integers("kernel_shape") or []
    data = window(context, len(kernel)).data()
    rounding = "ceil_torch" if context.integer("ceil_mode") else "floor"
    return data | {"kernel": kernel, "rounding_type": rounding}


@operator("MaxPool")
def max_pool(context: OpContext) -> Made:
    """The maximum of each window, and its index."""
    if context.wants(1) and context.integer("storage_order"):
        raise Refusal("indices in column order have no form", "use storage_order 0")
    more = {"index_element_type": "i64", "axis": 0}
    return context.layers("MaxPool-14", 2, context[0], **_pooling(context), **more)


@operator("AveragePool")
def average_pool(context: OpContext) -> Made:
    """The mean of each window."""
    return _mean(context, context[0], bool(context.integer("count_include_pad")))


def _mean(context: OpContext, value: Wire, padded: bool) -> Wire:
    data = _pooling(context)
    dilated = any(step != 1 for step in context.integers("dilations") or ())
    if not dilated:
        del data["dilations"]
    kind = "AvgPool-16" if dilated else "AvgPool-14"
    return context.layer(kind, value, **data, **{"exclude-pad": not padded})


@operator("LpPool")
def norm_pool(context: OpContext) -> Made:
    """The p-norm of each window: the mean of powers, times their number, to 1/p."""
    p, kernel = context.integer("p", 2), context.integers("kernel_shape") or []
    powers = context.layer("Power-1", context.layer("Abs-1", context[0]), context.like(0, p))
    total = context.layer(
        "Multiply-1", _mean(context, powers, True), context.like(0, math.prod(kernel))
    )
    return context.layer("Power-1", total, context.like(0, 1 / p))


def _everywhere(context: OpContext, kind: str, value: Wire) -> Wire:
    return context.layer(kind, value, context.whole(*range(2, context.rank(0))), keep_dims=True)


@operator("GlobalAveragePool")
def global_average(context: OpContext) -> Made:
    """The mean over all spatial axes."""
    return _everywhere(context, "ReduceMean-1", context[0])


@operator("GlobalMaxPool")
def global_max(context: OpContext) -> Made:
    """The largest over all spatial axes."""
    return _everywhere(context, "ReduceMax-1", context[0])


@operator("GlobalLpPool")
def global_norm(context: OpContext) -> Made:
    """The p-norm over all spatial axes."""
    p = context.integer("p", 2)
    powers = context.layer("Power-1", context.layer("Abs-1", context[0]), context.like(0, p))
    return context.layer(
        "Power-1", _everywhere(context, "ReduceSum-1", powers), context.like(0, 1 / p)
    )
