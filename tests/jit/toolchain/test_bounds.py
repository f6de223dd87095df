"""Maxima and minima with a bound that no iteration changes: NaN of either propagates."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import check, escapes, natives, outcomes  # noqa: F401
from treadle.jit.runtime.compilation import generate_code
from treadle.jit.toolchain.llvm import optimized_ir


def feeds(numbers: list[float], *names: str) -> list[dict[str, np.ndarray]]:
    """Three iterations with every choice of the numbers."""
    return [
        {
            "n": np.array(3),
            **{k: np.array(v, np.float32) for k, v in zip(names, chosen, strict=True)},
        }
        for chosen in itertools.product(numbers, repeat=len(names))
    ]


@pytest.mark.parametrize("op", ["Max", "Min"])
def test_bounds_of_a_chain_propagate_nan(op):
    text = f"""g (int64 n, float x, float bound) => (float y) {{
      y = Loop (n, "", x) <body = f (int64 i, bool go, float a) => (bool on, float c) {{
        on = Identity (go)
        two = Constant <value = float {{-2.0}}> ()
        b = Mul (a, two)
        c = {op} (b, bound)
      }}>
    }}"""
    numbers = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -3.0]
    check(text, *feeds(numbers, "x", "bound"))


@pytest.mark.parametrize(
    "own",
    [
        "c = Clip (b, low, high)",
        "d = Min (b, high) c = Max (low, d)",
        "d = Min (b, high) c = Add (d, d)",
        "d = Min (b, high) e = Max (low, d) c = Min (e, x)",
        "w = IsNaN (high) d = Where (w, high, b) c = Max (d, low)",
    ],
)
def test_two_bounds_of_a_chain_propagate_nan(own):
    text = f"""g (int64 n, float x, float low, float high) => (float y) {{
      y = Loop (n, "", x) <body = f (int64 i, bool go, float a) => (bool on, float c) {{
        on = Identity (go)
        two = Constant <value = float {{-2.0}}> ()
        b = Mul (a, two)
        {own}
      }}>
    }}"""
    numbers = [math.nan, math.inf, -0.0, 0.0, -3.0, 5.0]
    check(text, *feeds(numbers, "x", "low", "high"))


def test_two_bounds_of_a_chain_are_asked_about_together():
    text = """kernel
  %x: float32[] = input 0
  %low: float32[] = input 1
  %high: float32[] = input 2
  %n: int64[] = input 3
  %1 = loop trip %n carries %a = %x
    %a: float32[] = carried 0
    %b: float32[] = neg %a
    %c: float32[] = max %b, %low
    %d: float32[] = min %c, %high
    yield %d
  %y: float32[] = result 0 of %1
  return %y"""
    code = optimized_ir(generate_code(kernel_of(text), ()).text, vectorizers=())
    assert code.count("fcmp uno") == 1


@pytest.mark.parametrize("op", ["Max", "Min"])
@pytest.mark.parametrize("word", ["float", "double", "float16"])
def test_bounds_of_an_array_propagate_nan(op, word):
    text = f"""g ({word}[B] bounds, {word}[N] x) => ({word}[B, N] y) {{
      y = Scan <num_scan_inputs = 1, body = f ({word} bound) => ({word}[N] c) {{
        c = {op} (x, bound)
      }}> (bounds)
    }}"""
    numbers = np.array([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -3.0] * 5)
    dtype = {"float": np.float32, "double": np.float64, "float16": np.float16}[word]
    check(text, {"bounds": numbers[:7].astype(dtype), "x": numbers.astype(dtype)})
