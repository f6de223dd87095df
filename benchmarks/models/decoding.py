"""Decoders: a token in each iteration, branches on tokens, a growing cache."""

from __future__ import annotations

import numpy as np

from benchmarks.registry import HEAD, Arrays, Instance, benchmark, count, random, uniform

Array = np.ndarray


@benchmark("greedy decoder with If", kind="decoder", n=2000, small=12)
def greedy(n: int) -> Instance:
    """The likeliest token next; an If damps the state after a stop sign, else goes on."""
    text = """g (int64 n, int64 first, float[256, 64] E, float[64, 64] R, float[64, 256] V,
      float[1, 64] h0) => (int64[N] tokens, float[1, 64] hn) {
      yes = Constant <value = bool {1}> ()
      half = Constant <value = float {0.5}> ()
      sign = Constant <value = int64 {16}> ()
      row = Constant <value = int64[1] {0}> ()
      lastn, hn, tokens = Loop (n, yes, first, h0) <body = step (int64 i, bool go, int64 token,
        float[1, 64] h) => (bool gone, int64 next, float[1, 64] ho, int64 out) {
        gone = Identity (go)
        stop = Less (token, sign)
        ho = If (stop) <then_branch = damp () => (float[1, 64] damped) {
          damped = Mul (h, half)
        }, else_branch = move () => (float[1, 64] moved) {
          flat = Gather <axis = 0> (E, token)
          e = Unsqueeze (flat, row)
          kept = MatMul (h, R)
          both = Add (e, kept)
          moved = Tanh (both)
        }>
        logits = MatMul (ho, V)
        best = ArgMax <axis = 1, keepdims = 0> (logits)
        next = Squeeze (best, row)
        out = Identity (next)
      }>
    }"""
    made = random(24)
    feed = {
        "n": count(n), "first": count(20), "E": uniform(made, 256, 64),
        "R": uniform(made, 64, 64, scale=0.05), "V": uniform(made, 64, 256),
        "h0": uniform(made, 1, 64),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _greedy)


def _greedy(n: Array, first: Array, E: Array, R: Array, V: Array, h0: Array) -> Arrays:
    token, h, tokens = int(first), h0, []
    for _ in range(int(n)):
        h = h * np.float32(0.5) if token < 16 else np.tanh(E[token] + h @ R)
        token = int((h @ V).argmax())
        tokens.append(token)
    return [np.array(tokens, np.int64), h]


@benchmark("attention with a growing cache", kind="growing", n=512, small=6)
def cache(n: int) -> Instance:
    """Keys and values of 64 appended by Concat, attention over all of them."""
    text = """g (int64 n, float[1, 64] x0, float[0, 64] none, float[64, 64] Q, float[64, 64] K,
      float[64, 64] V, float scale) => (float[1, 64] xn, float[N, 1, 64] ys) {
      yes = Constant <value = bool {1}> ()
      xn, keys, values, ys = Loop (n, yes, x0, none, none) <body = step (int64 i, bool go,
        float[1, 64] x, float[P, 64] keys, float[P, 64] values)
        => (bool gone, float[1, 64] xo, float[O, 64] ko, float[O, 64] vo, float[1, 64] y) {
        gone = Identity (go)
        q = MatMul (x, Q)
        k = MatMul (x, K)
        v = MatMul (x, V)
        ko = Concat <axis = 0> (keys, k)
        vo = Concat <axis = 0> (values, v)
        kt = Transpose (ko)
        raw = MatMul (q, kt)
        scores = Mul (raw, scale)
        weights = Softmax <axis = -1> (scores)
        read = MatMul (weights, vo)
        sum = Add (x, read)
        xo = Tanh (sum)
        y = Identity (xo)
      }>
    }"""
    made = random(25)
    feed = {
        "n": count(n), "x0": uniform(made, 1, 64), "none": np.zeros((0, 64), np.float32),
        **{name: uniform(made, 64, 64, scale=0.2) for name in "QKV"},
        "scale": np.array(0.125, np.float32),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _cache)


def _cache(
    n: Array,
    x0: Array,
    none: Array,
    Q: Array,
    K: Array,
    V: Array,
    scale: Array,
) -> Arrays:
    x, ys = x0, []
    keys = values = none
    for _ in range(int(n)):
        keys, values = np.vstack([keys, x @ K]), np.vstack([values, x @ V])
        scores = x @ Q @ keys.T * scale
        weights = np.exp(scores - scores.max())
        x = np.tanh(x + weights / weights.sum() @ values)
        ys.append(x)
    return [x, np.stack(ys)]


@benchmark("a list of 2,000 rows", kind="list", n=2000, small=7)
def rows(n: int) -> Instance:
    """A row a step, put at the end of a sequence, joined afterwards."""
    text = """g (int64 n, float[1, 64] x0, float by) => (float[N, 64] all) {
      yes = Constant <value = bool {1}> ()
      empty = SequenceEmpty ()
      xn, filled = Loop (n, yes, x0, empty) <body = step (int64 i, bool go, float[1, 64] x,
        seq(float[1, 64]) list) => (bool gone, float[1, 64] xo, seq(float[1, 64]) longer) {
        gone = Identity (go)
        scaled = Mul (x, by)
        xo = Cos (scaled)
        longer = SequenceInsert (list, xo)
      }>
      all = ConcatFromSequence <axis = 0> (filled)
    }"""
    feed = {"n": count(n), "x0": uniform(random(26), 1, 64), "by": np.array(0.9, np.float32)}
    return Instance(HEAD + text, feed, n, _rows)


def _rows(n: Array, x0: Array, by: Array) -> Arrays:
    x, found = x0, []
    for _ in range(int(n)):
        x = np.cos(x * by)
        found.append(x)
    return [np.concatenate(found)]


@benchmark("a list of 2,000 rows of unlike lengths", kind="list", n=2000, small=7)
def ragged(n: int) -> Instance:
    """The first 1 to 16 numbers of a row a step, put at the end of a list, joined afterwards."""
    text = """g (int64 n, float[1, 16] x0, float by) => (float[1, M] all, int64 longest) {
      yes = Constant <value = bool {1}> ()
      zero = Constant <value = int64 {0}> ()
      empty = SequenceEmpty ()
      xn, longest, filled = Loop (n, yes, x0, zero, empty) <body = step (int64 i, bool go,
        float[1, 16] x, int64 most, seq(float[1, A]) list) => (bool gone, float[1, 16] xo,
        int64 more, seq(float[1, B]) longer) {
        gone = Identity (go)
        scaled = Mul (x, by)
        xo = Cos (scaled)
        sixteen = Constant <value = int64 {16}> ()
        one = Constant <value = int64[1] {1}> ()
        begin = Constant <value = int64[1] {0}> ()
        rest = Mod (i, sixteen)
        long = Add (rest, one)
        part = Slice (xo, begin, long, one)
        longer = SequenceInsert (list, part)
        size = Size (part)
        more = Max (most, size)
      }>
      all = ConcatFromSequence <axis = 1> (filled)
    }"""
    feed = {"n": count(n), "x0": uniform(random(27), 1, 16), "by": np.array(0.9, np.float32)}
    return Instance(HEAD + text, feed, n, _ragged)


def _ragged(n: Array, x0: Array, by: Array) -> Arrays:
    x, found = x0, []
    for k in range(int(n)):
        x = np.cos(x * by)
        found.append(x[:, : k % 16 + 1])
    longest = max((row.size for row in found), default=0)
    return [np.concatenate(found, 1), np.array(longest)]
