"""Columns of narrow arrays: computed one by one where a loop puts them together itself."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import WORDS, check
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.schedule.algebra.columns_apart import with_columns_apart

PENDULUM = """kernel
  %q0: float64[16,2] = input 0
  %h: float64[] = constant 0.1
  %1 = loop length 9 extent 9 carries %q = %q0
    %q: float64[16,2] = carried 0
    %x: float64[16,1] = view (i0, i1) of %q
    %v: float64[16,1] = view (i0, i1+1) of %q
    %a: float64[16,1] = neg %x
    %d: float64[16,2] = concat along 1 %v, %a
    %m: float64[16,2] = mul %d, %h
    %next: float64[16,2] = add %q, %m
    %square: float64[16,2] = mul %next, %next
    %e: float64[16] = reduce add over (1) of %square
    yield %next
    stack %e along 0
  %last: float64[16,2] = result 0 of %1
  %all: float64[9,16] = result 1 of %1
  return %last, %all"""


def test_columns_are_carried_one_by_one() -> None:
    shown = show_kernel(with_columns_apart(kernel_of(PENDULUM)))
    (carried,) = re.findall(r"carries (.*)", shown)
    assert carried.count("=") == 2
    body = shown.partition(" carries")[2].partition("yield")[0]
    assert not any(word in body for word in ("concat", "reduce", "float64[16,2] = carried"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[16,", "[4,"),  # registers hold the rows
        ("stack %e along 0", "stack %next along 0"),
        ("reduce add over (1) of %square", "reduce max over (1) of %square"),
    ],
)
def test_where_it_applies_too(old: str, new: str) -> None:
    text = PENDULUM.replace(old, new)
    if new == "[4,":
        text = text.replace("[16]", "[4]").replace("[9,16]", "[9,4]")
    if "next along" in new:
        text = text.replace("%all: float64[9,16]", "%all: float64[9,16,2]")
    kernel = kernel_of(text)
    assert (with_columns_apart(kernel) is kernel) == (new == "[4,")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # a product reads the array as a whole
        ("%e: float64[16] = reduce add over (1) of %square",
         "%w: float64[2,16] = view (i1, i0) of %next\n"
         "    %p: float64[16,16] = matmul %next, %w\n"
         "    %e: float64[16] = reduce add over (1) of %p"),
        # both columns are read by one view
        ("%e: float64[16] = reduce add over (1) of %square",
         "%t: float64[16,2] = view (i0, -1*i1+1) of %next\n"
         "    %e: float64[16] = reduce add over (1) of %t"),
        # nothing carried is in columns
        ("yield %next", "yield %q"),
    ],
)  # fmt: skip
def test_arrays_that_are_read_as_a_whole_stay(old: str, new: str) -> None:
    kernel = kernel_of(PENDULUM.replace(old, new))
    assert with_columns_apart(kernel) is kernel


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
@pytest.mark.parametrize("trips", [0, 1, 5])
def test_every_element_type(dtype: str, trips: int, rng: np.random.Generator) -> None:
    word = WORDS[dtype]
    text = f"""g (int64 n, {word}[24,3] q0, {word}[3] k) => ({word}[24,3] q, {word}[T,24,3] all) {{
      ax = Constant <value = int64[1] {{1}}> ()
      zero = Constant <value = int64[1] {{0}}> ()
      one = Constant <value = int64[1] {{1}}> ()
      two = Constant <value = int64[1] {{2}}> ()
      three = Constant <value = int64[1] {{3}}> ()
      q, all = Loop <body = b (int64 i, bool c, {word}[24,3] s) =>
        (bool c1, {word}[24,3] s1, {word}[24,3] y) {{
        c1 = Identity (c)
        x = Slice (s, zero, one, ax)
        y0 = Slice (s, one, two, ax)
        z = Slice (s, two, three, ax)
        d = Concat <axis = 1> (y0, z, x)
        m = Mul (d, k)
        s1 = Add (m, s)
        y = Mul (s1, s1)
      }}> (n, , q0)
    }}"""
    q = rng.integers(0, 5, (24, 3)).astype(dtype)
    check(text, {"n": np.int64(trips), "q0": q, "k": np.array([1, 2, 1], dtype)})


FORCES = """kernel
  %p0: float32[12,3] = input 0
  %w: float32[12,12] = input 1
  %1 = loop length 9 extent 9 carries %p = %p0
    %p: float32[12,3] = carried 0
    %rows: float32[12,1,3] = view (i0, i2) of %p
    %columns: float32[1,12,3] = view (i1, i2) of %p
    %d: float32[12,12,3] = sub %columns, %rows
    %square: float32[12,12,3] = mul %d, %d
    %r: float32[12,12] = reduce add over (2) of %square
    %g: float32[12,12] = mul %r, %w
    %g1: float32[12,12,1] = view (i0, i1) of %g
    %f: float32[12,12,3] = mul %d, %g1
    %all: float32[12,3] = reduce add over (1) of %f
    %next: float32[12,3] = add %p, %all
    yield %next
  %last: float32[12,3] = result 0 of %1
  return %last"""


def test_functions_of_pairs_are_computed_column_by_column() -> None:
    shown = show_kernel(with_columns_apart(kernel_of(FORCES)))
    body = shown.partition(" carries")[2].partition("yield")[0]
    assert "12,12,3" not in body
    assert body.count("reduce add") == 3


STACKED = FORCES.replace("yield %next", "yield %next\n    stack %f along 0").replace(
    "return", "%every: float32[9,12,12,3] = result 1 of %1\n  return %every,"
)


@pytest.mark.parametrize("text", [FORCES.replace("12", "4"), STACKED])
def test_few_pairs_and_those_that_are_read_as_a_whole_stay(text: str) -> None:
    kernel = kernel_of(text)
    assert with_columns_apart(kernel) is kernel


def test_pairs_of_bodies_in_two_and_three_dimensions(rng: np.random.Generator) -> None:
    for width in (2, 3):
        source = f"""g (int64 n, float[20,{width}] p0) => (float[20,{width}] p) {{
          yes = Constant <value = bool {{1}}> ()
          zero = Constant <value_ints = [0]> ()
          one = Constant <value_ints = [1]> ()
          two = Constant <value_ints = [2]> ()
          soft = Constant <value = float {{0.3}}> ()
          power = Constant <value = float {{-1.5}}> ()
          dt = Constant <value = float {{0.01}}> ()
          p = Loop (n, yes, p0) <body = b (int64 i, bool c, float[20,{width}] x)
            => (bool go, float[20,{width}] y) {{
            go = Identity (c)
            rows = Unsqueeze (x, one)
            columns = Unsqueeze (x, zero)
            d = Sub (columns, rows)
            square = Mul (d, d)
            r = ReduceSum <keepdims = 1> (square, two)
            near = Add (r, soft)
            g = Pow (near, power)
            f = Mul (d, g)
            all = ReduceSum <keepdims = 0> (f, one)
            step = Mul (all, dt)
            y = Add (x, step)
          }}>
        }}"""
        start = rng.uniform(-1, 1, (20, width)).astype(np.float32)
        check(source, *({"n": np.array(n), "p0": start} for n in (0, 1, 7)))


def test_all_of_a_narrow_array_of_open_length(rng: np.random.Generator) -> None:
    source = """g (int64 n, float[2,3] x, float[1,3] row) => (float[M,3] last, float all) {
      nought = Constant <value = float {0}> ()
      last, all = Loop (n, "", x, nought) <body = b (int64 i, bool c, float[K,3] s, float a)
        => (bool go, float[L,3] t, float v) {
        w = Sin (s)
        v = ReduceSum <keepdims = 0> (w)
        t = Concat <axis = 0> (s, row)
        go = Identity (c)
      }>
    }"""
    x, row = (rng.uniform(-1, 1, shape).astype("f") for shape in ((2, 3), (1, 3)))
    check(source, *({"n": np.array(n), "x": x, "row": row} for n in (0, 1, 7)))


def test_boxes_on_one_side_of_a_branch(rng: np.random.Generator) -> None:
    """The corners of the boxes that a loop compares with one of them, if that is kept."""
    source = """g (float[N,4] boxes, float[N] areas, bool[N] all) => (bool[N] kept) {
      zero = Constant <value_ints = [0]> ()
      one = Constant <value_ints = [1]> ()
      two = Constant <value_ints = [2]> ()
      four = Constant <value_ints = [4]> ()
      nought = Constant <value = float {0}> ()
      most = Constant <value = float {0.3}> ()
      sizes = Shape (boxes)
      first = Slice (sizes, zero, one)
      n = Squeeze (first)
      kept = Loop (n, "", all) <body = b (int64 i, bool c, bool[N] k) => (bool go, bool[N] l) {
        go = Identity (c)
        is_kept = Gather (k, i)
        l = If (is_kept) <then_branch = t () => (bool[N] u) {
          box = Gather (boxes, i)
          area = Gather (areas, i)
          low = Slice (boxes, zero, two, one)
          high = Slice (boxes, two, four, one)
          own_low = Slice (box, zero, two, zero)
          own_high = Slice (box, two, four, zero)
          from = Max (low, own_low)
          to = Min (high, own_high)
          sides = Sub (to, from)
          positive = Max (sides, nought)
          shared = ReduceProd <keepdims = 0> (positive, one)
          both = Add (areas, area)
          whole = Sub (both, shared)
          part = Div (shared, whole)
          is_over = Greater (part, most)
          is_less = Greater (area, areas)
          dropped = And (is_over, is_less)
          stays = Not (dropped)
          u = And (k, stays)
        }, else_branch = e () => (bool[N] v) { v = Identity (k) }>
      }>
    }"""
    for count in (1, 5, 80):
        low = rng.uniform(0, 9, (count, 2))
        boxes = np.concatenate([low, low + rng.uniform(1, 4, (count, 2))], 1).astype("f")
        areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
        check(source, {"boxes": boxes, "areas": areas, "all": np.ones(count, bool)})
