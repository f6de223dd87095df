"""Attributes and operands that the other opset lacks: the same numbers from other operators."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.values import assert_same
from treadle.errors import Unsupported

LSTM = "float[1, 12, 3] w, float[1, 12, 3] r"
CASES = {
    "a dequantized type of its own": (
        23, 21, "uint8[2, 3] x, float s", "float16[2, 3] y",
        "y = DequantizeLinear<output_dtype = 10>(x, s)",
    ),
    "a dequantized type that is the scale's": (
        23, 21, "uint8[2, 3] x, float s", "float[2, 3] y",
        "y = DequantizeLinear<output_dtype = 1>(x, s)",
    ),
    "a division in float32 by a scale of float16": (
        23, 21, "float16[2, 3] x, float16 s", "uint8[2, 3] y",
        "z = Constant<value = uint8 {3}>() y = QuantizeLinear<precision = 1>(x, s, z)",
    ),
    "a quantized type without a zero point": (
        21, 19, "float[2, 3] x, float s", "int8[2, 3] y",
        "y = QuantizeLinear<output_dtype = 3>(x, s)",
    ),
    "blocks of a scale": (
        21, 19, "float[4, 3] x, float[2, 3] s", "int8[4, 3] y",
        "y = QuantizeLinear<axis = 0, block_size = 2, output_dtype = 3>(x, s)",
    ),
    "blocks of a scale that is divided out": (
        21, 19, "int8[4, 3] x, float[2, 3] s", "float[4, 3] y",
        "y = DequantizeLinear<axis = 0, block_size = 2>(x, s)",
    ),
    "a Softmax over several axes": (
        9, 13, "float[2, 3, 4] x", "float[2, 3, 4] y", "y = Softmax<axis = 1>(x)",
    ),
    "a Softmax over a middle axis": (
        13, 9, "float[2, 3, 4] x", "float[2, 3, 4] y", "y = Softmax<axis = 1>(x)",
    ),
    "a scale for each group": (
        18, 21, "float[2, 4, 3] x, float[2] s, float[2] b", "float[2, 4, 3] y",
        "y = GroupNormalization<num_groups = 2>(x, s, b)",
    ),
    "training with statistics of the batch": (
        14, 9, "float[3, 2] x, float[2] s, float[2] b, float[2] m, float[2] v", "float[3, 2] y",
        "y, mm, vv = BatchNormalization<training_mode = 1>(x, s, b, m, v)",
    ),
    "statistics of another type": (
        15, 14, "float16[3, 2] x, float16[2] s, float16[2] b, float[2] m, float[2] v",
        "float16[3, 2] y", "a = Abs(v) y = BatchNormalization(x, s, b, m, a)",
    ),
    "the batch before the time": (
        14, 13, f"float[2, 5, 3] x, {LSTM}, float[2, 1, 3] h",
        "float[2, 5, 1, 3] y, float[2, 1, 3] l",
        "y, l = LSTM<hidden_size = 3, layout = 1>(x, w, r, , , h)",
    ),
    "sums of float16": (
        14, 11, "float16[2, 3] x", "float16[2, 3] y",
        "k = Constant<value_int = 1>() y = CumSum(x, k)",
    ),
    "a loop without carried values": (
        13, 11, "float[3] x, int64 n", "float[t, 3] y",
        "go = Constant<value = bool {1}>() y = Loop(n, go)<body = b (int64 i, bool c)"
        " => (bool d, float[3] s) { d = Identity(c) f = Cast<to = 1>(i) s = Add(x, f) }>",
    ),
    "an image that keeps its proportions": (
        18, 13, "float[1, 1, 4, 6] x", "float[1, 1, a, b] y",
        "s = Constant<value_ints = [8, 6]>() y = Resize<mode = \"linear\","
        " keep_aspect_ratio_policy = \"not_larger\", axes = [2, 3]>(x, , , s)",
    ),
    "an image that becomes smaller": (
        10, 9, "float[1, 1, 4, 6] x", "float[1, 1, 2, 3] y",
        "s = Constant<value = float[4] {1, 1, 0.5, 0.5}>() y = Resize<mode = \"nearest\">(x, s)",
    ),
    "an image that becomes larger": (
        10, 9, "float[1, 1, 2, 3] x", "float[1, 1, 4, 6] y",
        "s = Constant<value = float[4] {1, 1, 2, 2}>() y = Resize<mode = \"nearest\">(x, s)",
    ),
    "a pool with dilations and pads of equal size": (
        11, 9, "float[1, 1, 7, 6] x", "float[1, 1, 7, 6] y",
        "y = MaxPool<kernel_shape = [2, 3], dilations = [2, 2], auto_pad = \"SAME_LOWER\">(x)",
    ),
    "a mean of windows beyond the end": (
        19, 18, "float[1, 2, 7] x", "float[1, 2, 4] y",
        "y = AveragePool<kernel_shape = [2], strides = [2], ceil_mode = 1>(x)",
    ),
}  # fmt: skip


def text(opset: int, params: str, results: str, body: str) -> str:
    head = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    return f"{head}\nmain ({params}) => ({results}) {{ {body} }}"


def feeds_of(session: treadle.InferenceSession, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Numbers for every input: positive scales, 3 trips."""
    made = {}
    for value in session.get_inputs():
        dtype = np.dtype(
            value.type[7:-1].replace("float", "float32").replace("float3216", "float16")
        )
        numbers = rng.uniform(0.5, 9, value.shape).astype(dtype)
        made[value.name] = np.array(3) if value.name == "n" else numbers
    return made


@pytest.mark.parametrize("name", CASES)
def test_the_other_form_gives_the_same_numbers(name: str, rng: np.random.Generator) -> None:
    opset, target, params, results, body = CASES[name]
    model = text(opset, params, results, body)
    session = treadle.InferenceSession(model, engines=["interp"])
    feeds = feeds_of(session, rng)
    converted = treadle.convert_version(model, target)
    assert converted.opsets[""] == target
    found = treadle.InferenceSession(converted, engines=["interp"]).run(None, feeds)
    assert_same(found, session.run(None, feeds), [v.name for v in session.get_outputs()])


REFUSED = {
    "the precision of its division cannot be set before opset 23": (
        23, 21, "float[2] x, float s", "uint8[2] y",
        "z = Constant<value = uint8 {3}>() y = QuantizeLinear<precision = 10>(x, s, z)",
    ),
    "its axis is behind the last one": (
        9, 13, "float[2, 3] x", "float[2, 3] y", "y = Softmax<axis = 2>(x)",
    ),
    "the saved mean and variance are outputs no longer": (
        9, 14, "float[3, 2] x, float[2] s, float[2] b, float[2] m, float[2] v",
        "float[3, 2] y, float[2] o", "y, mm, vv, o, w = BatchNormalization(x, s, b, m, v)",
    ),
    "blocks along an axis whose extent is not known": (
        21, 19, "float[k, 3] x, float[2, 3] s", "int8[k, 3] y",
        "y = QuantizeLinear<axis = 0, block_size = 2, output_dtype = 3>(x, s)",
    ),
    "the rank of its scale is not known": (
        21, 19, "float[4, 3] x, s", "int8[4, 3] y",
        "y = QuantizeLinear<axis = 0, block_size = 2, output_dtype = 3>(x, s)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("reason", REFUSED)
def test_a_step_without_another_form_is_refused(reason: str) -> None:
    opset, target, *rest = REFUSED[reason]
    with pytest.raises(Unsupported, match=reason):
        treadle.convert_version(text(opset, *rest), target)


def test_bernoulli_gives_one_with_the_probability_of_its_operand() -> None:
    model = text(15, "double[4000] x", "int32[4000] y", "y = Bernoulli<dtype = 6, seed = 1.0>(x)")
    converted = treadle.convert_version(model, 13)
    for source in (model, converted):
        session = treadle.InferenceSession(source, engines=["interp"])
        (found,) = session.run(None, {"x": np.full(4000, 0.9)})
        assert 0.87 < found.mean() < 0.93
