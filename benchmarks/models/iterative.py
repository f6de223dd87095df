"""Loops that run to convergence: data-dependent conditions, small vectors, nested loops."""

from __future__ import annotations

import numpy as np

from benchmarks.registry import HEAD, Arrays, Instance, benchmark, count, random


@benchmark("descent until settled, 4 numbers", kind="while", n=20_000, small=50)
def descent(n: int) -> Instance:
    """Gradient descent on a quadratic of four numbers until the gradient is short: n steps."""
    text = """g (double[4, 4] A, double[4] b, double[4] x0, double rate, double near)
      => (double[4] x) {
      yes = Constant <value = bool {1}> ()
      x = Loop (, yes, x0) <body = step (int64 i, bool go, double[4] x)
        => (bool far, double[4] better) {
        product = MatMul (A, x)
        gradient = Sub (product, b)
        square = Mul (gradient, gradient)
        length = ReduceSum <keepdims = 0> (square)
        far = Greater (length, near)
        scaled = Mul (rate, gradient)
        better = Sub (x, scaled)
      }>
    }"""
    basis, _ = np.linalg.qr(random(1).normal(size=(4, 4)))
    slow = 7.0 / n
    matrix = basis @ np.diag([1.0, 0.6, 0.3, slow]) @ basis.T
    answer = basis @ np.array([1.0, -2.0, 3.0, 0.5])
    feed = {
        "A": matrix, "b": matrix @ answer, "x0": np.zeros(4), "rate": np.array(1.0),
        "near": np.array((slow * 0.5 * np.exp(-7.0)) ** 2),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _descent)


def _descent(
    A: np.ndarray,
    b: np.ndarray,
    x0: np.ndarray,
    rate: np.ndarray,
    near: np.ndarray,
) -> Arrays:
    x, far = x0, True
    while far:
        gradient = A @ x - b
        far = gradient @ gradient > near
        x = x - rate * gradient
    return [x]


@benchmark("Collatz, a while in a loop", kind="nested", n=15_000, small=8)
def collatz(n: int) -> Instance:
    """How many steps each of the numbers 1 to n takes down to 1.

    A branch predictor learns the steps of 1,500 numbers by heart.
    """
    text = """g (int64 n) => (int64[N] lengths) {
      yes = Constant <value = bool {1}> ()
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      two = Constant <value = int64 {2}> ()
      three = Constant <value = int64 {3}> ()
      lengths = Loop (n, yes) <body = outer (int64 i, bool go) => (bool gone, int64 length) {
        gone = Identity (go)
        start = Add (i, one)
        first = Greater (start, one)
        last, length = Loop (, first, start, zero) <body = inner (int64 k, bool on, int64 m,
          int64 steps) => (bool more, int64 next, int64 counted) {
          rest = Mod (m, two)
          even = Equal (rest, zero)
          half = Div (m, two)
          tripled = Mul (m, three)
          plus = Add (tripled, one)
          next = Where (even, half, plus)
          counted = Add (steps, one)
          more = Greater (next, one)
        }>
      }>
    }"""
    feed = {"n": count(n)}
    return Instance(HEAD + text, feed, int(_collatz(**feed)[0].sum()), _collatz)


def _collatz(n: np.ndarray) -> Arrays:
    lengths = []
    for start in range(1, int(n) + 1):
        m, steps = start, 0
        while m > 1:
            m, steps = (m // 2 if m % 2 == 0 else 3 * m + 1), steps + 1
        lengths.append(steps)
    return [np.array(lengths, np.int64)]


@benchmark("triangle, three loops", kind="nested", n=60, small=5)
def triangle(n: int) -> Instance:
    """How many 0 < i, 0 <= j < i, 0 <= k < j have i j k = 1 modulo 7: inner trips from outer."""
    text = """g (int64 n) => (int64 found) {
      yes = Constant <value = bool {1}> ()
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      seven = Constant <value = int64 {7}> ()
      found = Loop (n, yes, zero) <body = a (int64 i, bool c0, int64 f0) => (bool d0, int64 g0) {
        d0 = Identity (c0)
        g0 = Loop (i, yes, f0) <body = b (int64 j, bool c1, int64 f1) => (bool d1, int64 g1) {
          d1 = Identity (c1)
          g1 = Loop (j, yes, f1) <body = c (int64 k, bool c2, int64 f2) => (bool d2, int64 g2) {
            d2 = Identity (c2)
            ij = Mul (i, j)
            ijk = Mul (ij, k)
            rest = Mod (ijk, seven)
            hit = Equal (rest, one)
            more = Cast <to = 7> (hit)
            g2 = Add (f2, more)
          }>
        }>
      }>
    }"""
    return Instance(HEAD + text, {"n": count(n)}, n * (n - 1) * (n - 2) // 6, _triangle)


def _triangle(n: np.ndarray) -> Arrays:
    i, j, k = np.ogrid[: int(n), : int(n), : int(n)]
    found = (i > j) & (j > k) & (i * j * k % 7 == 1)
    return [np.array(found.sum(), np.int64)]
