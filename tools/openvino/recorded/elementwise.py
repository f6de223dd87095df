"""Elementwise operators."""

# ruff: noqa: E501 - tables, a row a line

from __future__ import annotations

import numpy as np
from openvino import opset1, opset3, opset4, opset5, opset7, opset8, opset9, opset10, opset13

from tools.openvino.recorded.case import b, case, const, f, i, pos


def enter() -> None:
    """All of them."""
    _unary()
    _binary()


def _unary() -> None:
    names = {
        opset1: "abs sign negative floor ceiling exp sin cos tan atan sinh cosh erf relu tanh sigmoid",
        opset4: "asinh softplus mish hswish",
        opset5: "hsigmoid",
        opset9: "softsign",
    }
    for module, words in names.items():
        for word in words.split():
            case(word, getattr(module, word), f(2, 3) * 2)
    for word in ("sqrt", "log", "asin", "acos"):
        case(word, getattr(opset1, word), pos(2, 3))
    case("acosh", opset4.acosh, pos(3) + 1)
    case("atanh", opset4.atanh, pos(3) - 0.5)
    case(
        "round_even",
        lambda x: opset5.round(x, "half_to_even"),
        i(0.5, 1.5, -2.5, 2.4, dtype=np.float32),
    )
    case(
        "round_away",
        lambda x: opset5.round(x, "half_away_from_zero"),
        i(0.5, 1.5, -2.5, 2.4, dtype=np.float32),
    )
    case("elu", lambda x: opset1.elu(x, 0.7), f(5))
    case("selu", lambda x: opset1.selu(x, const(1.2, np.float32), const(1.1, np.float32)), f(5))
    case(
        "hard_sigmoid",
        lambda x: opset1.hard_sigmoid(x, const(0.3, np.float32), const(0.4, np.float32)),
        f(9) * 3,
    )
    case(
        "prelu_channels", lambda x: opset1.prelu(x, const([0.1, 0.2, 0.3], np.float32)), f(2, 3, 2)
    )
    case("prelu_one", lambda x: opset1.prelu(x, const([0.1], np.float32)), f(2, 3, 2))
    case("swish", opset4.swish, f(5))
    case("swish_beta", lambda x: opset4.swish(x, const(1.5, np.float32)), f(5))
    case("gelu_erf", lambda x: opset7.gelu(x, "erf"), f(5))
    case("gelu_tanh", lambda x: opset7.gelu(x, "tanh"), f(5))
    case("clamp", lambda x: opset1.clamp(x, -0.5, 0.5), f(5))
    case("clamp_i32", lambda x: opset1.clamp(x, -1.5, 2.7), i(-3, -1, 0, 2, 5, dtype=np.int32))
    case("softmax_1", lambda x: opset1.softmax(x, 1), f(2, 3, 4))
    case("softmax_8", lambda x: opset8.softmax(x, -2), f(2, 3, 4))
    case("log_softmax", lambda x: opset5.log_softmax(x, -1), f(2, 3))
    for word in ("is_inf", "is_finite"):
        case(word, getattr(opset10, word), i(1, np.inf, -np.inf, dtype=np.float32))
    case("is_nan", opset10.is_nan, i(1, np.nan, dtype=np.float32))
    case(
        "is_inf_positive",
        lambda x: opset10.is_inf(x, {"detect_negative": False}),
        i(1, np.inf, -np.inf, dtype=np.float32),
    )
    case("convert_i32", lambda x: opset1.convert(x, "i32"), i(1.7, -1.7, dtype=np.float32))
    case("convert_bool_f32", lambda x: opset1.convert(x, "f32"), b(True, False))
    case("logical_not", opset1.logical_not, b(True, False))
    case("bitwise_not", opset13.bitwise_not, i(1, 5, dtype=np.int32))
    case("cum_sum", lambda x: opset3.cum_sum(x, const(1)), f(2, 4))
    case("cum_sum_both", lambda x: opset3.cum_sum(x, const(1), True, True), f(2, 4))


def _binary() -> None:
    for word in [
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "squared_difference",
        "mod",
        "floor_mod",
    ]:
        case(word, getattr(opset1, word), f(2, 3) * 4, pos(3) * 3)
        if word not in ("squared_difference",):
            case(
                f"{word}_i32",
                getattr(opset1, word),
                i(-7, 8, 9, dtype=np.int32),
                i(2, 3, 4, dtype=np.int32),
            )
    case(
        "floor_mod_negative",
        opset1.floor_mod,
        i(-7, 7, -8, dtype=np.int32),
        i(2, -3, -3, dtype=np.int32),
    )
    case("mod_negative", opset1.mod, i(-7, 7, -8, dtype=np.int32), i(2, -3, -3, dtype=np.int32))
    case("power", opset1.power, pos(3), f(3))
    for word in ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]:
        case(word, getattr(opset1, word), i(1, 2, 3, dtype=np.int32), i(2, 2, 2, dtype=np.int32))
        case(f"{word}_f32", getattr(opset1, word), f(2, 3), f(3))
    for word in ["logical_and", "logical_or", "logical_xor"]:
        case(word, getattr(opset1, word), b(True, True, False, False), b(True, False, True, False))
    for word in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
        case(word, getattr(opset13, word), i(5, 12, dtype=np.int32), i(3, 10, dtype=np.int32))
    case("select", opset1.select, b(True, False, True), f(2, 3), f(3))
    case("convert_like", opset1.convert_like, f(3), i(1, dtype=np.int32))
    for turned in ((False, False), (True, False), (False, True), (True, True)):
        one = f(2, 4, 3) if not turned[0] else f(2, 3, 4)
        two = f(3, 5) if not turned[1] else f(5, 3)
        case(
            f"matmul_{int(turned[0])}{int(turned[1])}",
            lambda x, y, t=turned: opset1.matmul(x, y, *t),
            one,
            two,
        )
    case("matmul_1d_a", lambda x, y: opset1.matmul(x, y, False, True), f(3), f(4, 3))
    case("matmul_1d_b", lambda x, y: opset1.matmul(x, y, False, True), f(4, 3), f(3))
    case("matmul_1d_both", lambda x, y: opset1.matmul(x, y, True, True), f(3), f(3))
    case("einsum", lambda x, y: opset7.einsum([x, y], "ij,jk->ik"), f(2, 3), f(3, 4))
