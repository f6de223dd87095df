"""Shapes as inputs: kernels for recent values, then one kernel for all."""

from __future__ import annotations

import numpy as np

import treadle
from tests.jit.native import HEAD, natives
from tests.values import assert_same

TEXT = """g (int64[1] length, float[5] x, int64 n) => (float[5] y) {
  y = Loop (n, , x) <body = f (int64 i, bool go, float[5] a) => (bool on, float[5] b) {
    on = Identity (go)
    s = ReduceSum <keepdims = 0> (a)
    many = Expand (s, length)
    little = Constant <value = float {0.001}> ()
    parts = Mul (many, little)
    t = ReduceSum <keepdims = 0> (parts)
    c = Sub (a, t)
    b = Tanh (c)
  }>
}"""


def test_after_a_few_values_one_kernel_serves_all():
    session = treadle.InferenceSession(HEAD + TEXT, engines=("jit", "interp"))
    plain = treadle.InferenceSession(HEAD + TEXT, engines=("interp",))
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    for count, length in enumerate((20, 33, 20, 47, 20, 64, 33, 0, 3), start=1):
        feed = {"length": np.array([length]), "x": x, "n": np.array(3 + count)}
        assert_same(session.run(None, feed), plain.run(None, feed), ["y"])
    made = [list(native.cache.compiled) for native in natives(session)]
    assert [len(keys) for keys in made] == [3], "two lengths have their own, the others share one"


def test_a_trip_count_is_not_specialized():
    session = treadle.InferenceSession(HEAD + TEXT, engines=("jit", "interp"))
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    for trips in range(6):
        session.run(None, {"length": np.array([20]), "x": x, "n": np.array(trips)})
    assert all(len(native.cache.compiled) == 1 for native in natives(session))


def test_the_trip_limit_of_a_while_loop_is_not_specialized():
    text = """g (int64 n, float[5] x) => (float[5] y, float[N,5] ys) {
      y, ys = Loop (n, , x) <body = f (int64 i, bool go, float[5] a)
        => (bool on, float[5] b, float[5] c) {
        half = Constant <value = float {0.5}> ()
        s = ReduceMax <keepdims = 0> (a)
        on = Greater (s, half)
        b = Mul (a, half)
        c = Identity (b)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    x = np.full(5, 4, np.float32)
    lengths = [len(session.run(None, {"n": np.array(n), "x": x})[1]) for n in (1, 2, 3, 9)]
    assert lengths == [1, 2, 3, 4]
    assert [len(native.cache.compiled) for native in natives(session)] == [1]
