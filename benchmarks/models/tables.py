"""Tables updated in place, non-maximum suppression, branches, invariants in loops."""

from __future__ import annotations

import numpy as np

from benchmarks.registry import HEAD, Arrays, Instance, benchmark, count, random, scalars, uniform

Array = np.ndarray


@benchmark("one row of a table of 1 MB", kind="row", n=2000, small=6)
def table_rows(n: int) -> Instance:
    """A row of a [4096, 64] state read, changed and written by ScatterND each step."""
    text = """g (int64[T] places, float[T, 64] x, float[4096, 64] table0, float by)
      => (float[4096, 64] table) {
      axis = Constant <value = int64[1] {0}> ()
      table = Scan <num_scan_inputs = 2, body = b (float[4096, 64] t, int64 place, float[64] xt)
        => (float[4096, 64] to) {
        old = Gather <axis = 0> (t, place)
        less = Mul (old, by)
        new = Add (less, xt)
        update = Unsqueeze (new, axis)
        where0 = Unsqueeze (place, axis)
        where1 = Unsqueeze (where0, axis)
        to = ScatterND (t, where1, update)
      }> (table0, places, x)
    }"""
    made = random(27)
    feed = {
        "places": made.integers(0, 4096, n), "x": uniform(made, n, 64),
        "table0": uniform(made, 4096, 64), **scalars(by=0.5),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _table_rows, (n,))


def _table_rows(places: Array, x: Array, table0: Array, by: Array) -> Arrays:
    table = table0.copy()
    for place, row in zip(places, x, strict=True):
        table[place] = table[place] * by + row
    return [table]


@benchmark("histogram by ScatterElements", kind="table", n=20_000, small=30)
def histogram(n: int) -> Instance:
    """One count of 1,024 goes up each step."""
    text = """g (int64[T] places, int64[1024] counts0) => (int64[1024] counts) {
      axis = Constant <value = int64[1] {0}> ()
      one = Constant <value = int64[1] {1}> ()
      counts = Scan <num_scan_inputs = 1, body = b (int64[1024] c, int64 place)
        => (int64[1024] co) {
        where = Unsqueeze (place, axis)
        co = ScatterElements <axis = 0, reduction = "add"> (c, where, one)
      }> (counts0, places)
    }"""
    made = random(28)
    feed = {"places": made.integers(0, 1024, n), "counts0": np.zeros(1024, np.int64)}
    return Instance(HEAD + text, feed, n, _histogram, (n,))


def _histogram(places: Array, counts0: Array) -> Arrays:
    return [counts0 + np.bincount(places, minlength=1024)]


@benchmark("suppression of 1,000 boxes", kind="nms", n=1000, small=20)
def suppression(n: int) -> Instance:
    """Greedy: a box still kept drops every later one that covers it by more than half."""
    text = f"""g (float[{n}, 4] boxes, float[{n}] areas, int64[{n}] order, float most,
      bool[{n}] all_kept) => (bool[{n}] kept) {{
      yes = Constant <value = bool {{1}}> ()
      zero = Constant <value = float {{0.0}}> ()
      x0, y0, x1, y1 = Split <axis = 1, num_outputs = 4> (boxes)
      flat = Constant <value = int64[1] {{-1}}> ()
      left = Reshape (x0, flat)
      top = Reshape (y0, flat)
      right = Reshape (x1, flat)
      bottom = Reshape (y1, flat)
      trips = Size (order)
      kept = Loop (trips, yes, all_kept) <body = step (int64 i, bool go, bool[{n}] keep)
        => (bool gone, bool[{n}] ko) {{
        gone = Identity (go)
        mine = Gather <axis = 0> (keep, i)
        ko = If (mine) <then_branch = drop () => (bool[{n}] still) {{
          li = Gather <axis = 0> (left, i)
          ti = Gather <axis = 0> (top, i)
          ri = Gather <axis = 0> (right, i)
          bi = Gather <axis = 0> (bottom, i)
          ai = Gather <axis = 0> (areas, i)
          l = Max (left, li)
          t = Max (top, ti)
          r = Min (right, ri)
          b = Min (bottom, bi)
          w0 = Sub (r, l)
          h0 = Sub (b, t)
          w = Max (w0, zero)
          h = Max (h0, zero)
          shared = Mul (w, h)
          sum = Add (areas, ai)
          union = Sub (sum, shared)
          limit = Mul (union, most)
          much = Greater (shared, limit)
          later = Greater (order, i)
          out = And (much, later)
          in = Not (out)
          still = And (keep, in)
        }}, else_branch = leave () => (bool[{n}] same) {{
          same = Identity (keep)
        }}>
      }}>
    }}"""
    made = random(29)
    corner, extent = made.uniform(0, 100, (n, 2)), made.uniform(5, 25, (n, 2))
    boxes = np.concatenate([corner, corner + extent], axis=1).astype(np.float32)
    sides = boxes[:, 2:] - boxes[:, :2]
    feed = {
        "boxes": boxes, "areas": sides[:, 0] * sides[:, 1], "order": np.arange(n),
        "most": np.array(0.5, np.float32), "all_kept": np.ones(n, np.bool_),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _suppression, (n,))


def _suppression(boxes: Array, areas: Array, order: Array, most: Array, all_kept: Array) -> Arrays:
    kept = all_kept.copy()
    for i in np.flatnonzero(kept):
        if not kept[i]:
            continue
        low = np.maximum(boxes[:, :2], boxes[i, :2])
        high = np.minimum(boxes[:, 2:], boxes[i, 2:])
        w, h = np.maximum(high - low, 0).T
        shared = w * h
        kept &= ~((shared > (areas + areas[i] - shared) * most) & (order > i))
    return [kept]


@benchmark("a machine of four branches", kind="branch", n=200_000, small=40)
def machine(n: int) -> Instance:
    """Nested Ifs choose what a scalar and a counter become: add, multiply, turn or halve.

    A branch predictor learns the choices of 20,000 iterations by heart if each call gets the same
    data (Zen 4: code with branches takes 31 us, and 94 us with new data in each call).
    """
    text = """g (int64[T] codes, float[T] x, float a0, int64 k0, float half)
      => (float a, int64 k, float[T] seen) {
      one = Constant <value = int64 {1}> ()
      two = Constant <value = int64 {2}> ()
      a, k, seen = Scan <num_scan_inputs = 2, body = step (float a, int64 k, int64 code, float xt)
        => (float ao, int64 ko, float y) {
        low = Less (code, two)
        odd = Equal (code, one)
        ao, ko = If (low) <then_branch = lower () => (float al, int64 kl) {
          al, kl = If (odd) <then_branch = plus () => (float a1, int64 k1) {
            a1 = Add (a, xt)
            k1 = Add (k, one)
          }, else_branch = times () => (float a2, int64 k2) {
            a2 = Mul (a, xt)
            k2 = Identity (k)
          }>
        }, else_branch = upper () => (float au, int64 ku) {
          even = Equal (code, two)
          au, ku = If (even) <then_branch = turn () => (float a3, int64 k3) {
            a3 = Neg (a)
            k3 = Sub (k, one)
          }, else_branch = halve () => (float a4, int64 k4) {
            a4 = Mul (a, half)
            k4 = Add (k, two)
          }>
        }>
        y = Identity (ao)
      }> (a0, k0, codes, x)
    }"""
    made = random(30)
    feed = {
        "codes": made.integers(0, 4, n), "x": uniform(made, n), **scalars(a0=0.5),
        "k0": count(0), **scalars(half=0.5),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _machine, (n,))


def _machine(codes: Array, x: Array, a0: Array, k0: Array, half: Array) -> Arrays:
    a, k, by, seen = a0[()], int(k0), np.float32(half), np.empty_like(x)
    for t, (code, xt) in enumerate(zip(codes.tolist(), x, strict=True)):
        if code < 2:
            a, k = (a + xt, k + 1) if code == 1 else (a * xt, k)
        else:
            a, k = (-a, k - 1) if code == 2 else (a * by, k + 2)
        seen[t] = a
    return [np.array(a, np.float32), np.array(k, np.int64), seen]


@benchmark("invariants recomputed each step", kind="invariant", n=1000, small=5)
def invariant(n: int) -> Instance:
    """The step's matrix is softmax(W W^T / 8), which no step changes."""
    text = """g (int64 n, float[64, 64] W, float[1, 64] x0, float eight) => (float[1, 64] xn) {
      yes = Constant <value = bool {1}> ()
      xn = Loop (n, yes, x0) <body = step (int64 i, bool go, float[1, 64] x)
        => (bool gone, float[1, 64] xo) {
        gone = Identity (go)
        turned = Transpose (W)
        square = MatMul (W, turned)
        less = Div (square, eight)
        matrix = Softmax <axis = -1> (less)
        moved = MatMul (x, matrix)
        both = Add (moved, x0)
        xo = Tanh (both)
      }>
    }"""
    made = random(31)
    feed = {
        "n": count(n), "W": uniform(made, 64, 64), "x0": uniform(made, 1, 64), **scalars(eight=8.0)
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _invariant)


def _invariant(n: Array, W: Array, x0: Array, eight: Array) -> Arrays:
    raised = np.exp(W @ W.T / eight)
    matrix, x = raised / raised.sum(axis=1, keepdims=True), x0
    for _ in range(int(n)):
        x = np.tanh(x @ matrix + x0)
    return [x]
