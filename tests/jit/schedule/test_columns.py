"""Which items and stacked outputs are columns that are transposed in tiles, and which are not."""

from __future__ import annotations

import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.schedule.test_schedule import TARGET
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


def columns(text: str) -> str:
    schedule = schedule_kernel(kernel_of(text), TARGET)
    (loop,) = schedule.loops
    return str(schedule.columns_of(loop))


def test_items_and_stacked_outputs_along_the_last_axis():
    assert columns(TEXT) == "items 1, stacked outputs 1"
    shown = show_schedule(schedule_kernel(kernel_of(TEXT), TARGET))
    assert "columns, transposed in tiles: items 1, stacked outputs 1" in shown


ROWS = TEXT.replace("[40,100]", "[100,40]")
OTHERS = {
    "slices along axis 0 are rows":
        (ROWS.replace("slice along 1", "slice along 0").replace("along 1\n", "along 0\n"), ""),
    "columns of few elements": (TEXT.replace("40", "12"), ""),
    "few columns": (TEXT.replace("100", "12"), ""),
    "a stack from its last element on":
        (TEXT.replace("stack %h1 along 1", "stack %h1 along 1 from the last"),
         "items 1, stacked outputs 1"),
    "items from the last one on":
        (TEXT.replace("slice along 1", "slice along 1 from the last"),
         "items 1, stacked outputs 1"),
    "a stack that nothing reads": (TEXT.replace("return %last, %y", "return %last"), "items 1"),
    "an operand of a Concat that others read is not in parts":
        (TEXT.replace("%x: float32[40,100] = input 0",
                      "%x0: float32[40,100] = input 0\n  %x: float32[40,100] = neg %x0\n"
                      "  %xx: float32[40,200] = concat along 1 %x, %x0")
             .replace("return %last, %y", "return %last, %y, %xx"),
         "items 1, stacked outputs 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_other_forms(case):
    text, wanted = OTHERS[case]
    assert columns(text) == wanted
