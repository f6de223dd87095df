"""Dynamic programming: tables filled row by row, cell by cell."""

from __future__ import annotations

import numpy as np

from benchmarks.registry import HEAD, Arrays, Instance, benchmark, count, random, uniform

Array = np.ndarray


@benchmark("Levenshtein, Scan in a Scan", kind="nested-dp", n=200, small=7)
def levenshtein(n: int) -> Instance:
    """Edit distance: a scan over rows, in it a scan over columns."""
    text = """g (int64[N] s, int64[M] t, int64[M] row0, int64 zero) => (int64[M] last) {
      one = Constant <value = int64 {1}> ()
      last, corner = Scan <num_scan_inputs = 1, body = outer (int64[M] row, int64 k, int64 a)
        => (int64[M] next, int64 ko) {
        ko = Add (k, one)
        le, di, next = Scan <num_scan_inputs = 2, body = inner (int64 left, int64 diagonal,
          int64 above, int64 c) => (int64 lo, int64 do, int64 cell) {
          same = Equal (a, c)
          up = Add (above, one)
          across = Add (left, one)
          skip = Where (same, zero, one)
          change = Add (diagonal, skip)
          least = Min (up, across)
          cell0 = Min (least, change)
          lo = Identity (cell0)
          cell = Identity (cell0)
          do = Identity (above)
        }> (ko, k, row, t)
      }> (row0, zero, s)
    }"""
    made = random(20)
    feed = {
        "s": made.integers(0, 4, n), "t": made.integers(0, 4, n), "row0": np.arange(1, n + 1),
        "zero": count(0),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n * n, _levenshtein, (n,))


def _levenshtein(s: Array, t: Array, row0: Array, zero: Array) -> Arrays:
    row, letters = row0.tolist(), t.tolist()
    for k, a in enumerate(s.tolist()):
        left, diagonal = k + 1, k
        for j, c in enumerate(letters):
            above = row[j]
            left = min(above + 1, left + 1, diagonal + (a != c))
            row[j], diagonal = left, above
    return [np.array(row, np.int64)]


@benchmark("time warping, Scan in a Scan", kind="nested-dp", n=200, small=7)
def warping(n: int) -> Instance:
    """The cost of the cheapest alignment of two series of float32."""
    text = """g (float[N] s, float[M] t, float[M] row0, float far, float zero)
      => (float[M] last) {
      last, corner = Scan <num_scan_inputs = 1, body = outer (float[M] row, float d, float a)
        => (float[M] next, float do) {
        do = Identity (far)
        le, di, next = Scan <num_scan_inputs = 2, body = inner (float left, float diagonal,
          float above, float b) => (float lo, float dn, float cell) {
          gap = Sub (a, b)
          cost = Abs (gap)
          least = Min (left, diagonal, above)
          lo = Add (cost, least)
          cell = Identity (lo)
          dn = Identity (above)
        }> (far, d, row, t)
      }> (row0, zero, s)
    }"""
    made, far = random(21), np.float32(1e30)
    feed = {
        "s": uniform(made, n), "t": uniform(made, n), "row0": np.full(n, far),
        "far": np.array(far), "zero": np.array(0, np.float32),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n * n, _warping, (n,))


def _warping(s: Array, t: Array, row0: Array, far: Array, zero: Array) -> Arrays:
    row, diagonal = row0.tolist(), float(zero)
    for a in s.tolist():
        left = float(far)
        for j, b in enumerate(t.tolist()):
            above = row[j]
            left = row[j] = abs(a - b) + min(left, diagonal, above)
            diagonal = above
        diagonal = float(far)
    return [np.array(row, np.float32)]


@benchmark("Viterbi, 64 states", kind="dp", n=4096, small=6)
def viterbi(n: int) -> Instance:
    """The best score of every state after each observation, and where it came from."""
    text = """g (float[T, 64] emitted, float[64, 64] moves, float[64] start)
      => (float[64] scores, int64[T, 64] sources) {
      column = Constant <value = int64[1] {1}> ()
      rows = Constant <value = int64[1] {0}> ()
      scores, sources = Scan <num_scan_inputs = 1, body = b (float[64] v, float[64] e)
        => (float[64] vo, int64[64] source) {
        tall = Unsqueeze (v, column)
        paths = Add (tall, moves)
        best = ReduceMax <keepdims = 0> (paths, rows)
        source = ArgMax <axis = 0, keepdims = 0> (paths)
        vo = Add (best, e)
      }> (start, emitted)
    }"""
    made = random(22)
    feed = {
        "emitted": -made.integers(0, 64, (n, 64)).astype(np.float32),
        "moves": -made.integers(0, 64, (64, 64)).astype(np.float32),
        "start": np.zeros(64, np.float32),
    }
    return Instance(HEAD + text, feed, n, _viterbi, (n,))


def _viterbi(emitted: Array, moves: Array, start: Array) -> Arrays:
    v, sources = start, np.empty(emitted.shape, np.int64)
    for t, e in enumerate(emitted):
        paths = v[:, None] + moves
        sources[t] = paths.argmax(axis=0)
        v = paths.max(axis=0) + e
    return [v, sources]


@benchmark("knapsack of 1,000", kind="dp", n=4096, small=9)
def knapsack(n: int) -> Instance:
    """The best value for every capacity; an item's weight says where the row is cut."""
    text = """g (int64[N] weights, int64[N] values, int64[1001] row0) => (int64[1001] best) {
      axis = Constant <value = int64[1] {0}> ()
      none = Constant <value = int64 {0}> ()
      end = Constant <value = int64[1] {1001}> ()
      best = Scan <num_scan_inputs = 2, body = b (int64[1001] row, int64 weight, int64 value)
        => (int64[1001] next) {
        w = Unsqueeze (weight, axis)
        keep = Sub (end, w)
        short = Slice (row, axis, keep, axis)
        with = Add (short, value)
        ends = Constant <value = int64[1] {0}> ()
        pads = Concat <axis = 0> (w, ends)
        moved = Pad (with, pads, none)
        next = Max (row, moved)
      }> (row0, weights, values)
    }"""
    made = random(23)
    feed = {
        "weights": made.integers(1, 200, n), "values": made.integers(1, 100, n),
        "row0": np.zeros(1001, np.int64),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _knapsack, (n,))


def _knapsack(weights: Array, values: Array, row0: Array) -> Arrays:
    row = row0
    for w, v in zip(weights.tolist(), values.tolist(), strict=True):
        moved = np.concatenate([np.zeros(w, np.int64), row[:-w] + v])
        row = np.maximum(row, moved)
    return [row]
