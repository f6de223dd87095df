"""Images iterated and equations of motion stepped."""

from __future__ import annotations

import numpy as np

from benchmarks.registry import HEAD, Arrays, Instance, benchmark, count, random, scalars, uniform

Array = np.ndarray


@benchmark("Mandelbrot, 512 x 512", kind="image", n=50, small=4, outliers=0.002)
def mandelbrot(n: int) -> Instance:
    """How many steps every point stays inside; rounding tells at the edge of the set."""
    field = "float[512, 512]"
    text = f"""g (int64 n, {field} cr, {field} ci, {field} zero) => ({field} counts) {{
      yes = Constant <value = bool {{1}}> ()
      four = Constant <value = float {{4.0}}> ()
      two = Constant <value = float {{2.0}}> ()
      zr, zi, counts = Loop (n, yes, zero, zero, zero) <body = step (int64 k, bool go, {field} r,
        {field} i, {field} m) => (bool gone, {field} ro, {field} io, {field} mo) {{
        gone = Identity (go)
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
    axis = np.linspace(-2, 2, 512, dtype=np.float32)
    real, imaginary = np.meshgrid(axis, axis)
    feed = {"n": count(n), "cr": real, "ci": imaginary, "zero": np.zeros_like(real)}
    return Instance(HEAD + text, feed, n, _mandelbrot, (512 * 512,))


def _mandelbrot(n: Array, cr: Array, ci: Array, zero: Array) -> Arrays:
    r, i, m = zero, zero, zero
    for _ in range(int(n)):
        inside = r * r + i * i <= 4
        r, i = np.where(inside, r * r - i * i + cr, r), np.where(inside, 2 * (r * i) + ci, i)
        m = m + inside
    return [m.astype(np.float32)]


@benchmark("heat, 256 x 256", kind="image", n=200, small=4)
def heat(n: int) -> Instance:
    """Every inner point moves to the mean of its four neighbours; the border stays."""
    slices = "\n        ".join(
        f"{name} = Slice (u, {first}, {last}, axes)"
        for name, first, last in (
            ("north", "ol", "nm"), ("south", "tl", "um"), ("west", "lo", "mn"),
            ("east", "lt", "mu"), ("middle", "oo", "mm"),
        )
    )  # fmt: skip
    corners = {
        "ol": (0, 1), "nm": (-2, -1), "tl": (2, 1), "um": (256, -1), "lo": (1, 0), "mn": (-1, -2),
        "lt": (1, 2), "mu": (-1, 256), "oo": (1, 1), "mm": (-1, -1), "axes": (0, 1),
    }  # fmt: skip
    constants = "\n      ".join(
        f"{name} = Constant <value = int64[2] {{{a}, {b}}}> ()" for name, (a, b) in corners.items()
    )
    text = f"""g (int64 n, float[256, 256] u0, float rate) => (float[256, 256] un) {{
      yes = Constant <value = bool {{1}}> ()
      four = Constant <value = float {{4.0}}> ()
      ring = Constant <value = int64[4] {{1, 1, 1, 1}}> ()
      {constants}
      un = Loop (n, yes, u0) <body = step (int64 i, bool go, float[256, 256] u)
        => (bool gone, float[256, 256] uo) {{
        gone = Identity (go)
        {slices}
        vertical = Add (north, south)
        level = Add (west, east)
        around = Add (vertical, level)
        weight = Mul (four, middle)
        curved = Sub (around, weight)
        change = Mul (rate, curved)
        whole = Pad (change, ring)
        uo = Add (u, whole)
      }}>
    }}"""
    feed = {"n": count(n), "u0": uniform(random(32), 256, 256), **scalars(rate=0.2)}
    return Instance(HEAD + text, feed, n, _heat, (256,))


def _heat(n: Array, u0: Array, rate: Array) -> Arrays:
    u = u0.copy()
    for _ in range(int(n)):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + (u[1:-1, :-2] + u[1:-1, 2:])
        u[1:-1, 1:-1] += rate * (around - np.float32(4) * u[1:-1, 1:-1])
    return [u]


@benchmark("Lorenz by Runge-Kutta", kind="ode", n=10_000, small=30, tolerance=(2e-3, 2e-3))
def lorenz(n: int) -> Instance:
    """Three scalars, five units of time: the attractor spreads rounding some hundredfold."""
    lines: list[str] = []
    _slope(lines, "1", "x", "y", "z")
    for stage, step in (("2", "half"), ("3", "half"), ("4", "dt")):
        before = str(int(stage) - 1)
        for v in "xyz":
            lines.append(f"s{v}{stage} = Mul ({step}, d{v}{before})")
            lines.append(f"a{v}{stage} = Add ({v}, s{v}{stage})")
        _slope(lines, stage, f"ax{stage}", f"ay{stage}", f"az{stage}")
    for v in "xyz":
        lines += [
            f"m{v} = Add (d{v}2, d{v}3)", f"n{v} = Add (m{v}, m{v})",
            f"e{v} = Add (d{v}1, d{v}4)", f"t{v} = Add (e{v}, n{v})",
            f"f{v} = Mul (sixth, t{v})", f"{v}o = Add ({v}, f{v})", f"{v}s = Identity ({v}o)",
        ]  # fmt: skip
    steps = "\n        ".join(lines)
    text = f"""g (int64 n, float x0, float y0, float z0, float sigma, float rho, float beta,
      float dt, float half, float sixth)
      => (float xn, float yn, float zn, float[N] xs, float[N] ys, float[N] zs) {{
      yes = Constant <value = bool {{1}}> ()
      xn, yn, zn, xs, ys, zs = Loop (n, yes, x0, y0, z0) <body = b (int64 i, bool go, float x,
        float y, float z) => (bool gone, float xo, float yo, float zo, float xs, float ys, float zs)
      {{
        gone = Identity (go)
        {steps}
      }}>
    }}"""
    dt = 5 / max(n, 500)
    numbers = {
        "x0": 1, "y0": 1, "z0": 1, "sigma": 10, "rho": 28, "beta": 8 / 3, "dt": dt,
        "half": dt / 2, "sixth": dt / 6,
    }  # fmt: skip
    return Instance(HEAD + text, {"n": count(n), **scalars(**numbers)}, n, _lorenz)


def _slope(lines: list[str], stage: str, x: str, y: str, z: str) -> None:
    lines += [
        f"u{stage} = Sub ({y}, {x})", f"dx{stage} = Mul (sigma, u{stage})",
        f"v{stage} = Sub (rho, {z})", f"w{stage} = Mul ({x}, v{stage})",
        f"dy{stage} = Sub (w{stage}, {y})", f"p{stage} = Mul ({x}, {y})",
        f"q{stage} = Mul (beta, {z})", f"dz{stage} = Sub (p{stage}, q{stage})",
    ]  # fmt: skip


def _lorenz(n: Array, **numbers: Array) -> Arrays:
    values = {name: float(number) for name, number in numbers.items()}
    sigma, rho, beta, dt = (values[name] for name in ("sigma", "rho", "beta", "dt"))
    state, path = np.array([values[name] for name in ("x0", "y0", "z0")]), np.empty((3, int(n)))

    def slope(s: Array) -> Array:
        x, y, z = s
        return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])

    for t in range(int(n)):
        a = slope(state)
        b = slope(state + values["half"] * a)
        c = slope(state + values["half"] * b)
        d = slope(state + dt * c)
        state = path[:, t] = state + values["sixth"] * (a + 2 * (b + c) + d)
    return [v.astype(np.float32) for v in (*state, *path)]
