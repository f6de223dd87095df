"""Loops whose iterations are computed side by side: maps, windows, sums of whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle
from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.native import HEAD, check, natives
from treadle.jit.kernel.target import Target
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

TARGET = Target("", "", "", vector_bytes=64, registers=32, has_fma=True)
LENGTHS = (0, 1, 17, 2047, 4100)
"""Around the strips of 2048 iterations, and shorter than vectors and windows."""

MAP = """kernel
  %x: float32[n0] = input 0
  %a: float32[] = input 1
  %1 = loop length n0 extent n0
    %v: float32[] = scan slice along 0 of %x
    %p: float32[] = mul %v, %a
    %t: float32[] = tanh %p
    %y: float32[] = add %t, %v
    stack %y along 0
  %ys: float32[n0] = result 0 of %1
  return %ys"""

COUNT = """kernel
  %x: int64[n0] = input 0
  %s0: int64[] = input 1
  %b0: int64[] = input 2
  %1 = loop length n0 extent n0 carries %s = %s0, %b = %b0
    %s: int64[] = carried 0
    %b: int64[] = carried 1
    %i: int64[] = induction variable
    %v: int64[] = scan slice along 0 of %x
    %p: int64[] = mul %v, %i
    %sum: int64[] = add %s, %p
    %most: int64[] = max %b, %v
    yield %sum, %most
  %sn: int64[] = result 0 of %1
  %bn: int64[] = result 1 of %1
  return %sn, %bn"""

SHIFTED = """kernel
  %x: float32[n0] = input 0
  %a0: float32[] = input 1
  %b0: float32[] = input 2
  %1 = loop length n0 extent n0 carries %a = %a0, %b = %b0
    %a: float32[] = carried 0
    %b: float32[] = carried 1
    %v: float32[] = scan slice along 0 of %x
    %low: float32[] = min %a, %b
    %high: float32[] = max %a, %b
    %m: float32[] = min %high, %v
    %y: float32[] = max %low, %m
    yield %v, %a
    stack %y along 0
  %an: float32[] = result 0 of %1
  %bn: float32[] = result 1 of %1
  %ys: float32[n0] = result 2 of %1
  return %an, %bn, %ys"""


def counts_of(session: treadle.InferenceSession) -> dict[str, int]:
    """The counts of the only kernel of a session."""
    ((made,),) = ([*native.cache.compiled.values()] for native in natives(session))
    assert isinstance(made, CompiledKernel)
    return dict(made.code.counts)


def fir(taps: int, order: str, function: str = "ReduceSum") -> str:
    """A Scan over samples with the last ones as its state."""
    kept, joined = {"last": ("one", "kept, new"), "first": ("zero", "new, kept")}[order]
    end = taps if order == "last" else taps - 1
    return f"""g (float[T] x, float[{taps}] taps, float[{taps}] none)
      => (float[{taps}] last, float[T] ys) {{
      zero = Constant <value = int64[1] {{0}}> ()
      one = Constant <value = int64[1] {{1}}> ()
      end = Constant <value = int64[1] {{{end}}}> ()
      last, ys = Scan <num_scan_inputs = 1, body = b (float[{taps}] line, float v)
        => (float[{taps}] moved, float y) {{
        kept = Slice (line, {kept}, end, zero)
        new = Unsqueeze (v, zero)
        moved = Concat <axis = 0> ({joined})
        products = Mul (moved, taps)
        y = {function} <keepdims = 0> (products)
      }}> (none, x)
    }}"""


@pytest.mark.parametrize("length", LENGTHS)
def test_a_map(length: int, rng: np.random.Generator) -> None:
    x, a = rng.standard_normal(length).astype(np.float32), np.float32(0.7)
    (found,) = run_kernel(MAP, x, a)
    np.testing.assert_allclose(found, np.tanh(x * a) + x, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("length", LENGTHS)
def test_sums_and_maxima_of_whole_numbers(length: int, rng: np.random.Generator) -> None:
    x = rng.integers(-(2**62), 2**62, length)
    total, most = run_kernel(COUNT, x, np.int64(5), np.int64(-9))
    with np.errstate(over="ignore"):
        assert total == np.int64(5) + np.sum(x * np.arange(length), dtype=np.int64)
    assert most == max([-9, *x.tolist()])


@pytest.mark.parametrize("length", LENGTHS)
def test_shifted_scalars(length: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal(length).astype(np.float32)
    last, before, found = run_kernel(SHIFTED, x, np.float32(2), np.float32(3))
    whole = np.concatenate([np.float32([3, 2]), x])
    windows = np.stack([whole[k : k + length] for k in range(3)])
    np.testing.assert_array_equal(found, np.median(windows, axis=0))
    assert (last, before) == (whole[-1], whole[-2])


@pytest.mark.parametrize(("taps", "order"), [(2, "last"), (5, "first"), (16, "last")])
def test_windows(taps: int, order: str, rng: np.random.Generator) -> None:
    def feed(length: int) -> dict[str, Any]:
        made = {"x": length, "taps": taps, "none": taps}
        return {name: rng.standard_normal(n).astype(np.float32) for name, n in made.items()}

    check(fir(taps, order), *map(feed, LENGTHS))


@pytest.mark.parametrize("function", ["ReduceMax", "ReduceMean"])
def test_windows_of_other_reductions(function: str, rng: np.random.Generator) -> None:
    feed = {
        name: rng.uniform(0.5, 1.5, n).astype(np.float32)
        for name, n in {"x": 2100, "taps": 8, "none": 8}.items()
    }
    check(fir(8, "last", function), feed)


def test_what_is_vectorized_is_told(rng: np.random.Generator) -> None:
    session = treadle.InferenceSession(HEAD + fir(8, "last"), engines=("jit", "interp"))
    made = {"x": 40, "taps": 8, "none": 8}
    session.run(None, {n: rng.standard_normal(k).astype(np.float32) for n, k in made.items()})
    assert counts_of(session)["vectorized"] == 1
    assert "several iterations at once" in session.explain()


def test_a_time_limit_ends_a_long_loop() -> None:
    text = """g (int64 n) => (int64 s) {
      yes = Constant <value = bool {1}> ()
      zero = Constant <value = int64 {0}> ()
      three = Constant <value = int64 {3}> ()
      s = Loop (n, yes, zero) <body = b (int64 i, bool go, int64 s) => (bool gone, int64 so) {
        gone = Identity (go)
        cube = Mul (i, i)
        more = BitwiseXor (cube, three)
        so = Add (s, more)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    session.run(None, {"n": np.int64(20)})
    assert counts_of(session)["vectorized"] == 1
    with pytest.raises(treadle.LimitExceeded, match=r"max_seconds=0\.05"):
        session.run(None, {"n": np.int64(10**13)}, treadle.RunOptions(max_seconds=0.05))


def taps(count: int, dtype: str, row: str, change: str = "") -> str:
    """A filter over a window: its weights times the last items."""
    return f"""g ({dtype}[N] x, {dtype}[{count}] s0, {dtype}[{count}] w)
      => ({dtype}[{count}] last, {dtype}[N] all) {{
      start = Constant <value = int64[1] {{0}}> ()
      one = Constant <value = int64[1] {{1}}> ()
      less = Constant <value = int64[1] {{{count - 1}}}> ()
      far = Constant <value = int64[1] {{{count + 1}}}> ()
      last, all = Scan <num_scan_inputs = 1, body = f ({dtype}[{count}] s, {dtype} v)
        => ({dtype}[{count}] next, {dtype} y) {{
        new = Unsqueeze (v, start)
        {row}
        {change}
        p = Mul (next, w)
        y = ReduceSum <keepdims = 0> (p)
      }}> (s0, x)
    }}"""


ROWS = {
    "at the end": "kept = Slice (s, one, far)\n next = Concat <axis = 0> (kept, new)",
    "at the start": "kept = Slice (s, start, less)\n next = Concat <axis = 0> (new, kept)",
    "cut out": "whole = Concat <axis = 0> (s, new)\n next = Slice (whole, one, far)",
}


def tap_feeds(rng: np.random.Generator, count: int, dtype: str) -> list[dict[str, np.ndarray]]:
    def whole(length: int) -> np.ndarray:
        return rng.integers(-9, 9, length).astype(dtype)

    return [{"x": whole(n), "s0": whole(count), "w": whole(count)} for n in LENGTHS]


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize(
    ("count", "word", "dtype"),
    [
        (16, "float", "float32"),
        (17, "double", "float64"),
        (40, "double", "float64"),
        (64, "float", "float32"),
    ],
)
def test_filters_of_many_taps(row: str, count: int, word: str, dtype: str, rng) -> None:
    """Whole numbers, so that every order of the terms gives the same sum."""
    session = treadle.InferenceSession(HEAD + taps(count, word, row), engines=("jit",))
    feeds = tap_feeds(rng, count, dtype)
    check(taps(count, word, row), *feeds)
    session.run(None, feeds[-1])
    assert counts_of(session).get("vectorized") == 1


@pytest.mark.parametrize(
    ("count", "change"),
    [(65, ""), (30, "m = ReduceMax <keepdims = 0> (s)\n b = Mul (s, m)\n c = Mul (b, b)\n"
                    " d = Mul (c, b)\n e = Mul (d, c)\n z = ReduceSum <keepdims = 0> (e)")],
)  # fmt: skip
def test_longer_filters_run_one_by_one(count: int, change: str, rng) -> None:
    text = taps(count, "float", ROWS["at the end"], change)
    if change:
        text = text.replace("y = ReduceSum <keepdims = 0> (p)",
                            "y0 = ReduceSum <keepdims = 0> (p)\n y = Add (y0, z)")  # fmt: skip
    session = treadle.InferenceSession(HEAD + text, engines=("jit",))
    session.run(None, tap_feeds(rng, count, "float32")[-1])
    assert "vectorized" not in counts_of(session)


ROW = """kernel
  %x: float32[n0,{0}] = input 0
  %s0: float32[{0}] = input 1
  %c: float32[] = input 2
  %1 = loop length n0 extent n0 carries %s = %s0
    %s: float32[{0}] = carried 0
    %v: float32[{0}] = scan slice along 0 of %x
    %least: float32[{0}] = min %v, %c
    %y: float32[{0}] = neg %v
    yield %least
    stack %y along 0
  %sn: float32[{0}] = result 0 of %1
  %ys: float32[n0,{0}] = result 1 of %1
  return %sn, %ys"""


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("elements", [4, 8, 16])
def test_the_last_row_leaves_the_loop(
    avx2: Target, elements: int, length: int, rng: np.random.Generator
) -> None:
    """Rows of 8 numbers are a vector each: LLVM 22.1 would give a wrong last one."""
    x = rng.integers(-9, 9, (length, elements)).astype(np.float32)
    first = np.arange(elements, dtype=np.float32)
    last, found = run_kernel(ROW.format(elements), x, first, np.float32(4))
    np.testing.assert_array_equal(found, -x)
    np.testing.assert_array_equal(last, np.minimum(x, 4)[-1] if length else first)


@pytest.mark.parametrize(("elements", "lanes"), [(4, "iterations"), (8, "elements")])
def test_what_fills_the_vectors(avx2: Target, elements: int, lanes: str) -> None:
    schedule = show_schedule(schedule_kernel(kernel_of(ROW.format(elements)), avx2))
    assert f"loop 0: vectors of {lanes}, in strips of 2048" in schedule


UPDATED = """kernel
  %x: {dtype}[{size}] = input 0
  %n: int64[] = input 1
  %k: int64[] = input 2
  %zero: int64[] = constant 0
  %trips as e1: int64[] = max %n, %zero
  %1 = loop trip %n extent e1 carries %a = %x
    %a: {dtype}[{size}] = carried 0
    %i: int64[] = induction variable
    %j: int64[] = add %i, %k
    %u: {dtype}[] = take along 0 in range of %a, %i
    %v: {dtype}[] = take along 0 in range of %a, %j
    %sum: {dtype}[] = add %u, %v
    %place: int64[1] = reshape %j
    %new: {dtype}[1] = reshape %sum
    %next: {dtype}[{size}] = scatter (at 0) in range into %a, %new, %place
    yield %next
  %last: {dtype}[{size}] = result 0 of %1
  return %last"""


@pytest.mark.parametrize("dtype", ["int64", "float32", "uint8"])
@pytest.mark.parametrize("distance", [0, 1, 2, 7, 16, 63, 300])
def test_an_array_updated_at_any_distance(
    dtype: str, distance: int, rng: np.random.Generator
) -> None:
    """LLVM computes iterations side by side only where no element is read after it is written."""
    size, trips = 3000, 2600
    x = rng.integers(0, 9, size).astype(dtype)
    found = run_kernel(
        UPDATED.format(dtype=dtype, size=size), x, np.array(trips), np.array(distance)
    )
    wanted = x.copy()
    with np.errstate(over="ignore"):
        for i in range(trips):
            wanted[i + distance] = wanted[i] + wanted[i + distance]
    assert np.array_equal(found[0], wanted, equal_nan=True)


def test_rows_of_a_matrix_updated_in_place_are_computed_side_by_side(
    rng: np.random.Generator,
) -> None:
    """Floyd and Warshall's shortest paths, number by number; the loop along a row has vectors."""
    text = """g (int64 n, int64[N, N] d) => (int64[N, N] z) {
      zero = Constant <value = int64[1] {0}> ()
      yes = Constant <value = bool {1}> ()
      z = Loop (n, yes, d) <body = f (int64 k, bool go, int64[N, N] a) =>
        (bool on, int64[N, N] a3) {
        on = Identity (go)
        k1 = Unsqueeze (k, zero)
        a3 = Loop (n, yes, a) <body = g (int64 i, bool go1, int64[N, N] b) =>
          (bool on1, int64[N, N] b3) {
          on1 = Identity (go1)
          i1 = Unsqueeze (i, zero)
          ik = Concat <axis = 0> (i1, k1)
          dik = GatherND (b, ik)
          b3 = Loop (n, yes, b) <body = h (int64 j, bool go2, int64[N, N] c) =>
            (bool on2, int64[N, N] c1) {
            on2 = Identity (go2)
            j1 = Unsqueeze (j, zero)
            kj = Concat <axis = 0> (k1, j1)
            dkj = GatherND (c, kj)
            ij = Concat <axis = 0> (i1, j1)
            old = GatherND (c, ij)
            far = Add (dik, dkj)
            less = Min (old, far)
            new = Unsqueeze (less, zero)
            at = Unsqueeze (ij, zero)
            c1 = ScatterND (c, at, new)
          }>
        }>
      }>
    }"""
    d = rng.integers(1, 100, (40, 40))
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    found = session.run(None, {"n": np.array(40), "d": d})[0]
    for k in range(40):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1])
    assert np.array_equal(found, d)
    assert "vectorized" in session.explain()


def test_an_array_that_is_copied_runs_in_order() -> None:
    """Its old value is read with the new one: a copy in each iteration is no work for a strip."""
    text = UPDATED.format(dtype="float32", size=3000)
    lines = show_schedule(schedule_kernel(kernel_of(text), TARGET))
    assert "vectors of iterations" in lines
    behind = """    %w: float32[] = take along 0 in range of %next, %i
    %p: int64[] = cast %w
    %o: float32[] = take along 0 of %a, %p
    yield %next
    stack %o along 0"""
    lines = show_schedule(
        schedule_kernel(kernel_of(text.replace("    yield %next", behind)), TARGET)
    )
    assert "not vectorization: carried 0 is an array" in lines
