"""Carried arrays that only collect a row of each iteration."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, run_kernel
from tests.jit.native import check

APPENDED = """kernel
  %0: float32[{many},4] = input 0
  %1: float32[4] = input 1
  %2: int64[] = constant 1
  %3: int64[] = constant {trips}
  %4 = loop trip %3 extent {trips} carries %5 = %1, %6 = %0
    %5: float32[4] = carried 0
    %7 as e0: int64[] = dim 0 of value 1
    %6: float32[e0,4] = carried 1
    %8: float32[4] = add %5, %1
    %9: float32[1,4] = view (i1) of %8
    %10 as e1: int64[] = add %7, %2
    %11: float32[e1,4] = concat along 0 {order}
    yield %8, %11
  %12 as e2: int64[] = dim 0 of value 1 of %4
  %13: float32[e2,4] = result 1 of %4
  return %13
"""


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("many", [0, 2])
@pytest.mark.parametrize("order", ["%6, %9", "%9, %6"])
def test_rows_put_behind_or_in_front_are_stacked(trips, many, order, rng):
    text = APPENDED.format(trips=trips, many=many, order=order)
    made = canonical_text(text)
    assert "carried 1" not in made
    assert "stack" in made
    x, y = rng.standard_normal((many, 4), np.float32), rng.standard_normal(4, np.float32)
    rows = np.outer(np.arange(2, trips + 2), y).astype(np.float32)
    parts = [x, rows] if order == "%6, %9" else [rows[::-1], x]
    for each in (text, made):
        (found,) = run_kernel(each, x, y)
        np.testing.assert_allclose(found, np.concatenate(parts), rtol=1e-5)


def test_a_collection_that_the_body_reads_is_carried():
    text = APPENDED.format(trips=5, many=0, order="%6, %9")
    text = text.replace("%8: float32[4] = add %5, %1", "%14: float32[4] = reduce add over (0) of %6"
                        "\n    %8: float32[4] = add %14, %1")  # fmt: skip
    assert "e0,4] = carried" in canonical_text(text)


REPLACED = """kernel
  %0: float32[{many},4] = input 0
  %1: float32[4] = input 1
  %2: int64[] = constant {last}
  %3: int64[] = constant 5
  %4 = loop trip %3 extent 5 carries %5 = %1, %6 = %0
    %7: int64[] = induction variable
    %5: float32[4] = carried 0
    %6: float32[{many},4] = carried 1
    %8: float32[4] = add %5, %1
    %9: float32[1,4] = view (i1) of %8
    %10: int64[] = {place}
    %11: int64[1,1] = view () of %10
    %12: float32[{many},4] = scatter (at 0, i1) into %6, %9, %11
    yield %8, %12
  %13: float32[{many},4] = result 1 of %4
  return %13
"""


@pytest.mark.parametrize(("place", "order"), [("add %7, %2", 1), ("sub %2, %7", -1)])
def test_rows_that_are_all_replaced_are_stacked(place, order, rng):
    text = REPLACED.format(many=5, last=0 if order > 0 else 4, place=place)
    made = canonical_text(text)
    assert "scatter" not in made
    assert ("from the last" in made) is (order < 0)
    x, y = rng.standard_normal((5, 4), np.float32), rng.standard_normal(4, np.float32)
    rows = np.outer(np.arange(2, 7), y).astype(np.float32)
    for each in (text, made):
        (found,) = run_kernel(each, x, y)
        np.testing.assert_allclose(found, rows[::order], rtol=1e-5)


@pytest.mark.parametrize(("many", "last"), [(6, 0), (6, 1)])
def test_rows_of_which_some_stay_are_written_in_place(many, last, rng):
    text = REPLACED.format(many=many, last=last, place="add %7, %2")
    made = canonical_text(text)
    assert "scatter" in made
    x, y = rng.standard_normal((many, 4), np.float32), rng.standard_normal(4, np.float32)
    wanted = x.copy()
    wanted[last : last + 5] = np.outer(np.arange(2, 7), y)
    (found,) = run_kernel(made, x, y)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("order", ["kept, row", "row, kept"])
@pytest.mark.parametrize("trips", [1, 2, 5])
def test_rows_of_a_loop_that_ends_early(order, trips, rng):
    """How many rows there will be is not known where the first one is written."""
    text = f"""g (float[4] x, int64 few) => (float[N,4] rows) {{
      axis = Constant <value = int64[1] {{0}}> ()
      one = Constant <value = int64 {{1}}> ()
      yes = Constant <value = bool {{1}}> ()
      empty = Constant <value = float[0,4] {{}}> ()
      more, rows = Loop (, yes, x, empty) <body = b (int64 i, bool go, float[4] s, float[M,4] kept)
        => (bool on, float[4] t, float[L,4] longer) {{
        t = Add (s, x)
        row = Unsqueeze (t, axis)
        longer = Concat <axis = 0> ({order})
        bit = BitwiseAnd (i, few)
        on = Less (bit, few)
      }}>
    }}"""
    few = {1: 0, 2: 1, 5: 4}[trips]
    x = rng.standard_normal(4, np.float32)
    check(text, {"x": x, "few": np.array(few)})
