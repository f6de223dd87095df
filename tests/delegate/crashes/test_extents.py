"""Extents of operands at which kernels of onnxruntime end the process.

A mistake here ends the test process, which is a failure as well.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treadle
from treadle.checks import extent_refusal
from treadle.delegate.extents import with_extents_checked
from treadle.errors import TreadleError

HEAD = '<ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1]>\n'
LINEAR = "q_num_heads = 1, kv_num_heads = 1"
CALLS = {  # the ranks of operands at which extents 0, 1 and 2 are tried
    "Attention (a, b, c)": (4,),
    "Attention <q_num_heads = 1, kv_num_heads = 1> (a, b, c)": (3,),
    "Conv (a, b)": (2, 3),
    "ConvInteger (u, v)": (2, 3),
    "ConvTranspose (a, b)": (4,),
    "GRU <hidden_size = 1> (a, b, c)": (3,),
    "InstanceNormalization <epsilon = 0.1> (a, r, r)": (3, 4),
    "Unique <axis = 0> (a)": (2, 3),
    "Unique <axis = 1> (a)": (2, 3),
    "LSTM <hidden_size = 1> (a, b, c)": (3,),
    "com.microsoft.DynamicQuantizeMatMul (a, u, b)": (2,),
    "com.microsoft.DynamicQuantizeMatMul (a, u, s, v)": (2,),
    "com.microsoft.FusedConv (a, b)": (2, 3),
    "com.microsoft.Inverse (a)": (2, 3),
    f"com.microsoft.LinearAttention <{LINEAR}> (a, b, c)": (3,),
    "com.microsoft.MatMulIntegerToFloat (u, v, s, a)": (2,),
}
DTYPES = dict(a="float", b="float", c="float", r="float", s="float", u="uint8", v="uint8")


def session(call, shape=None):
    names = sorted(set(call.split("(")[1].strip(")").replace(" ", "").split(",")))
    extents = "" if shape is None else f"[{', '.join(map(str, shape))}]"
    ports = [DTYPES[n] + (extents or "[]") * (n not in "rs") + f" {n}" for n in names]
    opset = 24 if call.startswith("Attention") else 17
    results = "y, state" if "Linear" in call else "y"
    given = "int32" if call.startswith("ConvInteger") else "float"
    text = f"g ({', '.join(ports)}) => ({given}[] y) {{ {results} = {call} }}"
    return treadle.InferenceSession(HEAD.format(opset=opset) + text), names


def feed(name, shape):
    dtype = "float32" if DTYPES[name] == "float" else DTYPES[name]
    return np.ones({"s": (), "r": shape[1:2]}.get(name, shape), dtype)


@pytest.mark.parametrize("call", CALLS)
def test_undeclared_extents_are_checked_at_run_time(call):
    made, names = session(call)
    for rank in CALLS[call]:
        for shape in product((0, 1, 2) if rank < 4 else (0, 2), repeat=rank):
            for other in (shape, (0,) * rank, (2,) * rank):
                with suppress(TreadleError):
                    made.run(None, {n: feed(n, other if k else shape) for k, n in enumerate(names)})


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ("com.microsoft.Inverse (a)", (0, 1)),
        ("com.microsoft.DynamicQuantizeMatMul (a, u, b)", (1, 1, 0)),
        (f"com.microsoft.LinearAttention <{LINEAR}> (a, b, c)", (1, 2, 0)),
    ],
)
def test_declared_extents_are_refused(call, shape):
    with pytest.raises(TreadleError, match=r"crashes the process|reads other memory"):
        session(call, shape)


def test_head_counts_beyond_32_bits():
    with pytest.raises(TreadleError, match="CF214"):
        session("Attention <q_num_heads = 4294967296, kv_num_heads = 1> (a, b, c)")


def test_weights_without_elements_are_answered_all_the_same():
    made, _ = session("Conv (a, b)")
    found = made.run(None, {"a": np.ones((1, 2, 4), np.float32), "b": np.ones((0, 2, 1), "f")})
    assert found[0].shape == (1, 0, 4)


def test_one_scale_for_each_column_goes_to_the_kernel():
    made, _ = session("com.microsoft.DynamicQuantizeMatMul (a, u, b)")
    u, scales = np.full((2, 3), 2, np.uint8), np.array([1, 2, 3], np.float32)
    feeds = {"a": np.ones((2, 2), np.float32), "u": u, "b": scales}
    assert_allclose(made.run(None, feeds)[0], [[4, 8, 12]] * 2)


def test_known_extents_are_not_checked_at_run_time(monkeypatch):
    seen = []

    def looked_at(draft, step, operands):
        made = with_extents_checked(draft, step, operands)
        seen.append(made == operands)
        return made

    monkeypatch.setattr("treadle.delegate.export.with_extents_checked", looked_at)
    treadle.InferenceSession(
        HEAD.format(opset=17)
        + "g (float[n, 1, h] x, float[1, 1, 3] k) => (float[n, 1, p] y) { y = Conv (x, k) }",
        engines=("onnxruntime",),
    )
    assert seen
    assert all(seen)


BYTES = "u0 = Constant <value = uint8 {3}> () s0 = Constant <value = float {2.0}> ()"
NO_PRODUCTS = {
    "int32": "MatMulInteger (u, v)",
    "uint8": "QLinearMatMul (u, s0, u0, v, s0, u0, s0, u0)",
}


@pytest.mark.parametrize("dtype", NO_PRODUCTS)
def test_sums_of_no_products_are_zero(dtype):
    ports = f"(uint8[n, m] u, uint8[k, l] v) => ({dtype}[n, l] y)"
    text = f"g {ports} {{ {BYTES} y = {NO_PRODUCTS[dtype]} }}"
    made = treadle.InferenceSession(HEAD.format(opset=21) + text)
    found = made.run(None, {"u": np.ones((2, 0), np.uint8), "v": np.ones((0, 3), np.uint8)})
    assert found[0].tolist() == [[3 if dtype == "uint8" else 0] * 3] * 2


@pytest.mark.parametrize("lacking", ["most", "overlap", "least"])
def test_a_scalar_without_an_element_is_not_read(lacking):
    text = (
        "g (float[1, n, 4] b, float[1, 1, n] s, int64[m] most, float[o] overlap, float[l] least)"
        " => (int64[k, 3] y) { y = NonMaxSuppression (b, s, most, overlap, least) }"
    )
    made = treadle.InferenceSession(HEAD.format(opset=21) + text)
    feeds = {"b": np.ones((1, 2, 4), np.float32), "s": np.ones((1, 1, 2), np.float32)}
    feeds |= {"most": np.ones(1, np.int64)} | dict.fromkeys(("overlap", "least"), np.ones(1, "f"))
    assert len(made.run(None, feeds)[0]) == 0
    with suppress(TreadleError):
        made.run(None, feeds | {lacking: feeds[lacking][:0]})


def test_odd_heads_are_not_rotated():
    ports = "(float[n, h, s, d] x, float[n, s, e] c) => (float[n, h, s, d] y)"
    text = f"g {ports} {{ y = RotaryEmbedding (x, c, c) }}"
    made = treadle.InferenceSession(HEAD.format(opset=23) + text)
    feeds = {"x": np.ones((2, 4, 3, 9), np.float32), "c": np.ones((2, 3, 4), np.float32)}
    with pytest.raises(TreadleError):
        made.run(None, feeds)
    feeds["x"] = feeds["x"][..., :8]
    assert_allclose(made.run(None, feeds)[0], [0.0] * 4 + [2.0] * 4 + np.zeros((2, 4, 3, 8)))


POOLS = [
    "AveragePool <kernel_shape = [3], strides = [2]>",
    "LpPool <kernel_shape = [3], strides = [2]>",
    "MaxPool <kernel_shape = [2], dilations = [2], strides = [2]>",
]


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("extent", [1, 2, 3, 4, 5])
def test_pools_of_open_extents_have_no_window_too_many(pool, extent):
    text = f"g (float[1, 1, n] x) => (float[1, 1, m] y) {{ y = {pool} (x) }}"
    made = treadle.InferenceSession(HEAD.format(opset=21) + text)
    found = made.run(None, {"x": np.ones((1, 1, extent), np.float32)})
    assert found[0].shape == (1, 1, max((extent - 3) // 2 + 1, 0))


def test_a_transposed_convolution_with_padding_below_0():
    text = (
        "g (float[1, 1, n] x) => (float[1, 1, m] y)\n<float[1, 1, 2] w = {1, 2}>"
        " { y = ConvTranspose <strides = [3], output_shape = [10]> (x, w) }"
    )
    feeds = {"x": np.array([[[1, 2, 3]]], np.float32)}
    text = HEAD.format(opset=21) + text
    by_default = treadle.InferenceSession(text).run(None, feeds)
    by_interp = treadle.InferenceSession(text, engines=("interp",)).run(None, feeds)
    assert_allclose(by_default[0], by_interp[0])
    assert by_default[0].tolist() == [[[0, 1, 2, 0, 2, 4, 0, 3, 6, 0]]]


@pytest.mark.parametrize("domain", ["", "com.microsoft."])
@pytest.mark.parametrize("place", range(4))
def test_empty_scales_and_zero_points_do_not_reach_the_fusion_of_where(place, domain):
    given = ["s, z", "s, z"]
    given[place // 2] = ("e, z", "s, n")[place % 2]
    text = (
        "g (float[1, 4] x, bool[1, 4] c) => (float[1, 4] y)\n"
        "<float s = {0.5}, uint8 z = {3}, float[0] e = {}, uint8[0] n = {}> {"
        f" q = $QuantizeLinear (x, s, z) d = $DequantizeLinear (q, {given[0]})"
        " r = $QuantizeLinear (x, s, z) f = $DequantizeLinear (r, s, z) w = Where (c, d, f)"
        f" o = $QuantizeLinear (w, {given[1]}) y = $DequantizeLinear (o, s, z) }}"
    ).replace("$", domain)
    with suppress(TreadleError):
        treadle.InferenceSession(HEAD.format(opset=21) + text)


@pytest.mark.parametrize("taps", [0, 1])
def test_causal_convolutions_without_taps_are_declined(taps):
    """onnxruntime 1.32 never returns from one, where it is made to load opset 27."""
    text = HEAD.format(opset=27) + (
        f"g (float[2, 4, 5] x, float[4, 1, {taps}] w, float[4] b) => (float[2, 4, 5] y)"
        " { y, s = CausalConvWithState (x, w, b) }"
    )
    (step,) = treadle.infer(text).main.steps
    assert bool(extent_refusal(step)) is (taps == 0)
