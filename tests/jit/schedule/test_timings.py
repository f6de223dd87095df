"""Which code of a profiled kernel has a clock, and when it runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.schedule.test_schedule import AVERAGE, GRID, TARGET
from treadle.jit.kernel.ir import Loop
from treadle.jit.schedule.schedule import Schedule, schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule
from treadle.jit.schedule.steps.timings import Iterations, Timing

COUNTER = replace(TARGET, triple="x86_64-unknown-linux-gnu")
STEPS = """kernel
  %short: float32[20] = input 0
  %long: float32[200000] = input 1
  %few: float32[{rows},400] = input 2
  %1: float32[20] = neg %short
  %2: float32[200000] = exp %long
  %3 = loop length 90 extent 90 carries %u = %few at "walk"
    %u: float32[{rows},400] = carried 0
    %each: float32[{rows},400] = exp %u
    %most: float32[] = reduce max over (0, 1) of %each
    %next: float32[{rows},400] = div %each, %most
    yield %next
  %4: float32[{rows},400] = result 0 of %3
  return %1, %2, %4"""
CALL = """kernel
  %x: float32[4] = input 0
  %1 = loop length 9 extent 9 carries %u = %x at "walk"
    %u: float32[4] = carried 0
    %2 = host call ai.onnx.ml.Scaler-1 <offset=[0.5], scale=[2.0]> (%u) -> (float32[4])
    %next: float32[4] = result 0 of %2
    yield %next
  %last: float32[4] = result 0 of %1
  return %last"""
ENDS = """kernel
  %x: float32[40] = input 0
  %1 = loop length 90 extent 90 carries %u = %x
    %u: float32[40] = carried 0
    %most: float32[] = reduce max over (0) of %u
    %next: float32[40] = sub %u, %most
    yield %next
  %last: float32[40] = result 0 of %1
  return %last"""
INNER = """kernel
  %x: float32[] = input 0
  %n: int64[] = input 1
  %1 = loop length 90 extent 90 carries %u = %x at "outer"
    %u: float32[] = carried 0
    %2 = loop {trip} carries %v = %u at "inner"
      %v: float32[] = carried 0
      %root: float32[] = sqrt %v
      yield %root
    %3: float32[] = result 0 of %2
    yield %3
  %last: float32[] = result 0 of %1
  return %last"""


def profiled(text: str) -> Schedule:
    """The schedule of a kernel that is profiled; its loops have paths."""
    kernel = replace(kernel_of(text), is_profiled=True)
    return schedule_kernel(kernel, COUNTER)


def loops(schedule: Schedule) -> dict[str, Timing | None]:
    """The clocks of loops by path."""
    found = {node.op.path: node for node in schedule.loops if isinstance(node.op, Loop)}
    return {path: schedule.timing_of(node) for path, node in found.items()}


def lines(text: str) -> list[str]:
    """What is printed of a profiled kernel's clocks."""
    shown = show_schedule(profiled(text)).splitlines()
    return [line.strip() for line in shown if "timed" in line]


@pytest.mark.parametrize("target", [COUNTER, TARGET], ids=["a counter", "none"])
def test_other_kernels_have_no_clocks(target) -> None:
    kernel = kernel_of(STEPS.format(rows=400))
    assert schedule_kernel(kernel, target).timings is None
    found = schedule_kernel(replace(kernel, is_profiled=True), target).timings
    assert (found is None) == (target is TARGET)


def test_long_code_is_timed() -> None:
    """In a loop, in one of eight runs where it might be shorter than expected."""
    whole, *steps = lines(STEPS.format(rows=400))
    assert whole == "timed, each iteration by itself"
    assert [(step.split(":")[1].split()[-1], step.split(", ")[-1]) for step in steps] == [
        ("exp", "timed"),
        ("max", "timed"),
        ("div", "timed"),
        ("nest", "timed"),
    ]
    _, unsure, _ = lines(STEPS.format(rows=10))
    assert unsure.startswith("reduction: max: float32[]")
    assert unsure.endswith("timed in one of eight runs")
    assert len(lines(STEPS.format(rows=5))) == 2  # the loop and the long row outside


def test_calls_are_timed_in_every_run() -> None:
    assert lines(CALL) == ["timed, each iteration by itself", "step: Scaler-1: bool[], timed"]


@pytest.mark.parametrize(
    ("trip", "expected"),
    [
        ("length 2 extent 2", None),
        ("length 2000 extent 2000", Timing(False, Iterations.COUNTED)),
        ("length 40000 extent 40000", Timing(True, Iterations.COUNTED)),
    ],
)
def test_an_inner_loop_is_timed_if_it_is_long(trip: str, expected: Timing | None) -> None:
    found = loops(profiled(INNER.format(trip=trip)))
    assert found["inner"] == expected
    assert found["outer"] is not None
    assert found["outer"].always


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (AVERAGE, Iterations.COUNTED),
        (GRID, Iterations.COUNTED),
        (ENDS, Iterations.ENDS),
    ],
)
def test_strategies_time_no_single_iteration(text: str, kind: Iterations) -> None:
    head, carries, rest = text.partition(" carries ")
    initials, end, rest = rest.partition("\n")
    (timing,) = (
        timing
        for path, timing in loops(profiled(f'{head}{carries}{initials} at "p"{end}{rest}')).items()
        if path == "p"
    )
    assert timing == Timing(True, kind)
