"""Arrays that the cache does not hold: all iterations for one register tile before the next."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.native import HEAD, check, natives
from treadle import InferenceSession, RunOptions
from treadle.errors import LimitExceeded
from treadle.jit.runtime.invoke import CompiledKernel

SHAPES = [(40_000,), (64, 320), (1, 50, 400), (101, 96), (3, 7008), (7, 6001)]


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float32)


def text(shape: tuple[int, ...], body: str) -> str:
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


def feed(rng: np.random.Generator, shape: tuple[int, ...], trips: int) -> dict[str, np.ndarray]:
    return {"n": np.array(trips), "p": numbers(rng, *shape), "q": numbers(rng, *shape),
            "row": numbers(rng, shape[-1]), "t": np.array(0.25, np.float32),
            "k": numbers(rng, *shape)}  # fmt: skip


def tiled(model: str, given: dict[str, np.ndarray]) -> bool:
    """Whether the loop of a model runs in register tiles."""
    session = InferenceSession(HEAD + model)
    session.run(None, given)
    made = [each for native in natives(session) for each in native.cache.compiled.values()]
    codes = [dict(each.code.counts) for each in made if isinstance(each, CompiledKernel)]
    return any("register_tiled" in counts for counts in codes)


OWN = """
        xy = Mul (x, y)
        xr = Mul (xy, {row})
        f = Cast <to = 1> (i)
        fz = Add (f, z)
        y1 = Sub (xr, k)
        above = Less (x, half)
        other = Div (y1, fz)
        x1 = Where (above, other, x)
"""


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("row", ["row", "k"])
def test_the_answers_are_those_of_the_loop_in_order(
    shape: tuple[int, ...], trips: int, row: str, rng: np.random.Generator
) -> None:
    check(text(shape, OWN.format(row=row)), feed(rng, shape, trips))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("row", ["row", "k"])
def test_rows_of_whole_vectors_may_be_broadcast(
    shape: tuple[int, ...], row: str, rng: np.random.Generator
) -> None:
    is_whole = row == "k" or shape[-1] % 16 == 0
    assert tiled(text(shape, OWN.format(row=row)), feed(rng, shape, 2)) is is_whole


@pytest.mark.parametrize(
    "body",
    [
        "x1 = Identity (y)\n turned = Transpose (x)\n y1 = Add (turned, k)",
        "most = ReduceMax <keepdims = 0> (x)\n x1 = Sub (x, most)\n y1 = Add (x, y)",
        "m = ReduceMean <keepdims = 1> (x, ax)\n x1 = Sub (x, m)\n y1 = Add (x, y)",
    ],
)
def test_loops_that_read_other_elements_run_in_order(body: str, rng: np.random.Generator) -> None:
    shape = (120, 120)
    known = text(shape, body).replace("half =", "ax = Constant <value = int64[1] {0}> ()\n half =")
    check(known, feed(rng, shape, 3))
    assert not tiled(known, feed(rng, shape, 3))


def test_a_loop_with_a_condition_runs_in_order(rng: np.random.Generator) -> None:
    shape = (120, 120)
    model = text(shape, OWN.format(row="k")).replace("on = Identity (go)", "on = Less (z, most)")
    model = model.replace("half =", "most = Constant <value = float {0.9}> ()\n half =")
    check(model, feed(rng, shape, 5))
    assert not tiled(model, feed(rng, shape, 5))


def test_states_that_fit_the_cache_run_in_nests(rng: np.random.Generator) -> None:
    model = text((512,), OWN.format(row="k"))
    check(model, feed(rng, (512,), 3))
    assert not tiled(model, feed(rng, (512,), 3))


def test_a_time_limit_stops_a_tiled_loop(rng: np.random.Generator) -> None:
    shape = (40_000,)
    model = text(shape, OWN.format(row="k"))
    session = InferenceSession(HEAD + model, engines=("jit", "interp"))
    options = RunOptions()
    options.max_seconds = 0.2
    with pytest.raises(LimitExceeded):
        session.run(None, feed(rng, shape, 10**8), options)
