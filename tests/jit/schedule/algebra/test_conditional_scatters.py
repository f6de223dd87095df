"""Arrays that are updated on a condition are updated in place."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.conditional_scatters import with_conditional_scatters

TABLE = """kernel
  %n: int64[] = input 0
  %t0: float32[50,3] = input 1
  %at: int64[9] = input 2
  %x: float32[9,2,3] = input 3
  %1 = loop length 9 extent 9 carries %t = %t0
    %t: float32[50,3] = carried 0
    %i: int64[] = induction variable
    %k: int64[] = scan slice along 0 of %at
    %rows: float32[2,3] = scan slice along 0 of %x
    %place: int64[1,1] = view () of %k
    %made: float32[50,3] = scatter (at 0, i1) into %t, %rows, %place
    %c: bool[] = less %i, %n
    %next: float32[50,3] = where %c, %made, %t
    yield %next
  %last: float32[50,3] = result 0 of %1
  return %last"""


def chooses_rows(text: str) -> bool:
    """Whether no array is chosen once the pass has run."""
    made = with_conditional_scatters(kernel_of(text))
    verify_kernel(made)
    shown = show_kernel(made)
    assert shown.count("scatter") == 1
    return "[50,3] = where" not in shown


@pytest.mark.parametrize("count", [0, 1, 4, 9, 20])
@pytest.mark.parametrize("turned", [False, True])
def test_the_rows_are_chosen(count, turned, rng):
    text = TABLE.replace("where %c, %made, %t", "where %c, %t, %made") if turned else TABLE
    assert chooses_rows(text)
    table, at = rng.standard_normal((50, 3)).astype("f"), rng.integers(0, 50, 9)
    x = rng.standard_normal((9, 2, 3)).astype("f")
    (found,) = run_kernel(text, count, table, at, x)
    for i, k in enumerate(at):
        if (i < count) != turned:
            table[k] = x[i, -1]
    np.testing.assert_array_equal(found, table)


@pytest.mark.parametrize(("word", "is_chosen"), [("int64", True), ("float32", False)])
def test_sums_of_whole_numbers_are_of_zero(word, is_chosen, rng):
    text = TABLE.replace("float32", word).replace("scatter (at", "scatter by add (at")
    assert chooses_rows(text) == is_chosen
    table, at = rng.integers(-9, 9, (50, 3)), rng.integers(0, 50, 9)
    x = rng.integers(-9, 9, (9, 2, 3))
    dtype = np.dtype(word)
    (found,) = run_kernel(text, 4, table.astype(dtype), at, x.astype(dtype))
    for i, k in enumerate(at[:4]):
        table[k] += x[i].sum(axis=0)
    np.testing.assert_array_equal(found, table)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("where %c, %made, %t", "where %c, %made, %t0"),
        ("%c: bool[] = less %i, %n", "%c: bool[50,3] = less %t, %t0"),
        ("    yield %next", "    yield %next\n    stack %made along 0"),
        ("into %t, ", "into %t0, "),
    ],
)
def test_other_choices_stay(old, new):
    assert not chooses_rows(TABLE.replace(old, new))
