"""Wavefronts of few rows, and of more than are in work at once."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.codegen.loops.test_wavefront import (
    LEVENSHTEIN,
    WARPING,
    affine,
    affine_feed,
    feed,
    text,
)
from tests.jit.codegen.loops.test_wavefront_tables import steps, table
from tests.jit.native import WORDS, check
from treadle.jit.schedule.loops import wavefront

DTYPES = ["float32", "float64", "int64", "uint8"]


def of_rows(made, rows):
    """The model for this number of rows only."""
    return made.replace("[N", f"[{rows}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_tables_of_few_rows(dtype, grids, rng):
    check(of_rows(table(dtype, 70, LEVENSHTEIN), 9), feed(rng, dtype, 9, 70))
    check(of_rows(steps(dtype, 150, "two"), 9), feed(rng, dtype, 9, 150))
    with np.errstate(over="ignore"):
        made = affine_feed(rng, dtype, 9, 64)
        check(of_rows(affine(dtype, 64), 9), made)
    assert grids


@pytest.fixture
def small_groups(monkeypatch):
    """Groups of five vectors of rows at most, and room for the items of few steps."""
    monkeypatch.setattr(wavefront, "_GROUP_BYTES", 32 * 5)
    monkeypatch.setattr(wavefront, "_LEAST_STEPS", 1)


@pytest.mark.parametrize("columns", [64, 150])
@pytest.mark.parametrize("dtype", DTYPES)
def test_more_rows_than_are_in_work_at_once(dtype, columns, grids, small_groups, rng):
    """Several groups of rows, and more steps than the memory of items has room for."""
    made = text(dtype, columns, WARPING if dtype.startswith("f") else LEVENSHTEIN)
    with np.errstate(over="ignore"):
        check(made, *(feed(rng, dtype, rows, columns) for rows in (70, 19, 20, 21, 39, 41)))
        check(of_rows(made, 165), feed(rng, dtype, 165, columns))
    assert grids


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_carried_along_the_row_that_begin_differently(dtype, grids, rng):
    """Two are the last cell, two that of the row above before; one is the latter a step later."""
    word = WORDS[dtype]
    made = f"""g ({word}[N] s, {word}[70] t, {word}[70] row0, {word} zero, {word} one)
      => ({word}[70] last, {word} k1) {{
      two = Add (one, one)
      last, k1 = Scan <num_scan_inputs = 1, body = outer ({word}[70] row, {word} k, {word} a)
        => ({word}[70] next, {word} ko) {{
        ko = Add (k, one)
        l1, l2, d1, d2, d3, p, next = Scan <num_scan_inputs = 2, body = inner ({word} left,
          {word} west, {word} diagonal, {word} corner, {word} far, bool was, {word} above, {word} c)
          => ({word} lo, {word} wo, {word} do, {word} co, {word} fo, bool po, {word} cell) {{
          x = Where (was, left, west)
          y = Min (x, diagonal)
          z = Max (corner, above)
          po = Less (a, c)
          u = Where (po, y, z)
          cell = Max (u, far)
          lo = Identity (cell)
          wo = Identity (cell)
          do = Identity (above)
          co = Identity (above)
          fo = Identity (diagonal)
        }}> (ko, a, k, two, one, yes, row, t)
      }}> (row0, zero, s)
    }}"""
    made = made.replace("two = Add", "yes = Equal (one, one)\n two = Add")
    check(made, *(feed(rng, dtype, rows, 70) for rows in (5, 1, 33, 70)))
    assert grids


def test_numbers_of_the_iteration_in_rows_in_memory(grids, rng):
    """The number of the row and of the column, and what rows carry in other types."""
    made = """g (float[N] s, float[90] row0, int64 zero) => (float[90] last) {
      count = Constant <value = int64 {90}> ()
      yes = Constant <value = bool {1}> ()
      shape = Shape (s)
      axis = Constant <value = int64 {0}> ()
      rows = Gather (shape, axis)
      last = Loop <body = outer (int64 i, bool on, float[90] row) => (bool go, float[90] next) {
        go = Identity (on)
        a = Gather (s, i)
        n, next = Loop <body = inner (int64 j, bool still, int64 ups)
          => (bool again, int64 more, float cell) {
          again = Identity (still)
          above = Gather (row, j)
          is_up = Less (a, above)
          up = Cast <to = 7> (is_up)
          more = Add (ups, up)
          k = Add (more, i)
          k2 = Sub (k, j)
          f = Cast <to = 1> (k2)
          half = Mul (above, a)
          cell = Sub (half, f)
        }> (count, yes, i)
      }> (rows, yes, row0)
    }"""
    for rows in (1, 5, 40, 90):
        given = feed(rng, "float32", rows, 90)
        check(made, {"s": given["s"], "row0": given["row0"], "zero": np.array(0)})
    assert grids


@pytest.mark.parametrize("columns", [2, 4, 8, 16, 17])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_rows_of_few_columns(dtype, columns, rng):
    """Rows of up to 16 elements are in registers, which wavefronts do not read."""
    check(text(dtype, columns, WARPING), *(feed(rng, dtype, rows, columns) for rows in (20, 3)))
