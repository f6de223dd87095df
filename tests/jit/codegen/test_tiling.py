"""Tiled loops: large states are computed a tile at a time, for all iterations."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.native import check
from treadle import InferenceSession, RunOptions
from treadle.errors import LimitExceeded
from treadle.jit import codegen

SHAPES = [(40_000,), (64, 300), (1, 50, 400), (101, 97), (3, 7001)]


def numbers(rng: np.random.Generator, *shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def windows(monkeypatch):
    """The windows that loops were emitted with, from now on."""
    found = []
    made = codegen.loops.tiling.Tile

    def window(*fields):
        found.append(fields)
        return made(*fields)

    monkeypatch.setattr(codegen.loops.tiling, "Tile", window)
    return found


def text(shape, body, extra=""):
    """A loop with two states of the shape, a number that grows and a row that is broadcast."""
    s = ",".join(map(str, shape))
    return f"""g (int64 n, float[{s}] p, float[{s}] q, float[{shape[-1]}] row, float t,
        float[{s}] k)
      => (float[{s}] a, float[{s}] b, float u) {{
      half = Constant <value = float {{0.5}}> ()
      a, b, u = Loop (n, , p, q, t) <body = f (int64 i, bool go, float[{s}] x, float[{s}] y,
        float z) => (bool on, float[{s}] x1, float[{s}] y1, float z1) {{
        on = Identity (go)
        z1 = Add (z, half)
        {body}
      }}>
    }}"""


def feed(rng, shape, trips):
    return {"n": np.array(trips), "p": numbers(rng, *shape), "q": numbers(rng, *shape),
            "row": numbers(rng, shape[-1]), "t": np.float32(0.25),
            "k": numbers(rng, *shape)}  # fmt: skip


OWN = """
        xy = Mul (x, y)
        xr = Mul (xy, row)
        f = Cast <to = 1> (i)
        fz = Add (f, z)
        y1 = Sub (xr, k)
        above = Less (x, half)
        other = Div (y1, fz)
        x1 = Where (above, other, x)
"""


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("shape", SHAPES)
def test_elementwise_loops_are_tiled(shape, trips, monkeypatch, rng):
    found = windows(monkeypatch)
    check(text(shape, OWN), feed(rng, shape, trips))
    assert found


@pytest.mark.parametrize(
    "body",
    [
        "x1 = Identity (y)\n y1 = Identity (x)",
        "turned = Transpose (x)\n x1 = Add (turned, k)\n y1 = Add (x, y)",
        "most = ReduceMax <keepdims = 0> (x)\n x1 = Sub (x, most)\n y1 = Add (x, y)",
        "m = ReduceMean <keepdims = 1> (x, ax)\n x1 = Sub (x, m)\n y1 = Add (x, y)",
    ],
)
def test_loops_that_read_other_elements_are_not_tiled(body, monkeypatch, rng):
    found, shape = windows(monkeypatch), (120, 120)
    known = text(shape, body).replace("half =", "ax = Constant <value = int64[1] {0}> ()\n half =")
    check(known, feed(rng, shape, 3))
    assert not found


def test_a_loop_with_a_condition_is_not_tiled(monkeypatch, rng):
    found, shape = windows(monkeypatch), (120, 120)
    check(text(shape, OWN).replace("on = Identity (go)", "on = Less (z, row0)").replace(
        "half =", "row0 = Constant <value = float {0.9}> ()\n half ="),
        feed(rng, shape, 5))  # fmt: skip
    assert not found


def test_states_that_fit_the_cache_are_not_tiled(monkeypatch, rng):
    found = windows(monkeypatch)
    check(text((64,), OWN), feed(rng, (64,), 3))
    assert not found


def test_a_time_limit_stops_a_tiled_loop(rng: np.random.Generator):
    shape = (40_000,)
    head = '<ir_version: 10, opset_import: ["" : 18]>\n'
    session = InferenceSession(head + text(shape, OWN), engines=("jit", "interp"))
    options = RunOptions()
    options.max_seconds = 0.2
    with pytest.raises(LimitExceeded):
        session.run(None, feed(rng, shape, 10**8), options)
