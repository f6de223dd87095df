"""Convolution, pooling, normalization, resampling."""

from __future__ import annotations

from typing import Any

import numpy as np
from openvino import opset1, opset5, opset6, opset8, opset11, opset12, opset13

from tools.openvino.recorded.case import case, const, f, pos


def enter() -> None:
    """All of them."""
    conv: dict[str, Any] = {
        "strides": [1, 1],
        "pads_begin": [1, 1],
        "pads_end": [1, 1],
        "dilations": [1, 1],
    }
    none: dict[str, Any] = {
        "strides": [2, 2],
        "pads_begin": [0, 0],
        "pads_end": [0, 0],
        "dilations": [1, 1],
    }
    case("convolution", lambda x, w: opset1.convolution(x, w, **conv), f(1, 3, 5, 5), f(4, 3, 3, 3))
    case(
        "convolution_same",
        lambda x, w: opset1.convolution(x, w, **none, auto_pad="same_upper"),
        f(1, 3, 5, 5),
        f(4, 3, 3, 3),
    )
    case(
        "group_convolution",
        lambda x, w: opset1.group_convolution(x, w, **conv),
        f(1, 4, 5, 5),
        f(2, 2, 2, 3, 3),
    )
    case(
        "deconvolution",
        lambda x, w: opset1.convolution_backprop_data(x, w, **none),
        f(1, 3, 3, 3),
        f(3, 4, 3, 3),
    )
    case(
        "group_deconvolution",
        lambda x, w: opset1.group_convolution_backprop_data(x, w, **none),
        f(1, 4, 3, 3),
        f(2, 2, 2, 3, 3),
    )
    pool: dict[str, Any] = {
        "strides": [2, 2],
        "pads_begin": [1, 1],
        "pads_end": [1, 1],
        "kernel_shape": [3, 3],
    }
    case("avg_pool", lambda x: opset1.avg_pool(x, exclude_pad=True, **pool), f(1, 2, 5, 5))
    case("avg_pool_pad", lambda x: opset1.avg_pool(x, exclude_pad=False, **pool), f(1, 2, 5, 5))
    case("max_pool", lambda x: opset1.max_pool(x, **pool), f(1, 2, 5, 5))
    case(
        "max_pool_8",
        lambda x: opset8.max_pool(
            x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], index_element_type="i64"
        ),
        f(1, 2, 4, 4),
    )
    case("adaptive_avg_pool", lambda x: opset8.adaptive_avg_pool(x, const([1, 1])), f(1, 2, 4, 4))
    case(
        "batch_norm_1",
        lambda x, *g: opset1.batch_norm_inference(x, *g, 0.001),
        f(1, 2, 3),
        f(2),
        f(2),
        f(2),
        pos(2),
    )
    case(
        "batch_norm_5",
        lambda x, *g: opset5.batch_norm_inference(x, *g, 0.001),
        f(1, 2, 3),
        f(2),
        f(2),
        f(2),
        pos(2),
    )
    for mode in ("INSIDE_SQRT", "OUTSIDE_SQRT"):
        case(
            f"mvn_{mode.lower()}",
            lambda x, m=mode: opset6.mvn(x, const([2]), True, 1e-3, m),
            f(2, 3, 4),
        )
    case("normalize_l2", lambda x: opset1.normalize_l2(x, const([1]), 1e-6, "max"), f(2, 3))
    case("normalize_l2_add", lambda x: opset1.normalize_l2(x, const([1]), 1e-2, "add"), f(2, 3))
    case("lrn", lambda x: opset1.lrn(x, const([1]), 0.1, 0.75, 1.0, 3), f(1, 4, 2, 2))
    case(
        "group_normalization",
        lambda x, s, o: opset12.group_normalization(x, s, o, 2, 1e-3),
        f(2, 4, 3),
        f(4),
        f(4),
    )
    limits = [const(v, np.float32) for v in (-1.0, 1.0, -2.0, 2.0)]
    case("fake_quantize", lambda x: opset1.fake_quantize(x, *limits, 16), f(3, 4))
    case(
        "attention",
        lambda q, k, v: opset13.scaled_dot_product_attention(q, k, v, causal=False),
        f(1, 2, 3, 4),
        f(1, 2, 5, 4),
        f(1, 2, 5, 4),
    )
    for mode in ("nearest", "linear_onnx", "cubic"):
        case(
            f"interpolate_{mode}",
            lambda x, m=mode: opset11.interpolate(x, const([6, 4]), m, "sizes", axes=const([2, 3])),
            f(1, 1, 4, 3),
        )
    case(
        "interpolate_scales",
        lambda x: opset11.interpolate(
            x,
            const([1.5], np.float32),
            "nearest",
            "scales",
            axes=const([2]),
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        ),
        f(1, 1, 4, 2),
    )
