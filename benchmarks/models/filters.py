"""Filters over samples, and over states with measurements."""

from __future__ import annotations

import numpy as np

from benchmarks.registry import HEAD, Arrays, Instance, benchmark, random, scalars, uniform

Array = np.ndarray
SECTIONS = 4


@benchmark("cascade of 4 biquads", kind="filter", n=20_000, small=40)
def biquad(n: int) -> Instance:
    """Four sections of second order one after the other, two scalar states each."""
    states = [f"{s}{k}" for k in range(SECTIONS) for s in "pq"]
    lines, previous = [], "xt"
    for k in range(SECTIONS):
        lines.append(f"""
        f{k} = Mul (b0, {previous})
        v{k} = Add (f{k}, p{k})
        g{k} = Mul (b1, {previous})
        m{k} = Mul (a1, v{k})
        d{k} = Sub (g{k}, m{k})
        po{k} = Add (d{k}, q{k})
        h{k} = Mul (b2, {previous})
        c{k} = Mul (a2, v{k})
        qo{k} = Sub (h{k}, c{k})""")
        previous = f"v{k}"
    carried = ", ".join(f"float {s}" for s in states)
    results = ", ".join(f"float {s[0]}o{s[1]}" for s in states)
    text = f"""g (float[T] x, float b0, float b1, float b2, float a1, float a2, float z)
      => (float[T] ys) {{
      {", ".join(f"{s}_last" for s in states)}, ys = Scan <num_scan_inputs = 1,
        body = b ({carried}, float xt) => ({results}, float y) {{{"".join(lines)}
        y = Identity ({previous})
      }}> ({", ".join("z" for _ in states)}, x)
    }}"""
    feed = {
        "x": uniform(random(12), n),
        **scalars(b0=0.2, b1=0.4, b2=0.2, a1=-0.3, a2=0.1, z=0.0),
    }
    return Instance(HEAD + text, feed, n, _biquad, (n,))


def _biquad(x: Array, b0: Array, b1: Array, b2: Array, a1: Array, a2: Array, z: Array) -> Arrays:
    c0, c1, c2, d1, d2 = (float(v) for v in (b0, b1, b2, a1, a2))
    ys = x.astype(np.float64)
    for _ in range(SECTIONS):
        p = q = float(z)
        for t, v in enumerate(ys.tolist()):
            y = c0 * v + p
            p, q = c1 * v - d1 * y + q, c2 * v - d2 * y
            ys[t] = y
    return [ys.astype(np.float32)]


@benchmark("exponential moving average", kind="filter", n=100_000, small=40)
def average(n: int) -> Instance:
    """m += a (x - m), and the same of the squared distance."""
    text = """g (float[T] x, float a, float m0, float s0) => (float[T] ms, float[T] ss) {
      mn, sn, ms, ss = Scan <num_scan_inputs = 1, body = b (float m, float s, float xt)
        => (float mo, float so, float my, float sy) {
        d = Sub (xt, m)
        ad = Mul (a, d)
        mo = Add (m, ad)
        dd = Mul (d, d)
        e = Sub (dd, s)
        ae = Mul (a, e)
        so = Add (s, ae)
        my = Identity (mo)
        sy = Identity (so)
      }> (m0, s0, x)
    }"""
    feed = {"x": uniform(random(13), n), **scalars(a=0.05, m0=0.0, s0=0.0)}
    return Instance(HEAD + text, feed, n, _average, (n,))


def _average(x: Array, a: Array, m0: Array, s0: Array) -> Arrays:
    by, m, s, ms, ss = float(a), float(m0), float(s0), np.empty_like(x), np.empty_like(x)
    for t, v in enumerate(x.tolist()):
        d = v - m
        m += by * d
        s += by * (d * d - s)
        ms[t], ss[t] = m, s
    return [ms, ss]


@benchmark("FIR filter of 16 taps", kind="filter", n=50_000, small=40)
def fir(n: int) -> Instance:
    """The last sixteen samples as the state, moved on by Slice and Concat."""
    text = """g (float[T] x, float[16] taps, float[16] none) => (float[T] ys) {
      first = Constant <value = int64[1] {1}> ()
      end = Constant <value = int64[1] {16}> ()
      axis = Constant <value = int64[1] {0}> ()
      last, ys = Scan <num_scan_inputs = 1, body = b (float[16] line, float xt)
        => (float[16] moved, float y) {
        kept = Slice (line, first, end, axis)
        new = Unsqueeze (xt, axis)
        moved = Concat <axis = 0> (kept, new)
        products = Mul (moved, taps)
        y = ReduceSum <keepdims = 0> (products)
      }> (none, x)
    }"""
    made = random(14)
    feed = {
        "x": uniform(made, n), "taps": uniform(made, 16, scale=0.3),
        "none": np.zeros(16, np.float32),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _fir, (n,))


def _fir(x: Array, taps: Array, none: Array) -> Arrays:
    padded = np.concatenate([none[1:], x])
    return [np.lib.stride_tricks.sliding_window_view(padded, 16) @ taps]


@benchmark("Kalman filter, 4 states", kind="kalman", n=5000, small=20)
def kalman(n: int) -> Instance:
    """Four states and one measurement a step."""
    text = """g (float[T, 1, 1] z, float[4, 4] F, float[4, 4] Q, float[1, 4] H, float[1, 1] R,
      float[4, 1] x0, float[4, 4] P0, float[4, 4] eye)
      => (float[4, 1] xn, float[4, 4] Pn, float[T, 4, 1] xs) {
      xn, Pn, xs = Scan <num_scan_inputs = 1, body = b (float[4, 1] x, float[4, 4] P,
        float[1, 1] zt) => (float[4, 1] xo, float[4, 4] Po, float[4, 1] y) {
        xp = MatMul (F, x)
        FP = MatMul (F, P)
        Ft = Transpose (F)
        FPF = MatMul (FP, Ft)
        Pp = Add (FPF, Q)
        hx = MatMul (H, xp)
        r = Sub (zt, hx)
        Ht = Transpose (H)
        PH = MatMul (Pp, Ht)
        HPH = MatMul (H, PH)
        S = Add (HPH, R)
        K = Div (PH, S)
        Kr = Mul (K, r)
        xo = Add (xp, Kr)
        KH = MatMul (K, H)
        IKH = Sub (eye, KH)
        Po = MatMul (IKH, Pp)
        y = Identity (xo)
      }> (x0, P0, z)
    }"""
    made, eye = random(15), np.eye(4, dtype=np.float32)
    move = eye * np.float32(0.98) + np.eye(4, k=1, dtype=np.float32) * np.float32(0.1)
    feed = {
        "z": uniform(made, n, 1, 1), "F": move, "Q": eye * np.float32(0.01),
        "H": np.array([[1, 0, 0.5, 0]], np.float32), "R": np.array([[0.5]], np.float32),
        "x0": uniform(made, 4, 1), "P0": eye, "eye": eye,
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _kalman, (n,))


def _kalman(
    z: Array, F: Array, Q: Array, H: Array, R: Array, x0: Array, P0: Array, eye: Array
) -> Arrays:
    x, P, xs = x0, P0, []
    for measured in z:
        x, P = F @ x, F @ P @ F.T + Q
        K = P @ H.T / (H @ P @ H.T + R)
        x, P = x + K * (measured - H @ x), (eye - K @ H) @ P
        xs.append(x)
    return [x, P, np.stack(xs)]
