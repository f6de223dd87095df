"""Integer operators that onnxruntime computes wrongly are exported in forms it computes right."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.plan import FallbackRequired

LIMITS = np.iinfo(np.int64)
EDGES = np.array(
    [0, 1, -1, 7, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32, 2**53 + 1, -(2**53) - 1,
     2**62 + 2**31, 2**62, LIMITS.max, LIMITS.min, 5]
)  # fmt: skip
FIRST, SECOND = (each.ravel() for each in np.meshgrid(EDGES, EDGES))
ROWS = np.stack([np.roll(EDGES, k) for k in range(5)])


def test_extremes_of_pairs(whole, same):
    text = "g (int64[n] a, int64[n] b) => (int64[n] y, int64[n] z) { y = Max (a, b) z = Min (b, a)}"
    greatest, least = whole(text)(FIRST, SECOND)
    same(greatest, np.maximum(FIRST, SECOND))
    same(least, np.minimum(FIRST, SECOND))


def test_extremes_of_several_that_broadcast(whole, same):
    text = "g (int64[n,1] a, int64 b, int64[m] c) => (int64[n,m] y) { y = Max (a, b, c) }"
    (found,) = whole(text)(EDGES[:, None], np.array(2**31), EDGES)
    same(found, np.maximum(np.maximum(EDGES[:, None], 2**31), EDGES))


@pytest.mark.parametrize(("low", "high"), [(-7, 2**31), (2**31 + 5, 7), (None, 7), (7, None)])
def test_clip(whole, same, low, high):
    given = {"l": low, "h": high}
    words = ", ".join(name if bound is not None else '""' for name, bound in given.items())
    held = {name: bound for name, bound in given.items() if bound is not None}
    inputs = "".join(f", int64 {name}" for name in held)
    run = whole(f"g (int64[n] x{inputs}) => (int64[n] y) {{ y = Clip (x, {words}) }}")
    (found,) = run(EDGES, *(np.array(bound) for bound in held.values()))
    wanted = EDGES if low is None else np.maximum(EDGES, low)
    same(found, wanted if high is None else np.minimum(wanted, high))


def test_sign(whole, same):
    (found,) = whole("g (int64[n] x) => (int64[n] y) { y = Sign (x) }")(EDGES)
    same(found, np.sign(EDGES))


REDUCTIONS = {
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceSum": np.sum,
    "ReduceL1": lambda x, **named: np.sum(np.abs(x), **named),
    "ReduceSumSquare": lambda x, **named: np.sum(x * x, **named),
}
AXES = {"": None, ", a": (0,), ", b": (-1,), ", c": (1, -2)}
CONSTANTS = "<int64[1] a = {0}, int64[1] b = {-1}, int64[2] c = {1, -2}>"


@pytest.mark.parametrize("keeps", [0, 1])
@pytest.mark.parametrize(("operand", "axes"), AXES.items())
@pytest.mark.parametrize(("op", "reduction"), REDUCTIONS.items())
@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_reductions(whole, same, dtype, op, reduction, operand, axes, keeps):
    step = f"y = {op} <keepdims = {keeps}> (x{operand})"
    run = whole(f"g ({dtype}[r,c] x) => ({dtype}[] y) {CONSTANTS} {{ {step} }}", 18)
    x = ROWS.astype(dtype)
    wanted = reduction(x, axis=axes, keepdims=bool(keeps))
    same(run(x)[0], np.asarray(wanted).astype(dtype))


def test_axes_of_an_attribute_in_a_body(whole, same):
    text = """g (int64 n, int64[r,c] x) => (int64[r] y, int64[r] s) {
        t = Constant <value = bool {1}> ()
        y, s = Loop (n, t) <body = b (int64 i, bool go) => (bool on, int64[r] m, int64[r] t) {
            on = Identity (go)
            m = ReduceMax <axes = [1], keepdims = 0> (x)
            t = ReduceSum <keepdims = 0> (x, one) }> }"""
    text = text.replace("int64[r] y, int64[r] s", "int64[k,r] y, int64[k,r] s")
    text = text.replace(" {\n        t", " <int64[1] one = {1}> {\n        t")
    greatest, total = whole(text)(np.array(2), ROWS)
    same(greatest, np.stack([ROWS.max(1)] * 2))
    same(total, np.stack([ROWS.sum(1)] * 2))


def test_a_reduction_of_an_empty_axis_is_refused(whole):
    run = whole("g (int64[r,c] x) => (int64[r,d] y) <int64[1] a = {1}> { y = ReduceSum (x, a) }")
    with pytest.raises(FallbackRequired):
        run(np.zeros((3, 0), np.int64))


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceProd", "ReduceMax"])
def test_a_reduction_along_no_axis(whole, same, op):
    run = whole(
        f"g (int64[r,c] x) => (int64[r,c] y) {{ y = {op} <noop_with_empty_axes=1> (x) }}", 18
    )
    same(run(ROWS % 100)[0], ROWS % 100)


def test_axes_computed_at_run_time_go_to_interp(planned):
    text = "g (int64[r,c] x, int64[1] a) => (int64[r,d] y) { y = ReduceSum (x, a) }"
    assert [region.engine for region in planned(text).main.regions] == ["interp"]


PRODUCT = "g ({0}[n] x) => ({0}[1] y) {{ y = ReduceProd (x) }}"


@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize("x", [[3, -7, 1000], [2**20, 0, 2**20, 2**30], [2**30, 2**30, -8, 3], []])
def test_products(whole, same, dtype, x):
    given = np.array(x, dtype)
    same(whole(PRODUCT.format(dtype))(given)[0], given.prod(keepdims=True, dtype=dtype))


PRODUCT_BESIDE = """g (int64[n] x, float[m] z) => (int64[1] y, float[m] w) {
    y = ReduceProd (x)  w = Relu (z) }"""


@pytest.mark.parametrize("x", [[2**53, 1], [2**53 + 1, -1], [2**40, 2**40], [-(2**62), 2, 2]])
def test_inexact_integer_products_are_refused_among_other_operators(whole, x):
    with pytest.raises(FallbackRequired):
        whole(PRODUCT_BESIDE)(np.array(x), np.ones(2, np.float32))


def test_small_integer_products_are_taken_among_other_operators(whole, same):
    found, _ = whole(PRODUCT_BESIDE)(np.array([3, -7, 1000]), np.ones(2, np.float32))
    same(found, np.array([-21000]))


HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
POWER = "g ({0}[n] x, {1}[n] e) => ({0}[n] y) {{ y = Pow (x, e) }}"


@pytest.mark.parametrize("exponent", ["int64", "int32"])
@pytest.mark.parametrize("base", ["int64", "int32", "float", "double"])
def test_powers_that_are_small(whole, same, base, exponent):
    dtype = {"float": "float32", "double": "float64"}.get(base, base)
    x, e = np.array([3, -7, -1, 0], dtype), np.array([4, 3, 9, 2], exponent)
    same(whole(POWER.format(base, exponent))(x, e)[0], np.array([81, -343, -1, 0], dtype))


@pytest.mark.parametrize("base", ["int64", "int32", "float", "double"])
@pytest.mark.parametrize("engines", [None, ("interp",), ("jit", "interp")])
def test_minus_one_to_an_odd_power_is_minus_one(base, engines):
    text = HEAD + POWER.format(base, "int64")
    dtype = {"float": "float32", "double": "float64"}.get(base, base)
    session = treadle.InferenceSession(text, **({"engines": engines} if engines else {}))
    feeds = {"x": np.array([-1, -1, 1], dtype), "e": np.array([LIMITS.max, 2**53 + 1, 3])}
    assert session.run(None, feeds)[0].tolist() == [-1, -1, 1]


SLICE = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[n] x, int64[1] s, int64[1] e, int64[1] t) => (float[m] y) <int64[1] z = {0}> {
        y = Slice (x, s, e, z, t) }"""


@pytest.mark.parametrize("start", [-(2**63), -100, -1, 0, 4, 100])
@pytest.mark.parametrize("engines", [None, ("onnxruntime",), ("interp",), ("jit", "interp")])
def test_slice_ends_with_negative_steps(start, engines):
    session = treadle.InferenceSession(SLICE, **({"engines": engines} if engines else {}))
    for extent in (0, 1, 5):
        x = np.arange(extent, dtype=np.float32)
        for end in (2**63 - 1, 2**63 - 2, 2**31 - 1, 2, -100, -(2**63)):
            for step in (-1, -2, -(2**63), 1):
                feeds = {"x": x, "s": [start], "e": [end], "t": [step]}
                fed = {k: np.asarray(v) for k, v in feeds.items()}
                assert session.run(None, fed)[0].tolist() == cut(x, start, end, step), feeds


def cut(x, start, end, step):
    """The standard's words: bounds below 0 count from the end, then are clamped."""
    extent = len(x)
    first = start + extent if start < 0 else start
    last = end + extent if end < 0 else end
    if step > 0:
        first, last = min(max(first, 0), extent), min(max(last, 0), extent)
    else:
        first, last = min(max(first, 0), extent - 1), min(max(last, -1), extent - 1)
    return [float(x[k]) for k in range(first, last, step)]
