"""Inputs of 64 bits are expected to be small: arrays and grids are computed in 32 bits then."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, outcomes, refused_nothing
from tests.values import assert_same
from treadle.ir import DType
from treadle.jit.kernel.ir import Loop, op_of
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.schedule.algebra.integers import assumed_ranges

GRID = """g (int64[N] s, int64[70] t, int64[70] row0, int64 gap, int64 zero) => (int64[70] last) {
  last, k = Scan <num_scan_inputs = 1, body = outer (int64[70] row, int64 k, int64 a)
    => (int64[70] next, int64 ko) {
    ko = Add (k, gap)
    le, di, next = Scan <num_scan_inputs = 2, body = inner (int64 left, int64 diagonal,
      int64 above, int64 c) => (int64 lo, int64 do, int64 cell) {
      same = Equal (a, c)
      up = Add (above, gap)
      across = Add (left, gap)
      skip = Where (same, zero, gap)
      change = Add (diagonal, skip)
      least = Min (up, across)
      cell = Min (least, change)
      lo = Identity (cell)
      do = Identity (above)
    }> (ko, k, row, t)
  }> (row0, zero, s)
}"""
ARRAYS = """g (int64 n, int64[300] x, int64[300] y) => (int64[300] z) {
  yes = Constant <value = bool {1}> ()
  z = Loop (n, yes, x) <body = b (int64 i, bool on, int64[300] v) => (bool go, int64[300] w) {
    go = Identity (on)
    one = Constant <value = int64 {1}> ()
    more = Add (v, one)
    less = Min (more, y)
    w = Max (less, v)
  }>
}"""
FAR, MOST = 2**40, np.iinfo(np.int64).max


def grid_feed(rng: np.random.Generator, rows: int = 30) -> dict[str, np.ndarray]:
    """An edit distance."""
    return {
        "s": rng.integers(0, 4, rows), "t": rng.integers(0, 4, 70), "row0": np.arange(1, 71),
        "gap": np.array(1), "zero": np.array(0),
    }  # fmt: skip


def kernels(text: str, *feeds: Mapping[str, np.ndarray]) -> list[CompiledKernel]:
    """What is compiled for these runs, whose answers are those of interp."""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    names = [output.name for output in session.get_outputs()]
    for feed in feeds:
        with refused_nothing():
            found = session.run(None, dict(feed))
        assert_same(found, interp.run(None, dict(feed)), names)
    return [made for made in outcomes(session) if isinstance(made, CompiledKernel)]


@pytest.mark.parametrize("rows", [1, 8, 30])
def test_the_cells_of_a_grid_have_32_bits(rows: int, rng: np.random.Generator) -> None:
    (made,) = kernels(GRID, grid_feed(rng, rows))
    assert made.kernel.assumes
    assert made.kernel.narrowed > 10


@pytest.mark.parametrize("trips", [0, 5, 2000])
def test_arrays_have_32_bits(trips: int, rng: np.random.Generator) -> None:
    """The trip count is no number that is expected to be small."""
    x, y = (rng.integers(-(10**9), 10**9, 300) for _ in range(2))
    (made,) = kernels(ARRAYS, {"n": np.array(trips), "x": x, "y": y})
    assert made.kernel.assumes
    assert made.kernel.narrowed


@pytest.mark.parametrize(
    ("name", "value"),
    [("row0", FAR), ("row0", -MOST - 1), ("row0", 2**30), ("row0", -(2**30)), ("t", MOST),
     ("s", -FAR), ("gap", 1024), ("gap", -1), ("gap", -FAR), ("zero", MOST)],
)  # fmt: skip
def test_larger_inputs_are_run_in_64_bits(name: str, value: int, rng: np.random.Generator) -> None:
    small, large = grid_feed(rng), grid_feed(rng)
    if large[name].shape:
        large[name][17] = value
    else:
        large[name] = np.array(value)
    with np.errstate(over="ignore"):
        made = kernels(GRID, small, large, small, large)
    assert [each.kernel.narrowed for each in made] == [0]


@pytest.mark.parametrize("value", [2**30 - 1, -(2**30) + 1])
def test_the_largest_that_are_expected(value: int, rng: np.random.Generator) -> None:
    """With the greatest steps in the same direction: no cell wraps around."""
    feed = grid_feed(rng)
    feed |= {name: np.full_like(feed[name], value) for name in ("row0", "s", "t")}
    feed |= {name: np.array(1023 if value > 0 else 0) for name in ("gap", "zero")}
    (made,) = kernels(GRID, feed)
    assert made.kernel.narrowed > 10


def test_more_iterations_are_run_in_64_bits(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assumed_ranges, "_MOST_ITERATIONS", 20)
    few, many = grid_feed(rng, 20), grid_feed(rng, 21)
    (made,) = kernels(GRID, few)
    assert made.kernel.narrowed
    (made,) = kernels(GRID, few, many)
    assert not made.kernel.narrowed
    x, y = (rng.integers(0, 99, 300) for _ in range(2))
    (made,) = kernels(ARRAYS, *({"n": np.array(n), "x": x, "y": y} for n in (20, 21)))
    assert not made.kernel.narrowed


@pytest.mark.parametrize(
    "step",
    ["more = Add (v, v)", "more = Mul (v, y)", "d = Sub (v, y)\n more = Add (v, d)"],
)
def test_what_may_outgrow_32_bits_keeps_64(step: str, rng: np.random.Generator) -> None:
    x, y = (rng.integers(-9, 9, 300) for _ in range(2))
    text = ARRAYS.replace("more = Add (v, one)", step).replace(
        "w = Max (less, v)", "w = Max (less, more)"
    )
    with np.errstate(over="ignore"):
        (made,) = kernels(text, {"n": np.array(40), "x": x, "y": y})
    assert not made.kernel.narrowed


def test_nothing_is_expected_where_runs_must_be_alike(rng: np.random.Generator) -> None:
    options = treadle.SessionOptions()
    options.use_deterministic_compute = True
    session = treadle.InferenceSession(HEAD + GRID, options, engines=("jit", "interp"))
    session.run(None, grid_feed(rng))
    (made,) = outcomes(session)
    assert not made.kernel.narrowed


@pytest.mark.parametrize("stacked", ["Identity (next)", "Concat <axis = 0> (edge, next)"])
def test_the_table_of_all_rows_has_32_bits_until_it_is_there(
    stacked: str, rng: np.random.Generator
) -> None:
    width = 70 + ("Concat" in stacked)
    text = GRID.replace("int64 ko)", f"int64 ko, int64[{width}] out)", 1)
    text = text.replace("last, k =", "last, k, all =")
    text = text.replace("(int64[70] last)", f"(int64[70] last, int64[N, {width}] all)")
    edge = "axis = Constant <value = int64[1] {0}> ()\nedge = Unsqueeze (ko, axis)\n"
    text = text.replace("}> (ko, k, row, t)", f"}}> (ko, k, row, t)\n{edge}out = {stacked}\n")
    (made,) = kernels(text, *(grid_feed(rng, rows) for rows in (30, 5)))
    assert made.kernel.narrowed > 10
    (rows,) = (node for node in made.kernel.main.nodes if isinstance(node.op, Loop))
    assert [stack.element.dtype for stack in op_of(rows, Loop).stacks] == [DType.INT32]


COUNTED = """g (int64 n, int64[300] x) => (int64[300] z) {
  yes = Constant <value = bool {1}> ()
  one = Constant <value = int64 {1}> ()
  million = Constant <value = int64 {1000000}> ()
  k = COUNT
  z = Loop (k, yes, x) <body = b (int64 i, bool on, int64[300] v) => (bool go, int64[300] w) {
    go = Identity (on)
    most = Max (v, million)
    w = Add (most, million)
  }>
}"""


@pytest.mark.parametrize("count", ["Identity (n)", "Add (n, one)", "Max (n, one)"])
def test_counts_of_iterations_bound_what_grows(count: str, rng: np.random.Generator) -> None:
    """No more is expected of the count than a guard checks: 3,000 iterations need 33 bits."""
    x = rng.integers(0, 2**30, 300)
    made = kernels(
        COUNTED.replace("COUNT", count), *({"n": np.array(n), "x": x} for n in (3, 3000))
    )
    assert [each.kernel.narrowed for each in made] == [0]


SUM_BY_ITEMS = """g (int64 n, int64[300] y, int64[300] x) => (int64[300] q) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  million = Constant <value = int64 {1000000}> ()
  items = Range (zero, n, one)
  q = Scan <num_scan_inputs = 1, body = b (int64[300] v, int64 i) => (int64[300] w) {
    more = Add (v, million)
    most = Max (more, y)
    least = Max (most, x)
    w = Min (least, more)
  }> (y, items)
}"""
POSITIONS = """g (int64 n, int64[300] y) => (int64[2, K] z, int64[300] q) {
  yes = Constant <value = bool {1}> ()
  two = Constant <value = int64 {2}> ()
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  million = Constant <value = int64 {1000000}> ()
  billion = Constant <value = int64 {1000000000}> ()
  places = Range (zero, n, one)
  rest = Mod (places, billion)
  q, z = Loop (two, yes, y) <body = b (int64 i, bool on, int64[300] v)
    => (bool go, int64[300] w, int64[K] o) {
    go = Identity (on)
    w = Max (v, i)
    far = Mul (rest, million)
    m1 = Max (far, i)
    m2 = Add (far, i)
    m3 = Max (m1, m2)
    m4 = Min (m3, far)
    m5 = Max (m4, m3)
    o = Max (m5, m1)
  }>
}"""


@pytest.mark.parametrize("text", [SUM_BY_ITEMS, POSITIONS])
def test_extents_that_an_input_tells_are_guarded(text: str) -> None:
    """The extent is open once it has changed a few times; then 5,000 needs more than 32 bits."""
    feeds = [{"n": np.array(n), "y": np.arange(300)} for n in (500, 501, 502, 503, 504, 5000)]
    if text is SUM_BY_ITEMS:
        feeds = [{**feed, "x": np.arange(300)} for feed in feeds]
    kernels(text, *feeds)
    assert any(made.kernel.narrowed and made.kernel.assumes for made in kernels(text, *feeds[:-1]))


@pytest.mark.parametrize(
    "reader",
    ["Gather (d, q)", "GatherElements (d, q)", "ScatterElements (d, q, d)", "Add (q, q)"],
)
def test_a_narrow_value_that_becomes_an_index(reader: str, rng: np.random.Generator) -> None:
    """What is carried has 32 bits, and its last value is cast for those that read it as indices."""
    text = ARRAYS.replace("int64[300] y) =>", "int64[300] y, int64[300] d) =>")
    text = text.replace("z = Loop", "q = Loop") + "#"
    text = text.replace("}>\n}#", f"}}>\n  z = {reader}\n}}")
    x, y, d = (rng.integers(0, 200, 300) for _ in range(3))
    (made,) = kernels(text, {"n": np.array(7), "x": rng.permutation(x), "y": y, "d": d})
    assert made.kernel.narrowed
