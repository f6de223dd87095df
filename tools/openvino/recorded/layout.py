"""Operators on shapes and layout."""

from __future__ import annotations

import numpy as np
from openvino import opset1, opset3, opset4, opset9, opset12

from tools.openvino.recorded.case import case, const, f, i


def enter() -> None:
    """All of them."""
    case("reshape", lambda x: opset1.reshape(x, const([0, -1]), True), f(2, 3, 4))
    case("reshape_plain", lambda x: opset1.reshape(x, const([6, 4], np.int32), False), f(2, 3, 4))
    case("reshape_dynamic", lambda x, s: opset1.reshape(x, s, True), f(2, 3, 4), i(4, 6))
    case("squeeze", lambda x: opset1.squeeze(x, const([0, -1])), f(1, 3, 1))
    case("unsqueeze", lambda x: opset1.unsqueeze(x, const([0, -1], np.int32)), f(3))
    case("transpose", lambda x: opset1.transpose(x, const([2, 0, 1])), f(2, 3, 4))
    case("concat", lambda x, y: opset1.concat([x, y], -1), f(2, 2), f(2, 3))
    case("split", lambda x: opset1.split(x, const(1), 3), f(2, 6))
    case("variadic_split", lambda x: opset1.variadic_split(x, const(1), const([2, -1, 1])), f(2, 6))
    case(
        "variadic_split_first",
        lambda x: opset1.variadic_split(x, const(-1), const([-1, 2])),
        f(2, 6),
    )
    case("tile_short", lambda x: opset1.tile(x, const([2])), f(2, 3))
    case("tile_long", lambda x: opset1.tile(x, const([2, 1, 2])), f(2, 3))
    case("broadcast_numpy", lambda x: opset3.broadcast(x, const([2, 3, 4])), f(3, 1))
    case(
        "broadcast_both",
        lambda x: opset3.broadcast(x, const([2, 1, 4]), broadcast_spec="bidirectional"),
        f(3, 1),
    )
    case(
        "broadcast_explicit",
        lambda x: opset3.broadcast(x, const([2, 3, 4]), const([1]), "explicit"),
        f(3),
    )
    case(
        "reverse_sequence",
        lambda x, n: opset1.reverse_sequence(x, n, 0, 1),
        f(2, 4),
        i(2, 3, dtype=np.int32),
    )
    case(
        "reverse_sequence_axes",
        lambda x, n: opset1.reverse_sequence(x, n, 2, 0),
        f(4, 3, 2),
        i(2, 3, dtype=np.int32),
    )
    case("depth_to_space", lambda x: opset1.depth_to_space(x, "blocks_first", 2), f(1, 8, 2, 3))
    case(
        "depth_to_space_depth", lambda x: opset1.depth_to_space(x, "depth_first", 2), f(1, 8, 2, 3)
    )
    case("space_to_depth", lambda x: opset1.space_to_depth(x, "blocks_first", 2), f(1, 2, 4, 6))
    case("shape_of", lambda x: opset3.shape_of(x, "i32"), f(2, 3))
    case("range", lambda x, y, z: opset4.range(x, y, z, "i64"), i(1)[0], i(9)[0], i(2)[0])
    case(
        "range_f32",
        lambda x, y, z: opset4.range(x, y, z, "f32"),
        *np.array([0.5, 3, 0.7], np.float32),
    )
    case("eye", lambda x: opset9.eye(x, const(4), const(1), "f32"), i(3)[0])
    case(
        "pad",
        lambda x: opset1.pad(x, const([0, 1]), const([1, 2]), "constant", const(9, np.float32)),
        f(2, 3),
    )
    case("pad_reflect", lambda x: opset1.pad(x, const([0, 1]), const([0, 2]), "reflect"), f(2, 4))
    case("pad_edge", lambda x: opset1.pad(x, const([1, 1]), const([0, 2]), "edge"), f(2, 4))
    case(
        "pad_negative",
        lambda x: opset12.pad(x, const([0, -1]), const([0, 1]), "constant", const(9, np.float32)),
        f(2, 4),
    )
