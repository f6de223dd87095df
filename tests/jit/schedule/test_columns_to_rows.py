"""Which items and stacked outputs are columns that become rows, and which are not."""

from __future__ import annotations

import pytest

from tests.jit.kernel_text import canonical_text, kernel_of
from tests.jit.schedule.test_schedule import TARGET
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.schedule.canonical import canonical
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

TEXT = """kernel
  %x: float32[40,100] = input 0
  %a: float32[40] = input 1
  %1 = loop length 100 extent 100 carries %h = %a
    %h: float32[40] = carried 0
    %item: float32[40] = scan slice along 1 of %x
    %sum: float32[] = reduce add over (0) of %h
    %h1: float32[40] = add %item, %sum
    yield %h1
    stack %h1 along 1
  %last: float32[40] = result 0 of %1
  %y: float32[40,100] = result 1 of %1
  return %last, %y"""


def rows(text: str) -> tuple[bool, bool]:
    """Whether the item of the loop is a row, and whether it stacks rows."""
    made = canonical_text(text)
    _, _, stacked = made.partition("stack %")
    return "scan slice along 0" in made, " along 0" in stacked.splitlines()[0] if stacked else False


def test_items_and_stacked_outputs_along_the_last_axis():
    assert rows(TEXT) == (True, True)
    made = canonical_text(TEXT)
    assert "float32[100,40] = view (i1, i0) of" in made
    assert "float32[40,100] = view (i1, i0) of" in made
    shown = show_schedule(schedule_kernel(canonical(kernel_of(TEXT)), TARGET))
    assert "copy: view: float32[100,40], in tiles" in shown


def test_a_value_that_is_stacked_and_sliced_along_the_same_axis_is_not_transposed_between():
    text = TEXT.replace(
        "return %last, %y",
        """%2 = loop length 100 extent 100 carries %k = %a
    %k: float32[40] = carried 0
    %own: float32[40] = scan slice along 1 of %y
    %product: float32[] = reduce max over (0) of %k
    %k1: float32[40] = mul %own, %product
    yield %k1
  %end: float32[40] = result 0 of %2
  return %last, %end""",
    )
    assert canonical_text(text).count("view (i1, i0)") == 1


STORED = TEXT.replace("[40,100]", "[100,40]")
ALONG_ROWS = STORED.replace("slice along 1", "slice along 0").replace("along 1\n", "along 0\n")
OPEN = TEXT.replace("[40", "[n").replace("kernel\n", "kernel\n  %n: int64[] = input dim n\n")
OTHERS = {
    "columns of any number of elements": (OPEN, (True, True)),
    "any number of columns": (OPEN.replace("100", "n"), (True, True)),
    "columns of few elements": (TEXT.replace("40", "12"), (False, False)),
    "few columns": (TEXT.replace("100", "12"), (False, False)),
    "a stack from its last element on": (
        TEXT.replace("stack %h1 along 1", "stack %h1 along 1 from the last"), (True, True),
    ),
    "items from the last one on": (
        TEXT.replace("slice along 1", "slice along 1 from the last"), (True, True),
    ),
    "a stack that nothing reads": (
        TEXT.replace("return %last, %y", "return %last").replace(
            "  %y: float32[40,100] = result 1 of %1\n", ""
        ),
        (True, False),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_other_forms(case):
    text, wanted = OTHERS[case]
    assert rows(text) == wanted


def test_a_loop_that_takes_and_stacks_rows_stays_as_it_is():
    assert canonical_text(ALONG_ROWS) == show_kernel(kernel_of(ALONG_ROWS))
