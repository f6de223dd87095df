"""Which steps become functions of their own: decided before any code, and printed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.jit.kernel_text import kernel_of
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.fusion import Nest
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule
from treadle.jit.schedule.steps import step_functions

TARGET = Target("x86_64-unknown-linux-gnu", "", "", 64, 32, has_fma=True)
NESTS = """kernel parallel_threshold_ns=5000
  %c: float32[20] = input 0
  %v: float32[512,512] = input 1
  %n: int64[] = input 2
  %m: float32[n] = input 3
  %w: float32[20000,20000] = input 4
  %t: float32[100000] = input 5
  %short: float32[20] = exp %c
  %shared: float32[512,512] = exp %v
  %open: float32[n] = exp %m
  %long: float32[20000,20000] = exp %w
  %1 = loop length 6 extent 6 carries %z = %t
    %z: float32[100000] = carried 0
    %next: float32[100000] = neg %z
    yield %next
  %2: float32[100000] = result 0 of %1
  return %short, %shared, %open, %long, %2"""


@pytest.fixture(name="large")
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kernel counts as large."""
    monkeypatch.setattr(step_functions, "MIN_LONG", 0)


def once(kernel) -> list[str]:
    found = schedule_kernel(kernel, TARGET).functions.once
    return [str(node.op) for nest in found for node in nest.nodes]


def text(source: str) -> str:
    return show_schedule(schedule_kernel(kernel_of(source), TARGET))


def test_steps_of_small_kernels_are_no_functions():
    assert "functions" not in text(NESTS)
    assert "written once" not in text(NESTS)


@pytest.mark.usefixtures("large")
def test_nests_on_one_thread_are_written_once():
    """Not those that threads share, of open extents, or of a tile."""
    written = [line for line in text(NESTS).splitlines() if "written once" in line]
    assert written == [
        "main: nest: exp: float32[20], vectors along all axes, the rest of a row in smaller ones,"
        " written once with its equals"
    ]
    assert "steps are functions from 24 instructions on\n" in text(NESTS)
    assert "loop 0: register tiles" in text(NESTS)


@pytest.mark.usefixtures("large")
def test_nests_with_safepoints_are_written_where_they_stand():
    alone = NESTS.replace(" parallel_threshold_ns=5000", "")
    written = [line.split(",")[0] for line in text(alone).splitlines() if "written once" in line]
    assert written == ["main: nest: exp: float32[20]", "main: nest: exp: float32[512"]


@pytest.mark.usefixtures("large")
def test_profiled_nests_are_timed_where_they_stand():
    kernel = kernel_of(NESTS)
    assert len(once(kernel)) == 1
    assert not once(replace(kernel, is_profiled=True))


NUMBERS = """kernel
  %x: float32[20] = input 0
  %n: int64[] = constant 3
  %scale: float32[] = constant 0.5
  %base: float32[] = constant 2.0
  %shared: float32[] = constant 4.0
  %power: float32[20] = pow %base, %x
  %root: float32[20] = pow %x, %shared
  %1: float32[20] = mul %root, %scale
  %2: float32[20] = sub %power, %shared
  %both: float32[20] = add %1, %2
  return %both"""


@pytest.mark.usefixtures("large")
def test_numbers_that_only_arithmetic_reads_are_arguments():
    """Not those that other functions read too, which have forms for numbers that are known."""
    kernel = kernel_of(NUMBERS)
    found = schedule_kernel(kernel, TARGET).functions
    assert [node.op.array.item() for node in found.arguments] == [0.5]
    assert "on, numbers that are arguments: 1" in text(NUMBERS)


def test_numbers_of_small_kernels_are_no_arguments():
    assert not schedule_kernel(kernel_of(NUMBERS), TARGET).functions.arguments


@pytest.mark.usefixtures("large")
def test_only_steps_with_loops_become_functions():
    kernel = kernel_of(NESTS)
    found = schedule_kernel(kernel, TARGET)
    own = [step for step in found.blocks[kernel.main] if found.functions.may_be_one(step)]
    assert len(own) == 4
    assert all(isinstance(step, Nest) for step in own)
