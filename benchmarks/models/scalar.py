"""Recurrences of scalars with a few operations in each iteration."""

from __future__ import annotations

import numpy as np

from benchmarks.registry import HEAD, Arrays, Instance, benchmark, count, random, scalars, uniform


@benchmark("logistic map, stacked", kind="scalar", n=100_000, small=50)
def logistic(n: int) -> Instance:
    """x = r x (1 - x), every x kept; r where the map settles on four values."""
    text = """g (int64 n, float r, float x0) => (float xn, float[N] xs) {
      cond = Constant <value = bool {1}> ()
      xn, xs = Loop (n, cond, x0) <body = b (int64 i, bool c, float x)
        => (bool co, float xo, float y) {
        co = Identity (c)
        one = Constant <value = float {1.0}> ()
        d = Sub (one, x)
        rx = Mul (r, x)
        xo = Mul (rx, d)
        y = Identity (xo)
      }>
    }"""
    feed = {"n": count(n), **scalars(r=3.5, x0=0.4)}
    return Instance(HEAD + text, feed, n, _logistic)


def _logistic(n: np.ndarray, r: np.ndarray, x0: np.ndarray) -> Arrays:
    x, rate, xs = float(x0), float(r), np.empty(int(n), np.float32)
    for k in range(int(n)):
        x = rate * x * (1 - x)
        xs[k] = x
    return [np.array(x, np.float32), xs]


@benchmark("xorshift, 32 bits", kind="scalar", n=100_000, small=50)
def xorshift(n: int) -> Instance:
    """Marsaglia's generator of random numbers, every one kept: shifts and exclusive ors."""
    text = """g (int64 n, uint32 seed) => (uint32 last, uint32[N] numbers) {
      cond = Constant <value = bool {1}> ()
      a = Constant <value = uint32 {13}> ()
      b = Constant <value = uint32 {17}> ()
      c = Constant <value = uint32 {5}> ()
      last, numbers = Loop (n, cond, seed) <body = step (int64 i, bool go, uint32 x)
        => (bool gone, uint32 xo, uint32 y) {
        gone = Identity (go)
        x1 = BitShift <direction = "LEFT"> (x, a)
        x2 = BitwiseXor (x, x1)
        x3 = BitShift <direction = "RIGHT"> (x2, b)
        x4 = BitwiseXor (x2, x3)
        x5 = BitShift <direction = "LEFT"> (x4, c)
        xo = BitwiseXor (x4, x5)
        y = Identity (xo)
      }>
    }"""
    feed = {"n": count(n), "seed": np.array(2463534242, np.uint32)}
    return Instance(HEAD + text, feed, n, _xorshift)


def _xorshift(n: np.ndarray, seed: np.ndarray) -> Arrays:
    x, numbers = int(seed), np.empty(int(n), np.uint32)
    for k in range(int(n)):
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        numbers[k] = x
    return [np.array(x, np.uint32), numbers]


@benchmark("compound interest, float64", kind="scalar", n=100_000, small=50)
def savings(n: int) -> Instance:
    """A balance that earns interest above a floor and pays a fee below: Where, Max, Min."""
    text = """g (int64 n, double start, double rate, double fee, double floor, double most)
      => (double balance) {
      cond = Constant <value = bool {1}> ()
      balance = Loop (n, cond, start) <body = step (int64 i, bool go, double x)
        => (bool gone, double xo) {
        gone = Identity (go)
        rich = Greater (x, floor)
        earned = Mul (x, rate)
        paid = Sub (x, fee)
        either = Where (rich, earned, paid)
        bounded = Min (either, most)
        xo = Max (bounded, fee)
      }>
    }"""
    numbers = {"start": 100.0, "rate": 0.999, "fee": -0.75, "floor": 90.0, "most": 1e6}
    feed = {"n": count(n), **{k: np.array(v, np.float64) for k, v in numbers.items()}}
    return Instance(HEAD + text, feed, n, _savings)


def _savings(
    n: np.ndarray,
    start: np.ndarray,
    rate: np.ndarray,
    fee: np.ndarray,
    floor: np.ndarray,
    most: np.ndarray,
) -> Arrays:
    x, by, cost, low, high = (float(v) for v in (start, rate, fee, floor, most))
    for _ in range(int(n)):
        x = max(min(x * by if x > low else x - cost, high), cost)
    return [np.array(x)]


@benchmark("advantages, from the end", kind="scalar", n=50_000, small=50)
def advantages(n: int) -> Instance:
    """Generalised advantage estimation: discounted sums of errors, over the ends of episodes."""
    text = """g (float[T] reward, float[T] value, float[T] after, float[T] goes_on, float discount,
      float decay, float none) => (float[T] advantage, float[T] target) {
      first, advantage, target = Scan <num_scan_inputs = 4, scan_input_directions = [1, 1, 1, 1],
        scan_output_directions = [1, 1], body = b (float g, float r, float v, float w, float on)
        => (float go, float a, float q) {
        later = Mul (discount, w)
        kept = Mul (later, on)
        gained = Add (r, kept)
        error = Sub (gained, v)
        factor = Mul (decay, on)
        carried = Mul (factor, g)
        go = Add (error, carried)
        a = Identity (go)
        q = Add (go, v)
      }> (none, reward, value, after, goes_on)
    }"""
    made = random(15)
    feed = {
        **{name: uniform(made, n) for name in ("reward", "value", "after")},
        "goes_on": (made.random(n) > 0.01).astype(np.float32),
        **scalars(discount=0.99, decay=0.9405, none=0.0),
    }
    return Instance(HEAD + text, feed, n, _advantages, (n,))


def _advantages(
    reward: np.ndarray, value: np.ndarray, after: np.ndarray, goes_on: np.ndarray,
    discount: np.ndarray, decay: np.ndarray, none: np.ndarray,
) -> Arrays:  # fmt: skip
    errors = reward + float(discount) * after.astype(float) * goes_on - value
    factors, g, found = float(decay) * goes_on, float(none), np.empty(len(reward))
    for t in range(len(reward))[::-1]:
        found[t] = g = errors[t] + factors[t] * g
    return [found.astype(np.float32), (found + value).astype(np.float32)]
