"""Ranks of operands at which kernels of onnxruntime end the process.

A mistake here ends the test process, which is a failure as well.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treadle
from treadle.delegate.ranks import with_ranks_checked
from treadle.errors import TreadleError

HEAD = '<ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1]>\n'
RANKS = (0, 1, 2, 3, 4)
CALLS = {
    "AffineGrid (a, n)": 20,
    "Conv (a, b)": 17,
    "ConvInteger (u, v)": 17,
    "GridSample (a, b)": 20,
    "QLinearConv (u, s, z, v, s, z, s, z)": 17,
    "ReverseSequence (a, n)": 17,
    "RoiAlign (a, b, n)": 16,
    "Multinomial (a)": 17,
    "Attention (a, b, c)": 23,
    'Einsum <equation = "ij->ji"> (a)': 17,
    "com.microsoft.Attention <num_heads = 1> (a, b, c)": 17,
    "com.microsoft.AttnLSTM <hidden_size = 1> (a, b, c, a, i, a, b, c, a, b, c, a)": 17,
    "com.microsoft.CropAndResize (a, b, i, i)": 17,
    "com.microsoft.DynamicQuantizeMatMul (a, u, b)": 17,
    "com.microsoft.MatMulIntegerToFloat (u, v, a, b)": 17,
    "com.microsoft.EmbedLayerNormalization (i, i, a, b, c, a, b, i, i)": 17,
    "com.microsoft.FusedConv (a, b)": 17,
    "com.microsoft.GridSample (a, b)": 17,
    "com.microsoft.QLinearConv (u, s, z, v, s, z, s, z)": 17,
}
DTYPES = dict(a="float", b="float", c="float", s="float", u="uint8", v="uint8", z="uint8",
              i="int32", n="int64")  # fmt: skip


def session(call, declared="[]"):
    read = sorted(set(call.split("(")[1].strip(")").replace(" ", "").split(",")))
    ports = [DTYPES[name] + (declared if name not in "sz" else "") + " " + name for name in read]
    given = "uint8" if "QLinear" in call else "int32" if call.startswith("ConvInteger") else "float"
    head = HEAD.format(opset=CALLS.get(call, 17))
    results = "y, mask" if "Embed" in call else "y"
    text = f"{head}g ({', '.join(ports)}) => ({given}[] y) {{ {results} = {call} }}"
    return treadle.InferenceSession(text), read


def feed(name, rank):
    dtype = "float32" if DTYPES[name] == "float" else DTYPES[name]
    return np.ones(() if name in "sz" else (2,) * rank, dtype)


@pytest.mark.parametrize("call", CALLS)
def test_undeclared_ranks_are_checked_at_run_time(call):
    made, names = session(call)
    for rank in RANKS:
        for other in {rank, 1, 2}:
            feeds = {n: feed(n, rank if k == 0 else other) for k, n in enumerate(names)}
            with suppress(TreadleError):
                made.run(None, feeds)


def run_declared(call, rank):
    made, names = session(call, "[2]" * rank)
    return made.run(None, {name: feed(name, rank) for name in names})


@pytest.mark.parametrize("call", ["Conv (a, b)", "com.microsoft.FusedConv (a, b)"])
def test_declared_ranks_are_refused(call):
    with pytest.raises(TreadleError):
        run_declared(call, 1)


def test_a_rank_that_fits_goes_to_the_kernel():
    made, _ = session("com.microsoft.FusedConv (a, b)")
    x, w = np.arange(4, dtype=np.float32).reshape(1, 1, 4), np.ones((1, 1, 2), np.float32)
    assert_allclose(made.run(None, {"a": x, "b": w})[0], [[[1, 3, 5]]])


def test_inferred_ranks_of_contrib_operators_replace_declared_ones():
    text = (
        HEAD.format(opset=17)
        + """
        g (float[] x, float[] w) => (float[] y) <float[1, 1, k] a, float[1, 1, m] b> {
            a = com.microsoft.Gelu (x)
            b = com.microsoft.Gelu (w)
            y = Conv (a, b)
        }"""
    )
    made = treadle.InferenceSession(text)
    with pytest.raises(TreadleError):
        made.run(None, {"x": np.ones(2, np.float32), "w": np.ones(2, np.float32)})


@pytest.mark.parametrize(
    "call",
    [
        "QLinearLeakyRelu (u, s, z, s)",
        "QLinearSigmoid (u, s, z, s)",
        "Attention <num_heads = 1> (a, b)",
        "AttnLSTM <hidden_size = 1> (a, b, c)",
    ],
)
def test_operands_the_kernel_reads_without_asking(call):
    with pytest.raises(TreadleError, match=call.split()[0]):
        session(f"com.microsoft.{call}")


def test_known_ranks_are_not_checked_at_run_time(monkeypatch):
    seen = []

    def looked_at(draft, step, operands):
        made = with_ranks_checked(draft, step, operands)
        seen.append(made == operands)
        return made

    monkeypatch.setattr("treadle.delegate.export.with_ranks_checked", looked_at)
    treadle.InferenceSession(
        HEAD.format(opset=17)
        + """
        g (float[n, 1, h, w] x, float[1, 1, 3, 3] k) => (float[n, 1, p, q] y) {
            a = Relu (x)
            b = com.microsoft.QuickGelu (a)
            c = Conv (b, k)
            y = Conv (a, k)
        }""",
        engines=("onnxruntime",),
    )
    assert seen
    assert all(seen)


@pytest.mark.parametrize("rank", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("other", ["p", "r"])
def test_attention_with_a_cache_of_another_rank(rank, other):
    made = treadle.InferenceSession(
        HEAD.format(opset=23)
        + "g (float[] a, float[] m, float[] p, float[] r) => (float[] y, float[] k, float[] v)"
        " { y, k, v = Attention (a, a, a, m, p, r) }"
    )
    feeds = {name: np.ones((1, 1, 2, 2), np.float32) for name in "apr"}
    feeds |= {"m": np.ones((2, 4), np.float32), other: np.ones((2,) * rank, np.float32)}
    with pytest.raises(TreadleError):
        made.run(None, feeds)


def test_attention_with_a_cache_goes_to_the_kernel():
    made = treadle.InferenceSession(
        HEAD.format(opset=23)
        + "g (float[] a, float[] m, float[] p) => (float[] y, float[] k, float[] v)"
        " { y, k, v = Attention (a, a, a, m, p, p) }",
        engines=("onnxruntime",),
    )
    feeds = {"m": np.ones((2, 4), np.float32)}
    feeds |= {name: np.ones((1, 1, 2, 2), np.float32) for name in "ap"}
    assert_allclose(made.run(None, feeds)[0], np.ones((1, 1, 2, 2)))
