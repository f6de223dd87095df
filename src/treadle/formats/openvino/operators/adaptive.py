"""Adaptive pooling: a given number of windows, whose lengths may differ by one."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value


@layer("AdaptiveAvgPool", 8)
def adaptive_avg_pool(hand: LayerContext) -> Made:
    """The mean of window i of n along each spatial axis of length l.

    x[..., i * l // n : -(-(i + 1) * l // n)].mean()
    """
    wanted, rank = hand.wholes(1, "the output shape"), hand.rank(0)
    if all(extent == 1 for extent in wanted):
        return hand.leaf("ReduceMean", hand[0], hand.whole(*range(2, rank)), keepdims=1)
    value = hand[0]
    for axis, count in enumerate(wanted, 2):
        order = [*(k for k in range(rank) if k != axis), axis]
        turned = hand.transpose(value, order)
        meant = hand.leaf("MatMul", turned, _shares(hand, axis, count))
        value = hand.transpose(meant, [order.index(k) for k in range(rank)])
    return value


def _shares(hand: LayerContext, axis: int, count: int) -> Value:
    """A matrix [length, count]: the weight of each item in the mean of each window."""
    dtype, shape = hand.dtype(0), hand.shape(0)
    length = shape[axis] if shape else None
    if isinstance(length, int):
        first, end = _ends(np.arange(count), length, count)
        places = np.arange(length)[:, np.newaxis]
        inside = (places >= first) & (places < end)
        return hand.constant((inside / (end - first)).astype(dtype.numpy))
    extent = hand.leaf("Squeeze", hand.leaf("Shape", hand[0], start=axis, end=axis + 1))
    steps = hand.whole(*range(count))
    first_ = hand.leaf("Div", hand.leaf("Mul", steps, extent), hand.whole(count))
    above = hand.leaf("Mul", hand.whole(*range(1, count + 1)), extent)
    rounded = hand.leaf("Add", above, hand.whole(count - 1))
    end_ = hand.leaf("Div", rounded, hand.whole(count))
    zero, one = (hand.constant(np.array(number)) for number in (0, 1))
    places_ = hand.leaf("Unsqueeze", hand.leaf("Range", zero, extent, one), hand.whole(1))
    after = hand.leaf("GreaterOrEqual", places_, first_)
    inside_ = hand.cast(hand.leaf("And", after, hand.leaf("Less", places_, end_)), dtype)
    return hand.leaf("Div", inside_, hand.cast(hand.leaf("Sub", end_, first_), dtype))


def _ends(windows: np.ndarray, length: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    return windows * length // count, -(-(windows + 1) * length // count)
