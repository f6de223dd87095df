"""Register tiles of loops in loops: they slice arrays that an outer loop carries, or slices."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.codegen.test_large_register_tiles import numbers, tiled
from tests.jit.native import check

SIZES = [32, 40, 41, 64, 100, 256]

TABLE = """g (int64 n, float[T,{s}] first, float[3,{s}] a, float[T,{s}] b)
  => (float[T,{s}] table, float[{s}] row) {{
  zero = Constant <value = int64 {{0}}> ()
  r0 = Gather <axis = 0> (a, zero)
  table, row = Loop (n, , first, r0) <body = outer (int64 i, bool go, float[T,{s}] t, float[{s}] r)
    => (bool on, float[T,{s}] to, float[{s}] ro) {{
    on = Identity (go)
    three = Constant <value = int64 {{3}}> ()
    k = Mod (i, three)
    mine = Gather <axis = 0> (a, k)
    last, to = Scan <num_scan_inputs = 2, {directions}
      body = inner (float[{s}] x, float[{s}] item, float[{s}] other)
      => (float[{s}] xo, float[{s}] y) {{
      m = Mul (x, mine)
      p = Sub (m, other)
      y = Add (p, item)
      xo = Min (y, {late})
    }}> (r, t, b)
    ro = {row} (last)
  }}>
}}"""
DIRECTIONS = ["", "scan_input_directions = [1, 0],", "scan_output_directions = [1],"]

ITEMS = """g (float[A,B,{s}] x, float[A,{s}] w, float[{s}] start)
  => (float[{s}] last, float[A,B,{s}] y) {{
  last, y = Scan <num_scan_inputs = 2, body = outer (float[{s}] h, float[B,{s}] rows, float[{s}] v)
    => (float[{s}] ho, float[B,{s}] made) {{
    ho, made = Scan <num_scan_inputs = 1, body = inner (float[{s}] g, float[{s}] item)
      => (float[{s}] go, float[{s}] out) {{
      p = Mul (g, v)
      go = Add (p, item)
      out = Sub (go, v)
    }}> (h, rows)
  }}> (start, x, w)
}}"""

GROWING = """g (int64 n, float[K,{s}] first, float[{s}] start) => (float[{s}] last) {{
  rows, last = Loop (n, , first, start) <body = outer (int64 i, bool go, float[M,{s}] t,
    float[{s}] r) => (bool on, float[N,{s}] to, float[{s}] ro) {{
    on = Identity (go)
    ro = Scan <num_scan_inputs = 1, body = inner (float[{s}] g, float[{s}] item)
      => (float[{s}] o) {{ o = Sub (item, g) }}> (r, t)
    zero = Constant <value = int64[1] {{0}}> ()
    one = Unsqueeze (ro, zero)
    to = Concat <axis = 0> (t, one)
  }}>
}}"""

BOTH = """g (int64 n, float[{k},{s}] first) => (float[{k},{s}] last) {{
  last = Loop (n, , first) <body = outer (int64 i, bool go, float[{k},{s}] a)
    => (bool on, float[{k},{s}] b) {{
    on = Identity (go)
    half = Constant <value = float {{0.5}}> ()
    b = Scan <num_scan_inputs = 1, {directions}
      body = inner (float[{k},{s}] x, float[{s}] item) => (float[{k},{s}] y) {{
      h = Mul (x, half)
      y = Add (h, item)
    }}> (a, a)
  }}>
}}"""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("late", ["item", "other"])
@pytest.mark.parametrize("length", [0, 1, 5])
def test_a_carried_table_is_sliced(size, directions, late, length, rng):
    text = TABLE.format(s=size, directions=directions, late=late, row="Identity")
    given = {"n": np.array(4), "first": numbers(rng, length, size), "a": numbers(rng, 3, size),
             "b": numbers(rng, length, size)}  # fmt: skip
    check(text, given)
    assert tiled(text, given) is (length > 0)


@pytest.mark.parametrize("shape", [(4, 32), (4, 40), (5, 48), (3, 64)])
@pytest.mark.parametrize("directions", ["", "scan_input_directions = [1],"])
def test_the_array_that_is_sliced_is_carried_on(shape, directions, rng):
    text = BOTH.format(k=shape[0], s=shape[1], directions=directions)
    given = {"n": np.array(3), "first": numbers(rng, *shape)}
    check(text, given)
    assert tiled(text, given)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_items_of_items(size, rows, rng):
    text = ITEMS.format(s=size)
    given = {"x": numbers(rng, 3, rows, size), "w": numbers(rng, 3, size),
             "start": numbers(rng, size)}  # fmt: skip
    check(text, given)
    assert tiled(text, given) is (rows > 0)


@pytest.mark.parametrize("trips", [0, 1, 6])
def test_a_table_that_grows_is_not_read_in_tiles(trips, rng):
    text = GROWING.format(s=40)
    given = {"n": np.array(trips), "first": numbers(rng, 2, 40), "start": numbers(rng, 40)}
    check(text, given)
    assert not tiled(text, given)
