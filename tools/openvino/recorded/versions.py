"""Forms of operators of older opsets."""

from __future__ import annotations

from typing import Any

import numpy as np
from openvino import opset1, opset2, opset3, opset14, opset15, opset16
from openvino.utils.node_factory import NodeFactory

from tools.openvino.recorded.case import b, case, const, f, i, pos


def enter() -> None:
    """All of them."""
    _elementwise()
    _shapes()
    _windows()
    _networks()


def _named(name: str, operands: list[Any], opset: int = 1, **attributes: Any) -> Any:
    """A layer that no function of openvino makes."""
    return NodeFactory(f"opset{opset}").create(name, operands, attributes)


def _elementwise() -> None:
    case("gelu_2", opset2.gelu, f(6))
    case("xor_1", lambda x, y: _named("Xor", [x, y]), b(1, 1, 0, 0), b(1, 0, 1, 0))
    shifts = i(0, 1, 2, 5, 3)
    for dtype in (np.int32, np.uint8, np.int8):
        name = np.dtype(dtype).name
        values = i(1, -3, 5, 101, -128).astype(dtype)
        steps = shifts.astype(dtype)
        case(f"bitwise_left_shift_{name}", opset15.bitwise_left_shift, values, steps)
        case(f"bitwise_right_shift_{name}", opset15.bitwise_right_shift, values, steps)
    case("identity", opset16.identity, f(2, 3))
    case("mvn_2", lambda x: opset2.mvn(x, False, True, 1e-5), f(2, 3, 4))
    case("mvn_2_across", lambda x: opset2.mvn(x, True, True, 1e-5), f(2, 3, 4))
    case("mvn_2_mean", lambda x: opset2.mvn(x, False, False, 1e-5), f(2, 3, 4))


def _shapes() -> None:
    case("shape_of_1", opset1.shape_of, f(2, 3))
    case("broadcast_1", lambda x: opset1.broadcast(x, const([2, 3])), f(3))
    case(
        "broadcast_1_explicit",
        lambda x: opset1.broadcast(x, const([3, 2]), const([0]), "explicit"),
        f(3),
    )
    case("squeeze_15", lambda x: opset15.squeeze(x, const([1])), f(2, 1, 3))
    case("squeeze_15_of_many", lambda x: opset15.squeeze(x, const([0, -1])), f(1, 3, 1))
    case("reverse", lambda x: _named("Reverse", [x, const([1])], mode="index"), f(2, 3))
    mask = [False, True, True]
    case(
        "reverse_mask",
        lambda x: _named("Reverse", [x, const(mask, np.bool_)], mode="mask"),
        f(2, 3, 2),
    )
    case("shuffle_channels", lambda x: opset3.shuffle_channels(x, 1, 2), f(1, 6, 2))
    case("shuffle_channels_last", lambda x: opset3.shuffle_channels(x, -1, 3), f(2, 6))
    ends = (np.array(1, np.int64), np.array(9, np.int64), np.array(3, np.int64))
    floats = (np.array(0.5, np.float32), np.array(-2, np.float32), np.array(-0.5, np.float32))
    for word, three in (("i64", ends), ("i32", ends), ("f32", ends), ("f32", floats)):
        case(
            f"range_4_{word}_{three[0].dtype}",
            lambda x, y, z, w=word: _named("Range", [x, y, z], opset=4, output_type=w),
            *three,
        )


def _windows() -> None:
    strides, begin, kernel = [2, 2], [0, 0], [2, 2]
    for rounding, end in (("floor", 1), ("ceil", 0), ("ceil_torch", 1)):
        after = [end, end]
        case(
            f"max_pool_14_{rounding}",
            lambda x, r=rounding, p=after: opset14.max_pool(
                x, strides, [1, 1], begin, p, kernel, r, None, "i64", 0
            ),
            f(1, 2, 5, 6),
        )
        case(
            f"avg_pool_14_{rounding}",
            lambda x, r=rounding, p=after: opset14.avg_pool(x, strides, begin, p, kernel, True, r),
            f(1, 2, 5, 6),
        )
    case(
        "avg_pool_14_pads",
        lambda x: opset14.avg_pool(x, strides, begin, [1, 1], kernel, False),
        f(1, 2, 4, 4),
    )
    case("topk_1", lambda x: opset1.topk(x, const(2), 1, "max", "value"), f(2, 5))
    case("topk_1_min", lambda x: opset1.topk(x, const(2), 0, "min", "value"), f(4, 2))
    case("topk_1_index", lambda x: opset1.topk(x, const(3), 1, "max", "index"), f(2, 5))


def _networks() -> None:
    hidden = 3
    state = (f(2, hidden), f(2, hidden))
    weights = (f(4 * hidden, 4), f(4 * hidden, hidden), f(4 * hidden))
    kept = [const(each, np.float32) for each in weights]
    case("lstm_cell_1", lambda x, h, c: opset1.lstm_cell(x, h, c, *kept, hidden), f(2, 4), *state)
    boxes = np.array([[0, 0, 3, 3], [1, 1, 4, 3]], np.float32)
    for mode in ("avg", "max"):
        case(
            f"roi_align_3_{mode}",
            lambda x, r, k, m=mode: opset3.roi_align(x, r, k, 2, 2, 2, 1.0, m),
            pos(1, 2, 5, 5), boxes, i(0, 0, dtype=np.int32),
        )  # fmt: skip
    for way in ("sizes", "scales"):
        flags = {"mode": "linear_onnx", "shape_calculation_mode": way, "nearest_mode": "floor"}
        case(
            f"interpolate_4_{way}",
            lambda x, k=flags: _named(
                "Interpolate",
                [x, const([6, 3]), const([2.0, 1.5], np.float32), const([2, 3])],
                opset=4,
                coordinate_transformation_mode="half_pixel",
                pads_begin=[0], pads_end=[0],
                **k,
            ),
            f(1, 1, 3, 2),
        )  # fmt: skip
