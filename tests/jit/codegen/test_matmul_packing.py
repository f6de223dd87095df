"""Matrices packed before loops: which loops share a copy, and which need one of their own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import check
from tests.jit.schedule.test_schedule import TARGET
from treadle.jit.schedule.schedule import schedule_kernel

SIZE = 65
ROW, MATRIX = f"float[1,{SIZE}]", f"float[{SIZE},{SIZE}]"


def scan(k: int, source: str, start: str, product: str) -> str:
    """A recurrence over the rows of a tensor; `product` makes p of the state or the row."""
    return f"""h{k} = Scan <num_scan_inputs = 1, body = c{k}
      ({ROW} a{k}, {ROW} x{k}) => ({ROW} b{k}) {{
        p{k} = {product}
        s{k} = Add (p{k}, x{k})
        b{k} = Mod <fmod = 1> (s{k}, four)
      }}> ({start}, {source})"""


BRANCH = f"""g (int64 n, bool c, float[T,1,{SIZE}] x, {ROW} h, {MATRIX} v, float four)
      => ({ROW} last) {{
    last = Loop (n, , h) <body = f (int64 i, bool go, {ROW} u) => (bool on, {ROW} w) {{
      on = Identity (go)
      count = Cast <to = 1> (i)
      m = Add (v, count)
      first = If (c) <then_branch = t () => ({ROW} h1) {{
          {scan(1, "x", "u", "MatMul (a1, m)")}
        }}, else_branch = e () => ({ROW} same) {{ same = Identity (u) }}>
      {scan(2, "x", "first", "MatMul (a2, m)")}
      w = Identity (h2)
    }}>
  }}"""

FEW = f"""g (float[T,1,{SIZE}] x, float[U,1,{SIZE}] y, {ROW} h, {MATRIX} v, float four)
      => ({ROW} h1, {ROW} h2) {{
    {scan(1, "x", "h", "Gemm <transB = 1> (x1, v)").replace("Add (p1, x1)", "Add (p1, a1)")}
    {scan(2, "y", "h1", "Gemm <transB = 1> (x2, v)").replace("Add (p2, x2)", "Add (p2, a2)")}
  }}"""


def feed(rng, **more):
    """Whole numbers, whose sums of products are exact in any order."""
    shapes = {"h": (1, SIZE), "v": (SIZE, SIZE)} | {name: (t, 1, SIZE) for name, t in more.items()}
    drawn = {name: rng.integers(-3, 4, shape).astype("f") for name, shape in shapes.items()}
    return drawn | {"four": np.float32(4)}


@pytest.mark.parametrize("taken", [True, False])
def test_a_copy_made_on_one_side_of_a_branch_is_not_read_behind_it(taken, rng):
    check(BRANCH, feed(rng, x=5) | {"n": np.int64(3), "c": np.bool_(taken)})


@pytest.mark.parametrize(("first", "second"), [(2, 9), (9, 2), (2, 2), (9, 9)])
def test_a_loop_reads_the_copy_that_was_made_before_another(first, second, rng):
    check(FEW, feed(rng, x=first, y=second))


INNER = f"""g (int64 n, float[T,1,{SIZE}] x, {ROW} h, {MATRIX} v, float four)
      => ({ROW} last) {{
    last = Loop (n, , h) <body = f (int64 i, bool go, {ROW} u) => (bool on, {ROW} w) {{
      on = Identity (go)
      zero = Constant <value_ints = [0]> ()
      one = Constant <value_ints = [1]> ()
      count = Add (i, one)
      first = Slice (x, zero, count, zero)
      {scan(1, "first", "u", "Gemm <transB = 1> (x1, v)").replace("Add (p1, x1)", "Add (p1, a1)")}
      w = Identity (h1)
    }}>
  }}"""


@pytest.mark.parametrize("trips", [0, 1, 2, 9])
def test_a_loop_does_not_ask_how_often_a_loop_in_it_will_run(trips, rng):
    check(INNER, feed(rng, x=9) | {"n": np.int64(trips)})


SHARED = f"""g (float[T,1,{SIZE}] x, {ROW} h, float[{SIZE},3] k, {MATRIX} v, float four)
      => ({ROW} h1, float[{SIZE},3] k1) {{
    h1, k1 = Scan <num_scan_inputs = 1, body = c
      ({ROW} a, float[{SIZE},3] e, {ROW} x1) => ({ROW} b, float[{SIZE},3] f) {{
        p = PRODUCT
        q = OTHER
        r = MatMul (v, e)
        s = Add (p, q)
        b = Mod <fmod = 1> (s, four)
        f = Mod <fmod = 1> (r, four)
      }}> (h, k, x)
  }}"""
"""A matrix on the right of two products and on the left of one."""
PLAIN, TURNED = "MatMul ({}, v)", "Gemm <transB = 1> ({}, v)"


@pytest.mark.parametrize("steps", [1, 3, 4, 20])
@pytest.mark.parametrize("product", [PLAIN, TURNED])
@pytest.mark.parametrize("other", [PLAIN, TURNED])
def test_a_copy_is_read_only_by_products_that_need_it(product, other, steps, rng):
    text = SHARED.replace("PRODUCT", product.format("x1")).replace("OTHER", other.format("a"))
    columns = rng.integers(-3, 4, (SIZE, 3)).astype("f")
    check(text, feed(rng, x=steps) | {"k": columns})


LOOP = """  %{k} = loop length 9 extent 9 carries %s{k} = %x
    %s{k}: float32[1,65] = carried 0
    %p{k}: float32[1,65] = matmul %s{k}, %w
    yield %p{k}
  %r{k}: float32[1,65] = result 0 of %{k}
"""
KERNEL = """kernel
  %x: float32[1,65] = input 0
  %c: bool[] = input 1
  %w: float32[65,65] = input 2
"""


def packed(text: str) -> list[int]:
    """The number of matrices packed before each loop."""
    schedule = schedule_kernel(kernel_of(text), TARGET)
    return [len(schedule.packings[loop]) for loop in schedule.loops]


def test_loops_one_after_the_other_share_a_copy():
    text = KERNEL + LOOP.format(k=1) + LOOP.format(k=2) + "  return %r1, %r2"
    assert packed(text) == [1, 0]


def test_small_matrices_are_not_packed():
    text = KERNEL + LOOP.format(k=1) + "  return %r1"
    assert packed(text) == [1]
    assert packed(text.replace("65", "64")) == [1]
    assert packed(text.replace("65", "63")) == [0]


def test_the_schedule_says_which_matrices_are_packed():
    schedule = schedule_kernel(kernel_of(KERNEL + LOOP.format(k=1) + "  return %r1"), TARGET)
    (packings,) = schedule.packings.values()
    assert str(packings[0]) == "float32[65,65] in panels of 64 columns, from 10 iterations on"


def test_a_long_copy_has_safepoints():
    text = KERNEL + LOOP.format(k=1) + "  return %r1"
    schedule = schedule_kernel(kernel_of(text.replace("65", "65536")), TARGET)
    (packings,) = schedule.packings.values()
    assert str(packings[0]).endswith("from 10 iterations on, a safepoint for every 16 panels")


NESTED = """kernel
  %x: float32[2,65] = input 0
  %w: float32[65,65] = input 1
  %a: float32[65,65] = input 2
  %m: float32[65,65] = tanh %a
  %1 = loop length 2 extent 2 carries %s = %x
    %s: float32[2,65] = carried 0
    %2 = loop length 9 extent 9 carries %t = %s
      %t: float32[2,65] = carried 0
      %p: float32[2,65] = matmul %t, %w
      yield %p
    %u: float32[2,65] = result 0 of %2
    %v: float32[2,65] = matmul %u, %m
    yield %v
  %r: float32[2,65] = result 0 of %1
  return %r
"""


def test_a_loop_of_few_iterations_needs_no_copy_but_one_around_others_does():
    schedule = schedule_kernel(kernel_of(NESTED), TARGET)
    found = [str(each) for each in next(iter(schedule.packings.values()))]
    assert found == [
        "float32[65,65] in panels of 64 columns",
        "float32[65,65] in panels of 64 columns, from 10 iterations on",
    ]


def test_a_part_of_a_matrix_is_copied_in_any_case():
    part = NESTED.replace("[65,65] = input 2", "[66,65] = input 2")
    part = part.replace("= tanh %a", "= view (i0+1, i1) of %a")
    schedule = schedule_kernel(kernel_of(part), TARGET)
    found = map(str, next(iter(schedule.packings.values())))
    assert list(found) == ["float32[65,65] in panels of 64 columns"] * 2


AHEAD = """g (float[T,{rows},24] x, float[24,{columns}] w, float[{rows},{columns}] s0)
    => (float[{rows},{columns}] s, float[T,{rows},{columns}] y) {{
  s, y = Scan <num_scan_inputs = 1, body = b (float[{rows},{columns}] s, float[{rows},24] v)
      => (float[{rows},{columns}] s1, float[{rows},{columns}] z) {{
    p = MatMul (v, w)
    s1 = Max (s, p)
    z = Sub (p, s)
  }}> (s0, x)
}}"""


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("columns", [5, 16, 33, 180, 256])
def test_the_last_rows_of_many_are_an_overlapping_tile(columns, rows, rng):
    """Whole numbers: every order of sums gives the same bits."""

    def whole(*shape: int) -> np.ndarray:
        return rng.integers(-3, 4, shape).astype(np.float32)

    trips = (0, 1, 2, 7, 8, 9, 15, 16, 17, 40, 63, 64, 65, 71, 130)
    check(
        AHEAD.format(rows=rows, columns=columns),
        *({"x": whole(n, rows, 24), "w": whole(24, columns), "s0": whole(rows, columns)}
          for n in trips),
    )  # fmt: skip
