"""Convolutions: Conv, ConvTranspose, ConvInteger and QLinearConv."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle.ir import show_array
from treadle.ops.kernels.common import in_float32
from treadle.ops.kernels.quantize import quantize_to
from treadle.ops.kernels.registry import evaluates
from treadle.ops.kernels.windows import Window, expect_positive, expect_room, padded, window

Ints = Sequence[int]


@evaluates("Conv", 1, 11, 22)
@in_float32
def conv(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    group: int,
    kernel_shape: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    auto_pad: str,
) -> Any:
    """Convolution: each output channel sums over its group's channels and kernel positions."""
    over = window(x.shape[2:], weight.shape[2:], strides, dilations, pads, auto_pad)
    result = _correlate(x, weight, group, over)
    return result if bias is None else result + _per_channel(bias, result)


def _per_channel(bias: np.ndarray, result: np.ndarray) -> np.ndarray:
    channels = result.shape[1]
    if bias.shape != (channels,):
        raise ValueError(
            f"the bias is {show_array(bias)}, wanted one number for each of {channels} channels"
        )
    return bias.reshape((-1,) + (1,) * (result.ndim - 2))


def _correlate(x: np.ndarray, weight: np.ndarray, group: int, over: Window) -> np.ndarray:
    batch, channels = x.shape[:2]
    _expect_channels(channels, weight, group)
    expect_room(over.extents, over.reach, over.pads)
    wider = padded(x, over.widths, 0)
    positions = [wider[index] for index in over.positions()]
    # [position, batch, channel, *windows] -> [batch, group, channel * position, windows]
    size = math.prod(weight.shape[1:])
    columns = np.stack(positions, 2).reshape(batch, group, size, math.prod(over.shape))
    rows = weight.reshape(group, weight.shape[0] // group, size)
    return np.matmul(rows, columns).reshape((batch, weight.shape[0], *over.shape))


def _expect_channels(channels: int, weight: np.ndarray, group: int) -> None:
    if channels != weight.shape[1] * group:
        groups = f" in {group} groups" if group > 1 else ""
        raise ValueError(
            f"the input has {channels} channels, the weight {show_array(weight)} wants"
            f" {weight.shape[1] * group}{groups}"
        )


@evaluates("ConvInteger", 10)
def conv_integer(
    x: np.ndarray,
    weight: np.ndarray,
    x_zero: np.ndarray | None = None,
    weight_zero: np.ndarray | None = None,
    *,
    group: int,
    kernel_shape: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    auto_pad: str,
) -> Any:
    """The int32 convolution of the operands minus their zero points; pads are zero points too."""
    over = window(x.shape[2:], weight.shape[2:], strides, dilations, pads, auto_pad)
    return _correlate(_centred(x, x_zero), _centred_rows(weight, weight_zero), group, over)


def _centred(x: np.ndarray, zero: np.ndarray | None) -> np.ndarray:
    return x.astype(np.int32) - (0 if zero is None else zero.astype(np.int32).reshape(()))


def _centred_rows(weight: np.ndarray, zero: np.ndarray | None) -> np.ndarray:
    if zero is None or zero.size == 1:
        return _centred(weight, zero)
    return weight.astype(np.int32) - zero.astype(np.int32).reshape((-1,) + (1,) * (weight.ndim - 1))


@evaluates("QLinearConv", 10)
def qlinear_conv(
    x: np.ndarray,
    x_scale: np.ndarray,
    x_zero: np.ndarray,
    weight: np.ndarray,
    weight_scale: np.ndarray,
    weight_zero: np.ndarray,
    y_scale: np.ndarray,
    y_zero: np.ndarray,
    bias: np.ndarray | None = None,
    **attributes: Any,
) -> Any:
    """ConvInteger plus its int32 bias, rescaled to the scale and zero point of the result."""
    total = conv_integer(x, weight, x_zero, weight_zero, **attributes)
    if bias is not None:
        total = total + _per_channel(bias, total)
    factor = x_scale.reshape(()) * weight_scale / y_scale.reshape(())
    spread = _per_channel(factor, total) if factor.size > 1 else factor.reshape(())
    return quantize_to(total * spread, y_zero.reshape(()))


@evaluates("ConvTranspose", 1, 11, 22)
@in_float32
def conv_transpose(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    group: int,
    kernel_shape: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    output_padding: Ints | None = None,
    output_shape: Ints | None = None,
    auto_pad: str,
) -> Any:
    """Transposed convolution: each element adds its kernel to the result; pads are then cut off."""
    rank = x.ndim - 2
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    expect_positive(strides=strides, dilations=dilations)
    more = output_padding or (0,) * rank
    reach = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilations, strict=True)]
    full = [
        (extent - 1) * stride + length + extra
        for extent, stride, length, extra in zip(x.shape[2:], strides, reach, more, strict=True)
    ]
    if auto_pad.startswith("SAME") and not output_shape:
        output_shape = [e * s for e, s in zip(x.shape[2:], strides, strict=True)]
    if output_shape:
        upper = auto_pad == "SAME_UPPER"
        sides = [
            _cut(whole - kept, upper)
            for whole, kept in zip(full, output_shape[-rank:], strict=True)
        ]
    else:
        given = (pads if auto_pad != "VALID" else None) or (0,) * 2 * rank
        sides = list(zip(given[:rank], given[rank:], strict=True))
    result = _spread(x, weight, group, strides, dilations, full)
    kept: Any = [
        slice(max(b, 0), whole - max(a, 0)) for whole, (b, a) in zip(full, sides, strict=True)
    ]
    result = _extended(result[(..., *kept)], sides)
    return result if bias is None else result + _per_channel(bias, result)


def _cut(total: int, upper: bool) -> tuple[int, int]:
    smaller = total // 2
    return (smaller, total - smaller) if upper else (total - smaller, smaller)


def _extended(x: np.ndarray, sides: Sequence[tuple[int, int]]) -> np.ndarray:
    return padded(x, [(max(-b, 0), max(-a, 0)) for b, a in sides], 0)


def _spread(
    x: np.ndarray, weight: np.ndarray, group: int, strides: Ints, dilations: Ints, full: Ints
) -> np.ndarray:
    batch, spatial, kernel = x.shape[0], x.shape[2:], weight.shape[2:]
    columns = x.reshape(batch, group, -1, math.prod(spatial))
    rows = weight.reshape(group, weight.shape[0] // group, weight.shape[1], -1)
    result = np.zeros((batch, group * weight.shape[1], *full), x.dtype)
    over = Window(
        tuple(full), tuple(kernel), tuple(strides), tuple(dilations), ((0, 0),) * len(full), spatial
    )
    for number, index in enumerate(over.positions()):
        part = np.matmul(rows[..., number].swapaxes(1, 2), columns)
        result[index] += part.reshape((batch, -1, *spatial))
    return result
