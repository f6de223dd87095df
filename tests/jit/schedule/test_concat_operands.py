"""Which operands are computed in the memory of their Concat, and which are written only once."""

from __future__ import annotations

from dataclasses import replace

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


STACKED = """kernel
  %x: float32[n0] = input 0
  %z: float32[] = input 1
  %cut: int64[] = constant 7
  %n: int64[] = input dim n0
  %first as e0: int64[] = min %n, %cut
  %rest as e1: int64[] = sub %n, %first
  %a: float32[e0] = view (i0) of %x
  %b: float32[e1] = view (i0+e0) of %x
  %1 = loop length e0 extent e0 carries %s = %z
    %s: float32[] = carried 0
    %i: float32[] = scan slice along 0 of %a
    %t: float32[] = sub %i, %s
    yield %t
    stack %t along 0
  %last: float32[] = result 0 of %1
  %p: float32[e0] = result 1 of %1
  %2 = loop length e1 extent e1 carries %u = %last
    %u: float32[] = carried 0
    %j: float32[] = scan slice along 0 of %b
    %v: float32[] = sub %j, %u
    yield %v
    stack %v along 0
  %q: float32[e1] = result 1 of %2
  %y: float32[n0] = concat along 0 %p, %q
  return %y"""


def test_stacked_outputs():
    assert operands(STACKED) == ("p:y q:y", "")


SUMMED = """  %total as e2: int64[] = add %first, %rest
  %y: float32[e2] = concat along 0 %p, %q"""
LATE = STACKED.replace("  %y: float32[n0] = concat along 0 %p, %q", SUMMED)
SIDE = STACKED.replace("stack %v along 0", "stack %w along 1")
SIDE = SIDE.replace("    yield %v", "    %w: float32[1] = view () of %v\n    yield %v")
SIDE = SIDE.replace("stack %t along 0", "stack %g along 1").replace(
    "    yield %t", "    %g: float32[1] = view () of %t\n    yield %t"
)
SIDE = SIDE.replace("%p: float32[e0]", "%p: float32[1,e0]").replace(
    "%q: float32[e1]", "%q: float32[1,e1]"
)
SIDE = SIDE.replace("%y: float32[n0] = concat along 0", "%y: float32[1,n0] = concat along 1")
STACKS = {
    "extents known after the first loop": (LATE, ""),
    "along an axis behind one of extent 1": (SIDE, "p:y q:y"),
    "one that is a result too": (STACKED.replace("return %y", "return %y, %q"), "p:y"),
}  # fmt: skip


@pytest.mark.parametrize("case", STACKS)
def test_other_stacked_outputs(case):
    text, into = STACKS[case]
    assert operands(text)[0] == into


def test_a_run_that_limits_bytes_counts_stacked_outputs_by_themselves():
    kernel = replace(kernel_of(STACKED), limits_memory=True)
    assert not schedule_kernel(kernel, TARGET).concats.into
