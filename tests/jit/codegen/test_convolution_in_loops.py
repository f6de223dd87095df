"""Convolutions of few terms in a loop are native sums of shifted views."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, check_uncalled, outcomes
from treadle.jit.kernel.ir import MatMul
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.runtime.invoke import CompiledKernel

# attributes, input, weights, output
CASES = {
    "3 x 3": ("pads = [1, 1, 1, 1]", "1,1,7,9", "1,1,3,3", "1,1,7,9"),
    "no pads": ("", "1,1,7,9", "1,1,3,2", "1,1,5,8"),
    "one side": ("pads = [2, 0, 0, 1]", "2,1,6,5", "1,1,3,2", "2,1,6,5"),
    "strides": ("strides = [2, 3], pads = [1, 1, 1, 1]", "1,1,8,9", "1,1,3,3", "1,1,4,3"),
    "dilations": ("dilations = [2, 1], pads = [2, 1, 2, 1]", "1,1,8,9", "1,1,3,3", "1,1,8,9"),
    "SAME_UPPER": ('auto_pad = "SAME_UPPER"', "1,1,6,6", "1,1,2,4", "1,1,6,6"),
    "channels in": ("pads = [1, 1, 1, 1]", "2,3,5,6", "1,3,3,3", "2,1,5,6"),
    "channels out": ("pads = [1, 1, 1, 1]", "1,1,5,6", "4,1,3,3", "1,4,5,6"),
    "channels in and out": ("pads = [1, 1]", "2,3,12", "5,3,3", "2,5,12"),
    "depthwise": ("group = 6, pads = [1, 1, 1, 1]", "1,6,5,4", "6,1,3,3", "1,6,5,4"),
    "depthwise of many": ("group = 40, pads = [1, 1]", "3,40,8", "40,1,3", "3,40,8"),
    "one window": ("", "1,2,3,3", "1,2,3,3", "1,1,1,1"),
    "volume": ("pads = [1, 0, 1, 1, 0, 1]", "1,1,4,3,5", "1,1,3,1,3", "1,1,4,3,5"),
}  # fmt: skip
PRODUCTS = {
    "many channels": ("pads = [1, 1]", "1,4,12", "32,4,3", "1,32,12"),
    "many terms": ("", "1,20,12", "4,20,5", "1,4,8"),
    "two groups": ("group = 2, pads = [1, 1]", "1,6,12", "4,3,3", "1,4,12"),
}


def loop(attributes: str, given: str, weights: str, made: str, dtype: str, *, bias: bool) -> str:
    """A loop that sums convolutions of x times the iteration."""
    count = weights.split(",")[0]
    extra = ", offset" if bias else ""
    return f"""g (int64 n, {dtype}[{given}] x, {dtype}[{weights}] w, {dtype}[{count}] offset,
      {dtype}[{made}] y0) => ({dtype}[{made}] y) {{
      y = Loop (n, "", y0) <body = f (int64 i, bool on, {dtype}[{made}] s)
        => (bool more, {dtype}[{made}] next) {{
        more = Identity (on)
        number = CastLike (i, x)
        scaled = Mul (x, number)
        c = Conv <{attributes}> (scaled, w{extra})
        next = Add (s, c)
      }}>
    }}""".replace("Conv <> ", "Conv ")


def numbers(rng: np.random.Generator, shape: str, dtype: type) -> np.ndarray:
    return rng.integers(-4, 5, [int(extent) for extent in shape.split(",")]).astype(dtype)


def feeds(
    rng: np.random.Generator, case: tuple[str, ...], trips: int, dtype: type
) -> dict[str, np.ndarray]:
    _, given, weights, made = case
    return {
        "n": np.array(trips), "x": numbers(rng, given, dtype), "w": numbers(rng, weights, dtype),
        "offset": numbers(rng, weights.split(",")[0], dtype), "y0": numbers(rng, made, dtype),
    }  # fmt: skip


def products(session: treadle.InferenceSession) -> int:
    kernels = [made.kernel for made in outcomes(session) if isinstance(made, CompiledKernel)]
    assert kernels
    return sum(isinstance(n.op, MatMul) for kernel in kernels for n in all_nodes(kernel.main))


@pytest.mark.parametrize("name", CASES)
def test_small_convolutions(name: str, rng: np.random.Generator) -> None:
    text = loop(*CASES[name], "float", bias=len(name) % 2 == 0)
    check_uncalled(text, *(feeds(rng, CASES[name], trips, np.float32) for trips in (0, 1, 2, 5)))
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    session.run(None, feeds(rng, CASES[name], 1, np.float32))
    assert products(session) == 0


@pytest.mark.parametrize("name", PRODUCTS)
def test_larger_convolutions_are_products(name: str, rng: np.random.Generator) -> None:
    text = loop(*PRODUCTS[name], "float", bias=True)
    check_uncalled(text, *(feeds(rng, PRODUCTS[name], trips, np.float32) for trips in (0, 1, 2, 5)))
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    session.run(None, feeds(rng, PRODUCTS[name], 1, np.float32))
    assert products(session) > 0


@pytest.mark.parametrize(("word", "dtype"), [("double", np.float64), ("float16", np.float16)])
def test_other_floats(word: str, dtype: type, rng: np.random.Generator) -> None:
    case = CASES["channels in and out"]
    check_uncalled(
        loop(*case, word, bias=True), *(feeds(rng, case, n, dtype) for n in (0, 1, 2, 5))
    )


def test_infinite_elements_reach_their_neighbours(rng: np.random.Generator) -> None:
    case = CASES["3 x 3"]
    given = feeds(rng, case, 2, np.float32)
    given["x"][0, 0, 3, 4], given["x"][0, 0, 0, 0] = np.inf, np.nan
    check_uncalled(loop(*case, "float", bias=False), given)


WHOLE = """g (int64 n, uint8[1,1,6,7] x, int8[2,1,3,3] w, uint8 zero, int32[1,2,6,7] y0)
  => (int32[1,2,6,7] y) {
  y = Loop (n, "", y0) <body = f (int64 i, bool on, int32[1,2,6,7] s)
    => (bool more, int32[1,2,6,7] next) {
    more = Identity (on)
    c = ConvInteger <pads = [1, 1, 1, 1]> (x, w, zero)
    number = Cast <to = 6> (i)
    scaled = Mul (c, number)
    next = Add (s, scaled)
  }>
}"""


def test_whole_numbers(rng: np.random.Generator) -> None:
    for trips in (0, 1, 2, 5):
        check_uncalled(WHOLE, {
            "n": np.array(trips), "x": rng.integers(0, 256, (1, 1, 6, 7)).astype(np.uint8),
            "w": rng.integers(-128, 128, (2, 1, 3, 3)).astype(np.int8),
            "zero": np.uint8(131), "y0": rng.integers(-9, 9, (1, 2, 6, 7)).astype(np.int32),
        })  # fmt: skip


def test_a_loop_with_a_small_convolution_is_native_by_default(rng: np.random.Generator) -> None:
    text = """g (int64 n, float[1,1,64,64] x, float[1,1,3,3] w) => (float[1,1,64,64] y) {
      y = Loop (n, "", x) <body = f (int64 i, bool on, float[1,1,64,64] s)
        => (bool more, float[1,1,64,64] next) {
        more = Identity (on)
        next = Conv <pads = [1, 1, 1, 1]> (s, w)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text)
    x = rng.random((1, 1, 64, 64)).astype(np.float32)
    session.run(None, {"n": np.array(3), "x": x, "w": np.full((1, 1, 3, 3), 0.1, np.float32)})
    assert products(session) == 0
