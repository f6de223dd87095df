"""Reductions of several axes in two steps: rows first, in few bits where their sums fit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import WORDS, check
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.schedule.algebra.reductions.row_reductions import with_row_reductions

COUNT = """kernel
  %m0: bool[ROWS,64] = input 0
  %c0: int32[] = input 1
  %1 = loop length 3 extent 3 carries %c = %c0
    %c: int32[] = carried 0
    %on: bool[] = greater %c, %c0
    %m: bool[ROWS,64] = or %m0, %on
    %n: int32[ROWS,64] = cast %m
    %s: int32[] = reduce add over (0, 1) of %n
    %next: int32[] = add %c, %s
    yield %next
  %last: int32[] = result 0 of %1
  return %last"""


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        (64, ["int8[64] = reduce add over (0)", "int32[] = reduce add over (0)"]),
        (256, ["int8[4,64] = reduce add over (1)", "int32[] = reduce add over (0, 1)"]),
        (257, ["int16[64] = reduce add over (0)", "int32[] = reduce add over (0)"]),
    ],
)
def test_bits_are_counted_in_few_bits(rows: int, wanted: list[str]) -> None:
    shown = show_kernel(with_row_reductions(kernel_of(COUNT.replace("ROWS", str(rows)))))
    assert all(each in shown for each in wanted), shown


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ROWS", "4"),  # few rows
        ("over (0, 1)", "over (1)"),
        ("int32", "float32"),  # sums of floats
    ],
)
def test_other_reductions_stay(old: str, new: str) -> None:
    text = COUNT.replace(old, new).replace("ROWS", "64")
    if new == "over (1)":
        text = text.replace("%s: int32[]", "%r: int32[64]").replace(
            "    %next", "    %s: int32[] = reduce max over (0) of %r\n    %next"
        )
    kernel = kernel_of(text)
    assert with_row_reductions(kernel) is kernel


def test_the_maximum_of_floats_is_taken_by_rows() -> None:
    text = COUNT.replace("int32", "float32").replace("reduce add", "reduce max")
    shown = show_kernel(with_row_reductions(kernel_of(text.replace("ROWS", "64"))))
    assert "float32[64] = reduce max over (0)" in shown


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("bool", (64, 64)),
        ("int8", (2, 48, 33)),
        ("uint8", (130, 70)),
        ("int32", (17, 256)),
        ("uint64", (130, 70)),
        ("float32", (64, 64)),
        ("float32", (2, 48, 33)),
    ],
)
@pytest.mark.parametrize("kind", ["Sum", "Max", "Min"])
def test_every_element_type(
    dtype: str, shape: tuple[int, ...], kind: str, rng: np.random.Generator
) -> None:
    axes = ", ".join(str(k) for k in range(len(shape)))
    dims, word = ",".join(map(str, shape)), WORDS[dtype]
    text = f"""g ({word}[{dims}] x, int64 n, int64 s0) => (int64 s, int64[T] all) {{
      axes = Constant <value = int64[{len(shape)}] {{{axes}}}> ()
      s, all = Loop <body = b (int64 i, bool c, int64 t) => (bool c1, int64 t1, int64 r) {{
        c1 = Identity (c)
        w = Cast <to = 7> (x)
        v = Add (w, t)
        e = Mod (v, three)
        some = Cast <to = 6> (e)
        r0 = Reduce{kind} <keepdims = 0> (some, axes)
        r = Cast <to = 7> (r0)
        t1 = Add (t, r)
      }}> (n, , s0)
      three = Constant <value = int64 {{3}}> ()
    }}""".replace("      s, all", "      three = Constant <value = int64 {3}> ()\n      s, all", 1)
    text = text.rpartition("      three")[0] + "    }"
    x = rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)
    check(text, {"x": x, "n": np.int64(3), "s0": np.int64(1)})


NEGATIVE = """g (int32[100,64] x) => (int32 last, int32[N] sums) {
  trips = Constant <value = int64 {4}> ()
  zero = Constant <value = int32 {0}> ()
  four = Constant <value = int32 {4}> ()
  two = Constant <value = int32 {2}> ()
  last, sums = Loop (trips, "", zero) <body = f (int64 i, bool go, int32 c)
    => (bool on, int32 next, int32 s) {
    on = Identity (go)
    moved = Add (x, c)
    rest = Mod (moved, four)
    less = Sub (rest, two)
    s = ReduceSum <keepdims = 0> (less)
    next = Add (c, four)
  }>
}"""


def test_sums_of_the_least_number_fit(rng) -> None:
    for x in (np.zeros((100, 64), np.int32), rng.integers(0, 4, (100, 64)).astype(np.int32)):
        check(NEGATIVE, {"x": x})


SHORT = """kernel
  %x: float32[2,3,5,12] = input 0
  %1 = loop length 2 extent 2
    %xi: float32[3,5,12] = scan slice along 0 of %x
    %y: float32[3] = reduce max over (1, 2) of %xi
    yield
    stack %y along 0
  %2: float32[2,3] = result 0 of %1
  return %2"""


def test_short_rows_of_several_results() -> None:
    shown = show_kernel(with_row_reductions(kernel_of(SHORT)))
    assert "float32[3,12] = reduce max over (1)" in shown
    assert "float32[3] = reduce max over (1)" in shown


@pytest.mark.parametrize(
    ("old", "new"), [("5,12", "5,100"), ("5,12", "5,2"), ("5,12", "3,12"), ("3,5,12", "1,5,12")]
)
def test_other_short_rows_stay(old: str, new: str) -> None:
    text = SHORT.replace(old, new)
    if new.startswith("1,"):
        text = text.replace("%y: float32[3]", "%y: float32[1]").replace("[2,3] =", "[2,1] =")
    kernel = kernel_of(text)
    assert with_row_reductions(kernel) is kernel


MODEL = """g (float[T,A,B,C] xs) => (float[T,P,Q,R] y) {{
  start = Constant <value = int64 {{0}}> ()
  last, y = Scan <num_scan_inputs = 1, body = f (int64 s, float[A,B,C] x)
    => (int64 t, float[P,Q,R] made) {{
    axes = Constant <value = int64[2] {{{axes}}}> ()
    t = Identity (s)
    made = Reduce{word} <keepdims = 1> (x, axes)
  }}> (start, xs)
}}"""


@pytest.mark.parametrize("axes", ["1,2", "0,2", "-1,-2", "2,0"])
@pytest.mark.parametrize("word", ["Max", "Min", "Sum", "Mean", "L1", "SumSquare"])
def test_short_rows_as_in_the_program(word: str, axes: str, rng: np.random.Generator) -> None:
    x = rng.integers(-3, 4, (3, 5, 9, 12)).astype(np.float32)
    x[2, rng.random((5, 9, 12)) < 0.05] = np.nan
    check(MODEL.format(word=word, axes=axes), {"xs": x})
