"""Loops and scans of many kinds, as text, each with a feed: what the native engine is for.

    PYTHONPATH=src python -m benchmarks.loops [name ...]

Answers are checked against interp on a short run; calls of onnxruntime and of the native engine
are interleaved, and the shortest of each are printed with the ratio.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx.parser
import onnxruntime

import treadle
from tests.values import differences

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
RANDOM = np.random.default_rng(7)


def uniform(*shape: int, scale: float = 1.0) -> np.ndarray:
    """Numbers from -scale to scale."""
    return RANDOM.uniform(-scale, scale, shape).astype(np.float32)


@dataclass(frozen=True)
class Model:
    """A model as text, its feed, and how many iterations one run has."""

    name: str
    text: str
    feed: Mapping[str, np.ndarray]
    iterations: int


def logistic(n: int = 100_000) -> Model:
    """A scalar recurrence with a stacked result."""
    text = """g (int64 n, float r, float x0) => (float xn, float[N] ys) {
      cond = Constant <value = bool {1}> ()
      xn, ys = Loop (n, cond, x0) <body = b (int64 i, bool c, float x) => (bool co, float xo,
        float y) {
        co = Identity (c)
        one = Constant <value = float {1.0}> ()
        d = Sub (one, x)
        rx = Mul (r, x)
        xo = Mul (rx, d)
        y = Identity (xo)
      }>
    }"""
    feed = {"n": np.int64(n), "r": np.float32(3.7), "x0": np.float32(0.4)}
    return Model("logistic map", HEAD + text, feed, n)


def lstm(size: int = 64, n: int = 512) -> Model:
    """An LSTM cell as a Scan, batch 1."""
    text = f"""g (float[T, 1, {size}] x, float[{size}, {4 * size}] W, float[{size}, {4 * size}] R,
        float[{4 * size}] B, float[1, {size}] h0, float[1, {size}] c0) => (float[1, {size}] hn,
          float[T, 1, {size}] ys) {{
      hn, cn, ys = Scan <num_scan_inputs = 1, body = b (float[1, {size}] h, float[1, {size}] c,
        float[1, {size}] xt)
        => (float[1, {size}] ho, float[1, {size}] co, float[1, {size}] y) {{
        a = MatMul (xt, W)
        d = MatMul (h, R)
        s = Add (a, d)
        g = Add (s, B)
        i, o, f, z = Split <axis = 1> (g)
        si = Sigmoid (i)
        so = Sigmoid (o)
        sf = Sigmoid (f)
        tz = Tanh (z)
        fc = Mul (sf, c)
        iz = Mul (si, tz)
        co = Add (fc, iz)
        tc = Tanh (co)
        ho = Mul (so, tc)
        y = Identity (ho)
      }}> (h0, c0, x)
    }}"""
    feed = {
        "x": uniform(n, 1, size), "W": uniform(size, 4 * size, scale=0.2),
        "R": uniform(size, 4 * size, scale=0.2), "B": uniform(4 * size),
        "h0": uniform(1, size), "c0": uniform(1, size),
    }  # fmt: skip
    return Model(f"LSTM {size}", HEAD + text, feed, n)


def selective(channels: int = 256, states: int = 16, n: int = 256) -> Model:
    """A selective state-space scan."""
    text = f"""g (float[T, {channels}] x, float[T, {channels}] dt, float[T, {states}] B, float[T,
      {states}] C,
        float[{channels}, {states}] A, float[{channels}, {states}] h0) => (float[{channels},
          {states}] hn, float[T, {channels}] ys) {{
      last = Constant <value = int64[1] {{-1}}> ()
      hn, ys = Scan <num_scan_inputs = 4, body = b (float[{channels}, {states}] h,
        float[{channels}] xt, float[{channels}] d,
          float[{states}] bt, float[{states}] ct) => (float[{channels}, {states}] ho,
            float[{channels}] y) {{
        dc = Unsqueeze (d, last)
        da = Mul (dc, A)
        e = Exp (da)
        eh = Mul (e, h)
        dx = Mul (d, xt)
        dxc = Unsqueeze (dx, last)
        dbx = Mul (dxc, bt)
        ho = Add (eh, dbx)
        hc = Mul (ho, ct)
        y = ReduceSum <keepdims = 0> (hc, last)
      }}> (h0, x, dt, B, C)
    }}"""
    feed = {
        "x": uniform(n, channels), "dt": np.abs(uniform(n, channels)) * 0.1,
        "B": uniform(n, states), "C": uniform(n, states),
        "A": -np.abs(uniform(channels, states)), "h0": uniform(channels, states),
    }  # fmt: skip
    return Model("selective scan", HEAD + text, feed, n)


def biquad(n: int = 20_000) -> Model:
    """A filter of second order: scalar states."""
    text = """g (float[T] x, float b0, float b1, float b2, float a1, float a2, float z)
      => (float[T] ys) {
      p, q, ys = Scan <num_scan_inputs = 1, body = b (float s1, float s2, float xt) => (float t1,
        float t2, float y) {
        bx = Mul (b0, xt)
        y0 = Add (bx, s1)
        y = Identity (y0)
        b1x = Mul (b1, xt)
        a1y = Mul (a1, y0)
        d1 = Sub (b1x, a1y)
        t1 = Add (d1, s2)
        b2x = Mul (b2, xt)
        a2y = Mul (a2, y0)
        t2 = Sub (b2x, a2y)
      }> (z, z, x)
    }"""
    numbers = {"b0": 0.2, "b1": 0.4, "b2": 0.2, "a1": -0.3, "a2": 0.1, "z": 0.0}
    feed = {"x": uniform(n), **{name: np.float32(value) for name, value in numbers.items()}}
    return Model("biquad", HEAD + text, feed, n)


def levenshtein(n: int = 200) -> Model:
    """Edit distance: a Scan over rows, in it a Scan over columns."""
    text = """g (int64[N] s, int64[M] t, int64[M] row0, int64 zero) => (int64[M] last) {
      last, corner = Scan <num_scan_inputs = 1, body = outer (int64[M] row, int64 k, int64 a)
        => (int64[M] next, int64 ko) {
        one = Constant <value = int64 {1}> ()
        ko = Add (k, one)
        le, di, next = Scan <num_scan_inputs = 2, body = inner (int64 left, int64 diagonal,
          int64 above, int64 c)
            => (int64 lo, int64 do, int64 cell) {
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
    feed = {
        "s": RANDOM.integers(0, 4, n), "t": RANDOM.integers(0, 4, n),
        "row0": np.arange(1, n + 1), "zero": np.int64(0),
    }  # fmt: skip
    return Model("Levenshtein", HEAD + text, feed, n * n)


def kalman(n: int = 2000) -> Model:
    """A filter of four states and one measurement."""
    text = """g (float[T, 1, 1] z, float[4, 4] F, float[4, 4] Q, float[1, 4] H, float[1, 1] R,
      float[4, 1] x0, float[4, 4] P0, float[4, 4] I)
        => (float[4, 1] xn, float[4, 4] Pn, float[T, 4, 1] xs) {
      xn, Pn, xs = Scan <num_scan_inputs = 1, body = b (float[4, 1] x, float[4, 4] P, float[1,
        1] zt) => (float[4, 1] xo, float[4, 4] Po, float[4, 1] y) {
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
        IKH = Sub (I, KH)
        Po = MatMul (IKH, Pp)
        y = Identity (xo)
      }> (x0, P0, z)
    }"""
    eye = np.eye(4, dtype=np.float32)
    feed = {
        "z": uniform(n, 1, 1), "F": eye + uniform(4, 4, scale=0.02), "Q": eye * np.float32(0.01),
        "H": np.array([[1, 0, 0.5, 0]], np.float32), "R": np.array([[0.5]], np.float32),
        "x0": uniform(4, 1), "P0": eye, "I": eye,
    }  # fmt: skip
    return Model("Kalman 4", HEAD + text, feed, n)


def mandelbrot(size: int = 512, n: int = 50) -> Model:
    """An image iterated: three states of one shape."""
    text = f"""g (int64 n, float[{size}, {size}] cr, float[{size}, {size}] ci, float[{size},
      {size}] zero) => (float[{size}, {size}] count) {{
      cond = Constant <value = bool {{1}}> ()
      zr, zi, count = Loop (n, cond, zero, zero, zero) <body = b (int64 k, bool c, float[{size},
        {size}] r, float[{size}, {size}] i, float[{size}, {size}] m)
        => (bool co, float[{size}, {size}] ro, float[{size}, {size}] io, float[{size},
          {size}] mo) {{
        co = Identity (c)
        four = Constant <value = float {{4.0}}> ()
        two = Constant <value = float {{2.0}}> ()
        rr = Mul (r, r)
        ii = Mul (i, i)
        a = Add (rr, ii)
        inside = LessOrEqual (a, four)
        ri = Mul (r, i)
        ri2 = Mul (two, ri)
        in = Add (ri2, ci)
        d = Sub (rr, ii)
        rn = Add (d, cr)
        ro = Where (inside, rn, r)
        io = Where (inside, in, i)
        f = Cast <to = 1> (inside)
        mo = Add (m, f)
      }}>
    }}"""
    axis = np.linspace(-2, 2, size, dtype=np.float32)
    real, imaginary = np.meshgrid(axis, axis)
    feed = {"n": np.int64(n), "cr": real, "ci": imaginary, "zero": np.zeros_like(real)}
    return Model(f"Mandelbrot {size}", HEAD + text, feed, n)


def lorenz(n: int = 5000) -> Model:
    """An ODE by Runge-Kutta: three scalars."""
    lines: list[str] = []

    def derive(stage: str, x: str, y: str, z: str) -> None:
        lines.extend(
            f"{name}{stage} = {op} ({a}, {b})"
            for name, op, a, b in (
                ("u", "Sub", y, x), ("dx", "Mul", "sigma", f"u{stage}"),
                ("v", "Sub", "rho", z), ("w", "Mul", x, f"v{stage}"), ("dy", "Sub", f"w{stage}", y),
                ("p", "Mul", x, y), ("q", "Mul", "beta", z), ("dz", "Sub", f"p{stage}",
                  f"q{stage}"),
            )
        )  # fmt: skip

    derive("1", "x", "y", "z")
    for stage, step in (("2", "half"), ("3", "half"), ("4", "dt")):
        before = str(int(stage) - 1)
        for v in "xyz":
            lines.append(f"s{v}{stage} = Mul ({step}, d{v}{before})")
            lines.append(f"a{v}{stage} = Add ({v}, s{v}{stage})")
        derive(stage, f"ax{stage}", f"ay{stage}", f"az{stage}")
    for v in "xyz":
        lines += [
            f"m{v} = Add (d{v}2, d{v}3)", f"m2{v} = Add (m{v}, m{v})",
            f"e{v} = Add (d{v}1, d{v}4)", f"t{v} = Add (e{v}, m2{v})",
            f"st{v} = Mul (sixth, t{v})", f"{v}o = Add ({v}, st{v})", f"{v}s = Identity ({v}o)",
        ]  # fmt: skip
    text = (
        """g (int64 n, float x0, float y0, float z0, float sigma, float rho, float beta,
          float dt, float half, float sixth)
        => (float xn, float yn, float zn, float[N] xs, float[N] ys, float[N] zs) {
      cond = Constant <value = bool {1}> ()
      xn, yn, zn, xs, ys, zs = Loop (n, cond, x0, y0, z0) <body = b (int64 i, bool c, float x,
        float y, float z)
        => (bool co, float xo, float yo, float zo, float xs, float ys, float zs) {
        co = Identity (c)\n"""
        + "\n".join(lines)
        + "\n}>\n}"
    )
    numbers = {
        "x0": 1, "y0": 1, "z0": 1, "sigma": 10, "rho": 28, "beta": 8 / 3,
        "dt": 0.01, "half": 0.005, "sixth": 0.01 / 6,
    }  # fmt: skip
    feed = {"n": np.int64(n), **{name: np.float32(value) for name, value in numbers.items()}}
    return Model("RK4 Lorenz", HEAD + text, feed, n)


MODELS = (logistic, lstm, selective, biquad, levenshtein, kalman, mandelbrot, lorenz)
SMALL = {logistic: 100, lorenz: 50, biquad: 100, kalman: 50, levenshtein: 20}


def measure(model: Model) -> tuple[float, float]:
    """Shortest times in seconds of one call: onnxruntime, the native engine."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    data = onnx.parser.parse_model(model.text).SerializeToString()
    theirs = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    ours = treadle.InferenceSession(model.text, engines=("jit", "onnxruntime", "interp"))
    feed = {name: np.asarray(value) for name, value in model.feed.items()}
    calls = (lambda: theirs.run(None, feed), lambda: ours.run(None, feed))
    times: tuple[list[float], list[float]] = ([], [])
    for call in calls:
        call()
    end = time.perf_counter() + 1.0
    while len(times[0]) < 5 or time.perf_counter() < end:
        for call, taken in zip(calls, times, strict=True):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
    return min(times[0]), min(times[1])


def wrong(model: Model) -> list[str]:
    """How the native engine's answers differ from interp's."""
    wanted, found = (
        treadle.InferenceSession(model.text, engines=engines).run(None, model.feed)
        for engines in (("interp",), ("jit", "interp"))
    )
    return [
        line for k, (f, w) in enumerate(zip(found, wanted, strict=True))
        for line in differences(f, w, f"output {k}")
    ]  # fmt: skip


def main(names: list[str]) -> int:
    """Check and measure the models, or those whose name has one of these words."""
    bad = 0
    for make in MODELS:
        model = make()
        if names and not any(name.lower() in model.name.lower() for name in names):
            continue
        small = make(n=SMALL.get(make, 10))  # type: ignore[operator]
        faults = wrong(small)
        bad += bool(faults)
        theirs, ours = measure(model)
        per = [f"{seconds / model.iterations * 1e6:10.4f} us" for seconds in (theirs, ours)]
        sys.stdout.write(f"{model.name:16} {' '.join(per)} {theirs / ours:9.1f} x  {faults[:1]}\n")
        sys.stdout.flush()
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
