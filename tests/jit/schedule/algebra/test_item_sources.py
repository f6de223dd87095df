"""Items of joined and of reshaped tensors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, run_kernel

JOINED = """kernel
  %0: float32[6,4] = input 0
  %1: float32[6,8] = input 1
  %2: float32[4] = input 2
  %3: float32[6,12] = concat along 1 %0, %1
  %4 = loop length 6 extent 6 carries %5 = %2
    %5: float32[4] = carried 0
    %6: float32[12] = scan slice along 0{item} of %3
    %7: float32[4] = view ({first}) of %6
    %8: float32[4] = view (2*i0+5) of %6
    %9: float32[4] = mul %5, %7
    %10: float32[4] = add %9, %8
    yield %10
    stack %10 along 0
  %11: float32[6,4] = result 1 of %4
  return %11
"""
BACK = " from the last"


@pytest.mark.parametrize("item", ["", BACK])
@pytest.mark.parametrize(("first", "is_apart"), [("i0", True), ("-1*i0+3", True), ("i0+1", False)])
def test_parts_of_an_item_are_items_of_the_parts(first, is_apart, item, rng):
    """A view across two parts keeps the Concat."""
    text = JOINED.format(item=item, first=first)
    made = canonical_text(text)
    assert ("concat" not in made) is is_apart
    feeds = [rng.standard_normal(shape, np.float32) for shape in ((6, 4), (6, 8), (4,))]
    for one, other in zip(run_kernel(text, *feeds), run_kernel(made, *feeds), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_item_that_is_read_as_a_whole_stays(rng):
    text = JOINED.format(item="", first="i0").replace("stack %10", "stack %6")
    text = text.replace("%11: float32[6,4]", "%11: float32[6,12]")
    assert "concat" in canonical_text(text)


def test_rows_joined_along_the_axis_that_is_sliced_stay(rng):
    text = JOINED.format(item="", first="i0").replace(
        "concat along 1 %0, %1", "concat along 0 %0, %1"
    )
    text = text.replace("%0: float32[6,4]", "%0: float32[2,12]")
    text = text.replace("%1: float32[6,8]", "%1: float32[4,12]")
    made = canonical_text(text)
    assert "concat" in made
    feeds = [rng.standard_normal(shape, np.float32) for shape in ((2, 12), (4, 12), (4,))]
    (one,), (other,) = run_kernel(text, *feeds), run_kernel(made, *feeds)
    np.testing.assert_array_equal(one, other)


FLAT = """kernel
  %0: float32[{given}] = input 0
  %1: float32[3,4] = input 1
  %2: float32[{rows},12] = reshape %0
  %3 = loop length {rows} extent {rows} carries %4 = %1
    %4: float32[3,4] = carried 0
    %5: float32[12] = scan slice along 0 of %2
    %6: float32[3,4] = reshape %5
    %7: float32[3,4] = sub %6, %4
    yield %7
    stack %7 along 0
  %8: float32[{rows},3,4] = result 1 of %3
  return %8
"""


@pytest.mark.parametrize(
    ("given", "rows", "is_whole"),
    [("5,3,4", 5, True), ("1,3,4", 1, True), ("5,2,6", 5, False), ("6,10", 5, False)],
)
def test_items_of_a_reshaped_tensor_are_reshaped_items(given, rows, is_whole, rng):
    text = FLAT.format(given=given, rows=rows)
    made = canonical_text(text)
    assert ("reshape" not in made) is is_whole
    feeds = [rng.standard_normal([*map(int, given.split(","))], np.float32)]
    feeds.append(rng.standard_normal((3, 4), np.float32))
    (one,), (other,) = run_kernel(text, *feeds), run_kernel(made, *feeds)
    np.testing.assert_array_equal(one, other)
