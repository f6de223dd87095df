"""The kernel IR of small loops, as golden text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, natives
from treadle.jit.kernel.printer import show_kernel

SCAN = """g (float[40,4] w, float[40,4] h0, float[T,40] x) => (float[40,4] h, float[T,40] y) {
  h, y = Scan <num_scan_inputs = 1, body = b (float[40,4] s, float[40] a) => (float[40,4] s1,
    float[40] r) {
    k = Constant <value = int64[1] {-1}> ()
    c = Unsqueeze (a, k)
    e = Exp (w)
    m = Mul (c, e)
    s1 = Add (s, m)
    r = ReduceSum <keepdims = 0> (s1, k)
  }> (h0, x)
}"""
WHILE = """g (float x0) => (float x, float[N] s) {
  yes = Constant <value = bool {1}> ()
  x, s = Loop (, yes, x0) <body = f (int64 i, bool go, float a) => (bool on, float b, float a1) {
    two = Constant <value = float {2.0}> ()
    ten = Constant <value = float {10.0}> ()
    b = Mul (a, two)
    on = Less (b, ten)
    a1 = Identity (a)
  }>
}"""
BRANCH = """g (int64 n, float[2] p) => (float[2] a) {
  a = Loop (n, , p) <body = f (int64 i, bool go, float[2] x) => (bool on, float[2] x1) {
    on = Identity (go)
    two = Constant <value = int64 {2}> ()
    zero = Constant <value = int64 {0}> ()
    m = Mod (i, two)
    even = Equal (m, zero)
    x1 = If (even) <then_branch = t () => (float[2] u) { u = Neg (x) },
                    else_branch = e () => (float[2] v) { v = Add (x, p) }>
  }>
}"""
ONES = np.ones((40, 4), np.float32)
CASES = {
    "scan": (SCAN, {"w": ONES, "h0": ONES, "x": np.ones((3, 40), np.float32)}),
    "while": (WHILE, {"x0": np.float32(1)}),
    "branch": (BRANCH, {"n": np.array(2), "p": np.ones(2, np.float32)}),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels(name, golden):
    text, feed = CASES[name]
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    session.run(None, feed)
    (native,) = natives(session)
    (compiled,) = native.cache.compiled.values()
    kernel = replace(compiled.kernel, parallel_threshold_ns=0)  # the machine's
    golden(f"jit/{name}.txt", show_kernel(kernel) + "\n")
