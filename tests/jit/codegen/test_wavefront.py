"""Recurrences over a grid run by antidiagonals, with the same cells as row by row."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.native import WORDS, check
from treadle.jit import codegen


@pytest.fixture
def grids(monkeypatch):
    """The grids found while kernels are emitted."""
    found = []
    emit = codegen.loop.emit_wavefront

    def emitted(context, grid, *rest):
        found.append(grid)
        emit(context, grid, *rest)

    monkeypatch.setattr(codegen.loop, "emit_wavefront", emitted)
    return found


def text(dtype, columns, cell, *, after="ko = Add (k, one)", extra=""):
    """Rows of a table: `cell` makes `new` of left, diagonal, above, the row's a and column's c."""
    word = WORDS[dtype]
    return f"""g ({word}[N] s, {word}[{columns}] t, {word}[{columns}] row0, {word} zero, {word} one)
      => ({word}[{columns}] last, {word} k1) {{
      last, k1 = Scan <num_scan_inputs = 1, body = outer ({word}[{columns}] row, {word} k, {word} a)
        => ({word}[{columns}] next, {word} ko) {{
        {after}
        le, di, next = Scan <num_scan_inputs = 2, body = inner ({word} left, {word} diagonal,
          {word} above, {word} c) => ({word} lo, {word} do, {word} cell) {{
          {cell}
          lo = Identity (new)
          cell = Identity (new)
          do = Identity (above)
        }}> (ko, k, row, t)
        {extra}
      }}> (row0, zero, s)
    }}"""


LEVENSHTEIN = """
          same = Equal (a, c)
          up = Add (above, one)
          across = Add (left, one)
          skip = Where (same, zero, one)
          change = Add (diagonal, skip)
          least = Min (up, across)
          new = Min (least, change)
"""
WARPING = """
          gap = Sub (a, c)
          cost = Abs (gap)
          least = Min (left, above)
          best = Min (least, diagonal)
          new = Add (best, cost)
"""
MIXED = """
          near = Less (a, c)
          far = Not (near)
          f = CastLike (far, one)
          h = Mul (left, f)
          m = Max (above, h, diagonal)
          new = Sub (m, c)
"""


def feed(rng, dtype, rows, columns):
    if np.dtype(dtype).kind == "f":
        s, t, row = (rng.uniform(-1, 1, n).astype(dtype) for n in (rows, columns, columns))
    else:
        s, t = (rng.integers(0, 4, n).astype(dtype) for n in (rows, columns))
        row = np.arange(1, columns + 1).astype(dtype)
    return {"s": s, "t": t, "row0": row, "zero": np.array(0, dtype), "one": np.array(1, dtype)}


@pytest.mark.parametrize("rows", [1, 15, 16, 33, 50])
@pytest.mark.parametrize("columns", [32, 40, 101])
def test_edit_distance(rows, columns, grids, rng):
    check(text("int64", columns, LEVENSHTEIN), feed(rng, "int64", rows, columns))
    assert grids


@pytest.mark.parametrize("cell", [LEVENSHTEIN, WARPING, MIXED])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_wavefronts_of_all_cells_and_dtypes(dtype, cell, grids, rng):
    check(text(dtype, 64, cell), feed(rng, dtype, 37, 64))
    assert grids


@pytest.mark.parametrize(
    ("cell", "after"),
    [
        (LEVENSHTEIN.replace("new = Min (least, change)", "p = Min (least, change)\n"
                             "new = Div (p, one)"), "ko = Add (k, one)"),
        (LEVENSHTEIN, "m = ReduceMax <keepdims = 0> (row)\n ko = Add (k, m)"),
    ],
)  # fmt: skip
def test_recurrences_without_antidiagonals_run_row_by_row(cell, after, grids, rng):
    check(text("int64", 64, cell, after=after), feed(rng, "int64", 20, 64))
    assert not grids


def test_rows_shorter_than_two_vectors_use_no_wavefront(grids, rng):
    """As many columns as lanes are not enough: most steps would be half empty."""
    check(text("int64", 20, LEVENSHTEIN), feed(rng, "int64", 40, 20))
    assert all(grid.width >= 2 * grid.lanes for grid in grids)
