"""Which operands are computed in the memory of their Concat, and which are written only once."""

from __future__ import annotations

import pytest

from tests.jit.kernel_text import kernel_of, names_of
from tests.jit.schedule.test_schedule import TARGET
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

TEXT = """kernel
  %x: float32[8,34] = input 0
  %top: float32[1,32] = input 1
  %side: float32[8,1] = input 2
  %1 = loop length 9 extent 9 carries %s = %x
    %s: float32[8,34] = carried 0
    %inner: float32[6,32] = view (i0+1, i1+1) of %s
    %m: float32[6,32] = neg %inner
    %rows: float32[8,32] = concat along 0 %top, %m, %top
    %next: float32[8,34] = concat along 1 %side, %rows, %side
    yield %next
  %last: float32[8,34] = result 0 of %1
  return %last"""


def operands(text: str) -> tuple[str, str]:
    """Operands computed in the memory of a Concat; and those that the first iteration writes."""
    kernel = kernel_of(text)
    names, found = names_of(text, kernel), schedule_kernel(kernel, TARGET).concats
    into = " ".join(f"{names[node]}:{names[join]}" for node, join in found.into.items())
    once = " ".join(sorted(names[operand] for _, operand in found.once))
    return into, once


def test_nested_concats():
    assert operands(TEXT) == ("m:rows rows:next", "side top")
    shown = show_schedule(schedule_kernel(kernel_of(TEXT), TARGET))
    assert "computed in the memory of its concat: neg: float32[6,32]" in shown


SUM = "    %sum: float32[] = reduce add over (0, 1) of %m\n    yield %next"
TWICE = TEXT.replace("8,", "14,").replace("%top, %m, %top", "%m, %m, %top, %top")
LARGE = TEXT.replace("8,", "64,").replace("6,", "62,")
OTHERS = {
    "one that others read": (TEXT.replace("    yield %next", SUM), "rows:next", "side top"),
    "twice in one": (TWICE, "rows:next", "side top"),
    "a state in two buffers": (LARGE, "m:rows rows:next", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_other_forms(case):
    text, into, once = OTHERS[case]
    assert operands(text) == (into, once)
