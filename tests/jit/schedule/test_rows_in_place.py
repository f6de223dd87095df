"""Rows taken by an index: read where they are, or copied where something may write the data."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.schedule.test_schedule import TARGET
from treadle.jit.kernel.traversal import word_of
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule
from treadle.jit.schedule.storage import assign_storage
from treadle.plan import FallbackRequired

WALK = """kernel
  %table: float32[5,40] = input 0
  %start: int64[] = input 1
  %few: int64[] = constant 4
  %zero: float32[] = constant 0.0
  %1 = loop length 6 extent 6 carries %at = %start, %sum = %zero
    %at: int64[] = carried 0
    %sum: float32[] = carried 1
    %row: float32[40] = take along 0 of %table, %at
    %item: float32[] = take along 0 of %row, %few
    %all: float32[] = reduce add over (0) of %row
    %part: float32[] = add %sum, %item
    %more: float32[] = add %part, %all
    %next: int64[] = cast %item
    yield %next, %more
  %last: float32[] = result 1 of %1
  return %last
"""

UPDATED = """kernel
  %start: float32[3,20] = input 0
  %one: int64[1,1] = constant 1
  %first: int64[] = input 1
  %1 = loop length 4 extent 4 carries %data = %start
    %data: float32[3,20] = carried 0
    %row: float32[20] = take along 0 of %data, %first
    %double: float32[20] = add %row, %row
    %wide: float32[1,20] = view (i1) of %double
    %next: float32[3,20] = scatter (at 0, i1) into %data, %wide, %one
    %back: float32[20] = sub %row, %double
    yield %next
    stack %back along 0
  %last: float32[3,20] = result 0 of %1
  %all: float32[4,20] = result 1 of %1
  return %last, %all
"""


def rows_in_place(text: str) -> int:
    """The number of rows that are not copied."""
    found = assign_storage(kernel_of(text)).in_place
    assert all(word_of(node) == "take" for node in found)
    return len(found)


def test_a_row_of_an_input_is_not_copied(rng: np.random.Generator):
    assert rows_in_place(WALK) == 1
    table = rng.integers(-5, 5, (5, 40)).astype(np.float32)
    at, total = -2, np.float32(0)
    for _ in range(6):
        total += table[at, 4] + table[at].sum()
        at = int(table[at, 4])
    (found,) = run_kernel(WALK, table, -2)
    assert found == total


def test_what_becomes_of_a_row_is_printed():
    shown = [show_schedule(schedule_kernel(kernel_of(each), TARGET)) for each in (WALK, UPDATED)]
    assert "read in the memory of the data: take: float32[40]\n" in shown[0]
    assert "read in the memory of the data" not in shown[1]


def test_a_row_out_of_range_fails():
    with pytest.raises(FallbackRequired):
        run_kernel(WALK, np.zeros((5, 40), np.float32), 5)


def test_a_row_of_a_carried_array_is_copied(rng: np.random.Generator):
    assert rows_in_place(UPDATED) == 0
    start = rng.integers(-5, 5, (3, 20)).astype(np.float32)
    last, stacked = run_kernel(UPDATED, start, 1)
    for step, back in enumerate(stacked):
        np.testing.assert_array_equal(back, -start[1] * 2**step)
    np.testing.assert_array_equal(last[1], start[1] * 16)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  return %last\n", "  return %last, %kept\n"),
        ("    yield %next, %more\n", "    yield %next, %more\n    stack %row along 0\n"),
    ],
)
def test_a_row_that_is_kept_is_copied(old: str, new: str, rng: np.random.Generator):
    text = WALK.replace(old, new).replace(
        "  %1 = loop", "  %kept: float32[40] = take along 0 of %table, %start\n  %1 = loop"
    )
    assert rows_in_place(text) == int("stack" not in text)
    run_kernel(text, rng.integers(0, 5, (5, 40)).astype(np.float32), 0)


ITEMS = """kernel
  %tables: float32[TRIPS,DEEP5,40] = input 0
  %picks: int64[TRIPS] = input 1
  %few: int64[] = constant 4
  %zero: float32[] = constant 0.0
  %1 = loop length TRIPS extent TRIPS carries %sum = %zero
    %sum: float32[] = carried 0
    %table: float32[DEEP5,40] = scan slice along 0 of %tables
    %at: int64[] = scan slice along 0 of %picks
    %row: float32[DEEP40] = take along AXIS of %table, %at
    %item: float32[DEEP] = take along AXIS of %row, %few
    %first: float32[] = view () of %item
    %more: float32[] = add %sum, %first
    yield %more
    stack %more along 0
  %last: float32[] = result 0 of %1
  %all: float32[TRIPS] = result 1 of %1
  return %last, %all
"""


def items(trips: int) -> str:
    text = ITEMS.replace("TRIPS", str(trips)).replace("AXIS", "0")
    return text.replace("[DEEP]", "[]").replace("DEEP", "")


@pytest.mark.parametrize("from_last", [False, True])
@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_a_row_of_an_item_that_a_loop_slices_is_not_copied(
    trips: int, from_last: bool, rng: np.random.Generator
):
    text = items(trips)
    if from_last:
        text = text.replace("along 0 of %tables", "along 0 from the last of %tables")
    assert rows_in_place(text) == (trips > 0)
    tables = rng.integers(-5, 5, (trips, 5, 40)).astype(np.float32)
    picks = rng.integers(-5, 5, trips)
    given = tables[::-1] if from_last else tables
    wanted = np.array([table[at, 4] for table, at in zip(given, picks, strict=True)], np.float32)
    last, found = run_kernel(text, tables, picks)
    np.testing.assert_array_equal(found, wanted.cumsum(dtype=np.float32))
    assert last == wanted.sum()


def test_a_row_across_an_item_is_copied(rng: np.random.Generator):
    """Its elements are not neighbours."""
    text = ITEMS.replace("TRIPS", "6").replace("AXIS", "1").replace("[DEEP]", "[3]")
    text = text.replace("DEEP", "3,").replace("view ()", "reduce add over (0)")
    assert rows_in_place(text) == 0
    tables = rng.integers(-5, 5, (6, 3, 5, 40)).astype(np.float32)
    picks = rng.integers(-5, 5, 6)
    _, found = run_kernel(text, tables, picks)
    np.testing.assert_array_equal(found, tables[np.arange(6), :, picks, 4].sum(1).cumsum())


@pytest.mark.parametrize(("axis", "shape", "in_place"), [(1, "5,6,40", 1), (2, "5,40,6", 0)])
def test_a_row_of_an_item_along_another_axis(
    axis: int, shape: str, in_place: int, rng: np.random.Generator
):
    """It is copied where its elements are not neighbours."""
    text = ITEMS.replace("TRIPS,DEEP5,40", shape).replace("DEEP", "").replace("AXIS", "0")
    text = text.replace("scan slice along 0 of %tables", f"scan slice along {axis} of %tables")
    text = text.replace("TRIPS", "6")
    assert rows_in_place(text) == in_place
    tables = rng.integers(-5, 5, [int(extent) for extent in shape.split(",")]).astype(np.float32)
    picks = rng.integers(-5, 5, 6)
    _, found = run_kernel(text, tables, picks)
    rows = np.moveaxis(tables, axis, 0)
    np.testing.assert_array_equal(found, rows[np.arange(6), picks, 4].cumsum())


VIEWS = {
    "(i0+1, i1)": (1, lambda table: table[1:5]),
    "(-1*i0+4, i1)": (1, lambda table: table[4:0:-1]),
    "(i0+1, i1+1)": (0, lambda table: table[1:5, 1:]),
    "(i0, -1*i1+40)": (0, lambda table: table[:4, :0:-1]),
}


@pytest.mark.parametrize("axes", VIEWS)
def test_a_row_of_a_view(axes: str, rng: np.random.Generator):
    """Only whole rows are read in the memory of what is viewed."""
    in_place, view = VIEWS[axes]
    width = 40 + ("40" in axes or "i1+1" in axes)
    text = WALK.replace("%table: float32[5,40] = input 0", f"%given: float32[5,{width}] = input 0")
    text = text.replace("  %few", f"  %table: float32[4,40] = view {axes} of %given\n  %few", 1)
    assert rows_in_place(text) == in_place
    given = rng.integers(-4, 4, (5, width)).astype(np.float32)
    (found,) = run_kernel(text, given, 1)
    (wanted,) = run_kernel(WALK.replace("[5,40]", "[4,40]"), view(given).copy(), 1)
    assert found == wanted


def test_a_row_of_an_item_that_is_out_of_range_fails():
    with pytest.raises(FallbackRequired):
        run_kernel(items(2), np.zeros((2, 5, 40), np.float32), np.array([0, 5]))
