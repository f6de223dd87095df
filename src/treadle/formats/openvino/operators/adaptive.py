"""Adaptive pooling: a given number of windows, whose lengths may differ by one."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value


@layer("AdaptiveAvgPool", 8)
def adaptive_avg_pool(context: LayerContext) -> Made:
    """The mean of window i of n along each spatial axis of length l.

    x[..., i * l // n : -(-(i + 1) * l // n)].mean()
    """
    wanted, rank = context.wholes(1, "the output shape"), context.rank(0)
    if all(extent == 1 for extent in wanted):
        return context.leaf("ReduceMean", context[0], context.whole(*range(2, rank)), keepdims=1)
    value = context[0]
    for axis, count in enumerate(wanted, 2):
        order = [*(k for k in range(rank) if k != axis), axis]
        turned = context.transpose(value, order)
        meant = context.leaf("MatMul", turned, _shares(context, axis, count))
        value = context.transpose(meant, [order.index(k) for k in range(rank)])
    return value


def _shares(context: LayerContext, axis: int, count: int) -> Value:
    """A matrix [length, count]: the weight of each item in the mean of each window."""
    dtype, shape = context.dtype(0), context.shape(0)
    length = shape[axis] if shape else None
    if isinstance(length, int):
        first, end = _ends(np.arange(count), length, count)
        places = np.arange(length)[:, np.newaxis]
        inside = (places >= first) & (places < end)
        return context.constant((inside / (end - first)).astype(dtype.numpy))
    extent = context.leaf("Squeeze", context.leaf("Shape", context[0], start=axis, end=axis + 1))
    steps = context.whole(*range(count))
    first_ = context.leaf("Div", context.leaf("Mul", steps, extent), context.whole(count))
    above = context.leaf("Mul", context.whole(*range(1, count + 1)), extent)
    rounded = context.leaf("Add", above, context.whole(count - 1))
    end_ = context.leaf("Div", rounded, context.whole(count))
    zero, one = (context.constant(np.array(number)) for number in (0, 1))
    places_ = context.leaf("Unsqueeze", context.leaf("Range", zero, extent, one), context.whole(1))
    after = context.leaf("GreaterOrEqual", places_, first_)
    inside_ = context.cast(context.leaf("And", after, context.leaf("Less", places_, end_)), dtype)
    return context.leaf("Div", inside_, context.cast(context.leaf("Sub", end_, first_), dtype))


def _ends(windows: np.ndarray, length: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    return windows * length // count, -(-(windows + 1) * length // count)
