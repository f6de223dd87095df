"""Recurrences over a grid run by antidiagonals, with the same cells as row by row."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, WORDS, check
from treadle.errors import RunError


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


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 15, 16, 33, 50])
@pytest.mark.parametrize("columns", [32, 40, 101])
def test_edit_distance(rows, columns, grids, rng):
    check(text("int64", columns, LEVENSHTEIN), feed(rng, "int64", rows, columns))
    assert grids


@pytest.mark.parametrize("cell", [LEVENSHTEIN, WARPING, MIXED])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_wavefronts_of_all_cells_and_dtypes(dtype, cell, grids, rng):
    check(text(dtype, 64, cell), feed(rng, dtype, 37, 64))
    assert grids


@pytest.mark.parametrize("columns", [17, 24, 31, 63, 127])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_rows_shorter_than_two_vectors_take_fewer_lanes(dtype, columns, grids, rng):
    cell = WARPING if dtype == "float32" else LEVENSHTEIN
    check(text(dtype, columns, cell), *(feed(rng, dtype, rows, columns) for rows in (1, 9, 40)))
    assert [2 * grid.lanes <= columns for grid in grids] == [True]


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


def bordered(dtype, columns, *, form="rows", border="edge = Add (first, one)", above="tail"):
    """Rows with a border before them, as a program with arrays writes them."""
    word = WORDS[dtype]
    inner = f"""
        lo, cells = Scan <num_scan_inputs = 2, body = inner ({word} left, {word} above, {word} c)
          => ({word} next, {word} cell) {{
          across = Add (left, one)
          near = Sub (above, c)
          next = Max (across, near)
          cell = Identity (next)
        }}> (corner, best, t)"""
    if form == "items":
        inner = f"""
        lo, cells = Loop <body = inner (int64 j, bool on, {word} left)
          => (bool go, {word} next, {word} cell) {{
          go = Identity (on)
          j1 = Add (j, i1)
          d = Gather (row, j)
          u = Gather (row, j1)
          c = Gather (t, j)
          gap = Sub (d, a)
          more = Max (u, gap)
          across = Add (left, one)
          near = Sub (more, c)
          next = Max (across, near)
          cell = Identity (next)
        }}> (count, yes, corner)"""
    return f"""g ({word}[N] s, {word}[{columns}] t, {word}[{columns + 1}] row0, {word} one)
      => ({word}[{columns + 1}] last) {{
      i1 = Constant <value = int64 {{1}}> ()
      yes = Constant <value = bool {{1}}> ()
      count = Constant <value = int64 {{{columns}}}> ()
      start = Constant <value = int64[1] {{0}}> ()
      begin = Constant <value = int64[1] {{1}}> ()
      end = Constant <value = int64[1] {{{columns}}}> ()
      far = Constant <value = int64[1] {{{columns + 1}}}> ()
      last = Scan <num_scan_inputs = 1, body = outer ({word}[{columns + 1}] row, {word} a)
        => ({word}[{columns + 1}] next_row) {{
        first = Slice (row, start, begin)
        {border}
        corner = Squeeze (edge, start)
        head = Slice (row, start, end)
        tail = Slice (row, begin, far)
        gap1 = Sub (head, a)
        best = Max ({above}, gap1)
        {inner}
        next_row = Concat <axis = 0> (edge, cells)
      }}> (row0, s)
    }}"""


def bordered_feed(rng, dtype, rows, columns):
    made = feed(rng, dtype, rows, columns)
    row = feed(rng, dtype, rows, columns + 1)["row0"]
    return {"s": made["s"], "t": made["t"], "row0": row, "one": made["one"]}


@pytest.mark.parametrize("form", ["rows", "items"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("border", ["edge = Add (first, one)", "edge = Neg (first)"])
def test_rows_with_a_border_before_them(form, dtype, border, grids, rng):
    feeds = [bordered_feed(rng, dtype, rows, 70) for rows in (0, 1, 2, 5, 16, 33)]
    check(bordered(dtype, 70, form=form, border=border), *feeds)
    assert grids


@pytest.mark.parametrize(
    "change",
    [{"above": "tail, row_max"}, {"above": "tail, other"}],
)
def test_rows_read_as_a_whole_run_one_after_the_other(change, grids, rng):
    text = bordered("float32", 70, **change)
    extra = "row_max = ReduceMax (row)\n other = Slice (row, far2, minus, start, back)\n"
    text = text.replace("gap1 = Sub", extra + "gap1 = Sub")
    constants = """far2 = Constant <value = int64[1] {69}> ()
      minus = Constant <value = int64[1] {-999}> ()
      back = Constant <value = int64[1] {-1}> ()
      last = Scan"""
    check(text.replace("last = Scan", constants), bordered_feed(rng, "float32", 9, 70))
    assert not grids


def test_rows_shorter_than_two_vectors_use_no_wavefront(grids, rng):
    """As many columns as lanes are not enough: most steps would be half empty."""
    check(text("int64", 20, LEVENSHTEIN), feed(rng, "int64", 40, 20))
    assert all(grid.width >= 2 * grid.lanes for grid in grids)


def affine(dtype, columns):
    """Alignments with affine gaps: two carried rows, and scores of a table by two indices."""
    word = WORDS[dtype]
    return f"""g (int64[N] s, int64[{columns}] t, {word}[5, 5] scores, {word}[{columns}] h0,
      {word} zero, {word} open, {word} more) => ({word}[{columns}] last, {word}[N, {columns}] all,
      {word}[N, {columns}] gaps) {{
      last, f, k, all, gaps = Scan <num_scan_inputs = 1, body = outer ({word}[{columns}] h,
        {word}[{columns}] f, {word} k, int64 a) => ({word}[{columns}] h1, {word}[{columns}] f1,
        {word} k1, {word}[{columns}] row, {word}[{columns}] gap) {{
        k1 = Sub (k, more)
        line = Gather <axis = 0> (scores, a)
        le, di, e, h1, f1 = Scan <num_scan_inputs = 3, body = inner ({word} left, {word} diagonal,
          {word} e, {word} above, {word} fabove, int64 c) => ({word} lo, {word} do, {word} eo,
          {word} cell, {word} fcell) {{
          o1 = Sub (left, open)
          e1 = Sub (e, more)
          eo = Max (o1, e1)
          o2 = Sub (above, open)
          f2 = Sub (fabove, more)
          fcell = Max (o2, f2)
          score = Gather (line, c)
          met = Add (diagonal, score)
          lo = Max (met, eo, fcell)
          cell = Identity (lo)
          do = Identity (above)
        }}> (k1, k, open, h, f, t)
        row = Identity (h1)
        gap = Identity (f1)
      }}> (h0, h0, zero, s)
    }}"""


def affine_feed(rng, dtype, rows, columns):
    low = 0 if dtype == "uint8" else -4
    return {
        "s": rng.integers(0, 5, rows), "t": rng.integers(0, 5, columns),
        "scores": rng.integers(low, 9, (5, 5)).astype(dtype),
        "h0": rng.integers(low, 9, columns).astype(dtype), "zero": np.array(0, dtype),
        "open": np.array(3, dtype), "more": np.array(1, dtype),
    }  # fmt: skip


@pytest.mark.parametrize("rows", [0, 1, 3, 16, 17, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_two_carried_rows_and_scores_of_a_table(rows, dtype, grids, rng):
    with np.errstate(over="ignore"):
        check(affine(dtype, 64), affine_feed(rng, dtype, rows, 64))
    assert [len(grid.carried) for grid in grids] == [2]


def test_scores_that_are_not_numbers_propagate(grids, rng):
    feed = affine_feed(rng, "float32", 20, 64)
    feed["scores"][2, 3] = np.nan
    check(affine("float32", 64), feed)
    assert grids


@pytest.mark.parametrize("wrong", [5, -6])
def test_a_score_out_of_range_ends_the_run(wrong, grids, rng):
    session = treadle.InferenceSession(HEAD + affine("float32", 64), engines=("jit", "interp"))
    feed = affine_feed(rng, "float32", 20, 64)
    session.run(None, feed)
    assert grids
    feed["s"][19] = wrong
    with pytest.raises(RunError, match="out of bounds"):
        session.run(None, feed)


def test_scores_from_the_end_run_row_by_row(grids, rng):
    feed = affine_feed(rng, "float32", 20, 64)
    feed["t"][7] = -2
    check(affine("float32", 64), feed)
    assert len(grids) == 1  # of the kernel that expects no such index


PICKED = """g (float[64] row0, float[C] scores) => (float[64] last) {
  rows = Constant <value = int64 {20}> ()
  columns = Constant <value = int64 {64}> ()
  true = Constant <value = bool {1}> ()
  zero = Constant <value = float {0}> ()
  far = Constant <value = int64 {63}> ()
  last = Loop (rows, true, row0) <body = outer (int64 i, bool on, float[64] row)
    => (bool more, float[64] next) {
    more = Identity (on)
    end, next = Loop (columns, true, zero) <body = inner (int64 j, bool go, float left)
      => (bool again, float new, float cell) {
      again = Identity (go)
      PLACE
      score = Gather (scores, place)
      above = Gather (row, j)
      least = Min (above, left)
      new = Add (least, score)
      cell = Identity (new)
    }>
  }>
}"""


@pytest.mark.parametrize(
    ("place", "count"),
    [
        ("place = Mul (j, j)", 3970),
        ("k = Sub (far, j)\nkk = Mul (k, k)\nplace = Add (kk, i)", 3989),
    ],
)
def test_lanes_outside_their_row_read_nothing_beyond_the_scores(place, count, grids, rng):
    """With --fences: the lanes of a row that has begun later, or has ended, are at no column."""
    feed = {n: rng.normal(size=size).astype(np.float32) for n, size in
            (("row0", 64), ("scores", count))}  # fmt: skip
    check(PICKED.replace("PLACE", place), feed)
    assert grids
