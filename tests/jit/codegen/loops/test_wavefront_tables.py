"""Wavefronts that stack their rows: tables of all cells, behind borders, and of other rows."""

from __future__ import annotations

import pytest

from tests.jit.codegen.loops.test_wavefront import LEVENSHTEIN, WARPING, feed, text
from tests.jit.native import WORDS, check


def table(dtype, columns, cell, *, form="Scan", stacked="Identity (next)", direction=0):
    """Such rows, and the table of all of them."""
    word = WORDS[dtype]
    row = f"{word}[{columns}]"
    heads = {
        "Scan": f"""Scan <num_scan_inputs = 1, scan_output_directions = [{direction}],
          body = outer ({row} row, {word} k, {word} a) => ({row} next, {word} ko, {row} out)""",
        "Loop": f"""Loop <body = outer (int64 i, bool on, {row} row, {word} k)
          => (bool go, {row} next, {word} ko, {row} out)""",
    }
    own = {"Scan": "", "Loop": "go = Identity (on)\n a = Gather (s, i)"}
    given = {"Scan": "(row0, zero, s)", "Loop": "(count, , row0, zero)"}
    return f"""g ({word}[N] s, {word}[{columns}] t, {row} row0, {word} zero, {word} one)
      => ({row} last, {word} k1, {word}[N, {columns}] all) {{
      z = Constant <value = int64 {{0}}> ()
      shape = Shape (s)
      count = Gather (shape, z)
      last, k1, all = {heads[form]} {{
        {own[form]}
        ko = Add (k, one)
        le, di, next = Scan <num_scan_inputs = 2, body = inner ({word} left, {word} diagonal,
          {word} above, {word} c) => ({word} lo, {word} do, {word} cell) {{
          {cell}
          lo = Identity (new)
          cell = Identity (new)
          do = Identity (above)
        }}> (ko, k, row, t)
        out = {stacked}
      }}> {given[form]}
    }}"""


@pytest.mark.parametrize(
    ("form", "dtype"),
    [*(("Scan", dtype) for dtype in ("float32", "float64", "int64", "uint8")), ("Loop", "float32")],
)
def test_tables_of_all_rows(form, dtype, grids, rng):
    feeds = [feed(rng, dtype, rows, 70) for rows in (5, 0, 1, 4, 16, 33, 70)]
    check(table(dtype, 70, LEVENSHTEIN, form=form), *feeds)
    assert grids


def test_rows_that_would_have_two_buffers(grids, rng):
    """A loop in order swaps buffers of 4 kB; a wavefront has one row, also for the last rows."""
    feeds = [feed(rng, "float64", rows, 520) for rows in (17, 0, 1, 2, 18)]
    check(text("float64", 520, WARPING), *feeds)
    check(table("float64", 520, WARPING), *feeds)
    assert grids


@pytest.mark.parametrize("columns", [32, 33, 64, 65, 127, 200])
def test_tables_of_any_width(columns, grids, rng):
    feeds = [feed(rng, "float32", rows, columns) for rows in (7, 17, 32)]
    check(table("float32", columns, WARPING), *feeds)
    assert grids


@pytest.mark.parametrize("cell", ["new = Neg (a)", "new = Add (k, a)", "new = Identity (one)"])
def test_cells_that_are_the_same_along_a_row(cell, grids, rng):
    check(table("float32", 70, cell), feed(rng, "float32", 33, 70))


@pytest.mark.parametrize(
    "changed",
    [
        {"stacked": "Neg (next)"},
        {"direction": 1},
    ],
)
def test_other_stacks_are_made_row_by_row(changed, grids, rng):
    check(table("float32", 70, WARPING, **changed), feed(rng, "float32", 33, 70))
    assert not grids


def steps(dtype, columns, border):
    """The table of an edit distance behind its border, and which way each cell is reached."""
    word, numbers = WORDS[dtype], {"none": "", "one": "edge, ", "two": "edge, seen, "}[border]
    width = columns + numbers.count(",")
    row = f"{word}[{columns}]"
    return f"""g ({word}[N] s, {word}[{columns}] t, {row} row0, {word} zero, {word} one)
      => ({row} last, {word}[N, {width}] all, int64[N, {columns}] ways, bool[N, {columns}] met) {{
      axis = Constant <value = int64[1] {{0}}> ()
      last, k1, all, ways, met = Scan <num_scan_inputs = 1, body = outer ({row} row, {word} k,
          {word} a) => ({row} next, {word} ko, {word}[{width}] out, int64[{columns}] way,
          bool[{columns}] hit) {{
        ko = Add (k, one)
        edge = Unsqueeze (ko, axis)
        seen = Unsqueeze (a, axis)
        le, next, way, hit = Scan <num_scan_inputs = 2, body = inner ({word} left, {word} above,
          {word} c) => ({word} lo, {word} cell, int64 from, bool is) {{
          is = Equal (a, c)
          up = Add (above, one)
          along = Add (left, one)
          is_up = Less (up, along)
          least = Where (is_up, up, along)
          lo = Where (is, above, least)
          cell = Identity (lo)
          w = Cast <to = 7> (is_up)
          e = Cast <to = 7> (is)
          from = Add (w, e)
        }}> (ko, row, t)
        out = Concat <axis = 0> ({numbers}next)
      }}> (row0, zero, s)
    }}"""


@pytest.mark.parametrize("border", ["none", "one", "two"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_tables_behind_a_border_and_of_other_rows(dtype, border, grids, rng):
    feeds = [feed(rng, dtype, rows, 150) for rows in (5, 0, 1, 4, 17, 70)]
    check(steps(dtype, 150, border), *feeds)
    assert grids


def test_a_border_behind_the_rows_is_made_row_by_row(grids, rng):
    text = steps("float32", 150, "one").replace("(edge, next)", "(next, edge)")
    check(text, feed(rng, "float32", 33, 150))
    assert not grids


def test_rows_that_the_outer_loop_computes_with_run_one_after_the_other(grids, rng):
    text = steps("int64", 150, "one").replace("int64 from, bool is)", "int64 from0, bool is)")
    text = text.replace("from = Add (w, e)", "from0 = Add (w, e)")
    text = text.replace("next, way, hit", "next, way0, hit")
    text = text.replace("out = Concat", "way = Neg (way0)\n        out = Concat")
    check(text, feed(rng, "int64", 33, 150))
    assert not grids
