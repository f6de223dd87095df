"""Reductions and selections."""

from __future__ import annotations

import numpy as np
from openvino import opset1, opset3, opset4, opset9, opset10, opset11

from tools.openvino.recorded.case import b, case, const, f, i


def enter() -> None:
    """All of them."""
    words = "reduce_sum reduce_mean reduce_max reduce_min reduce_prod"
    for module, names in ((opset1, words), (opset4, "reduce_l1 reduce_l2")):
        for word in names.split():
            case(
                word, lambda x, w=word, m=module: getattr(m, w)(x, const([0, 2]), False), f(2, 3, 4)
            )
            case(
                f"{word}_kept",
                lambda x, w=word, m=module: getattr(m, w)(x, const(-1), True),
                f(2, 3),
            )
    case(
        "reduce_mean_i32",
        lambda x: opset1.reduce_mean(x, const([0]), False),
        i(1, 2, 4, dtype=np.int32),
    )
    for word in ("reduce_logical_and", "reduce_logical_or"):
        case(
            word,
            lambda x, w=word: getattr(opset1, w)(x, const([1]), False),
            b([True, False], [True, True]),
        )
    case("non_zero", lambda x: opset3.non_zero(x, "i32"), i([0, 1], [2, 0], dtype=np.float32))
    case(
        "one_hot",
        lambda x: opset1.one_hot(x, const(3), const(5.0, np.float32), const(1.0, np.float32), -1),
        i(0, 2, 1),
    )
    case(
        "one_hot_axis",
        lambda x: opset1.one_hot(x, const(3), const(5, np.int32), const(1, np.int32), 0),
        i([0, 2], [1, 1]),
    )
    for mode in ("max", "min"):
        for sort in ("value", "index"):
            case(
                f"topk_{mode}_{sort}",
                lambda x, m=mode, s=sort: opset11.topk(x, const(2), 1, m, s, "i64"),
                f(2, 5),
            )
    case("topk_3", lambda x: opset3.topk(x, const(2), 0, "max", "value", "i32"), f(4, 2))
    case(
        "unique",
        lambda x: opset10.unique(x, None, True, "i64", "i64"),
        i(3, 1, 3, 2, dtype=np.float32),
    )
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], np.float32)
    scores = np.array([[[0.9, 0.75, 0.6]]], np.float32)
    limits = [const(3), const(0.5, np.float32), const(0.0, np.float32)]
    case(
        "nms",
        lambda x, y: opset9.non_max_suppression(
            x, y, *limits, box_encoding="corner", sort_result_descending=False, output_type="i64"
        ),
        boxes,
        scores,
    )
