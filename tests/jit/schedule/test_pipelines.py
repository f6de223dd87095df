"""Which loops form a pipeline, and why others do not."""

from __future__ import annotations

import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.schedule.test_schedule import TARGET
from treadle.jit.kernel.ir import Loop
from treadle.jit.schedule.pipelines import Pipelines
from treadle.jit.schedule.schedule import Schedule, schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

STACKED = """kernel parallel_threshold_ns=1500
  %x: float32[100,1,32] = input 0
  %a: float32[1,32] = input 1
  %w: float32[32,32] = input 2
  %1 = loop length 100 extent 100 carries %h = %a
    %h: float32[1,32] = carried 0
    %item: float32[1,32] = scan slice along 0 of %x
    %hw: float32[1,32] = matmul %h, %w
    %sum: float32[1,32] = add %item, %hw
    %h1: float32[1,32] = tanh %sum
    yield %h1
    stack %h1 along 0
  %h_last: float32[1,32] = result 0 of %1
  %y: float32[100,1,32] = result 1 of %1
  %start: float32[1,32] = neg %a
  %2 = loop length 100 extent 100 carries %g = %start
    %g: float32[1,32] = carried 0
    %in: float32[1,32] = scan slice along 0 of %y
    %xw: float32[1,32] = matmul %in, %w
    %gw: float32[1,32] = matmul %g, %w
    %both: float32[1,32] = add %xw, %gw
    %g1: float32[1,32] = tanh %both
    yield %g1
    stack %g1 along 0
  %g_last: float32[1,32] = result 0 of %2
  %z: float32[100,1,32] = result 1 of %2
  %3 = loop length 100 extent 100 carries %s = %a
    %s: float32[1,32] = carried 0
    %from_z: float32[1,32] = scan slice along 0 of %z
    %from_y: float32[1,32] = scan slice along 0 of %y
    %residual: float32[1,32] = add %from_z, %from_y
    %sw: float32[1,32] = matmul %s, %w
    %s1: float32[1,32] = max %residual, %sw
    yield %s1
  %s_last: float32[1,32] = result 0 of %3
  return %h_last, %g_last, %s_last"""


def schedule_of(text: str, *, has_pool: bool = True) -> Schedule:
    return schedule_kernel(kernel_of(text), TARGET, has_pool=has_pool)


def lengths(found: Pipelines) -> list[int]:
    """The number of stages of each pipeline."""
    return [len(each.stages) for each in found.found.values()]


def test_a_chain_of_loops_is_a_pipeline(golden):
    schedule = schedule_of(STACKED)
    assert lengths(schedule.pipelines) == [3]
    golden("jit/schedule_pipeline.txt", show_schedule(schedule) + "\n")


def test_what_the_loops_need_comes_before_the_first():
    kernel = kernel_of(STACKED)
    schedule = schedule_kernel(kernel, TARGET)
    steps = schedule.steps_of(kernel.main)
    first = next(k for k, step in enumerate(steps) if isinstance(getattr(step, "op", 0), Loop))
    early = [node for step in steps[:first] for node in getattr(step, "nodes", (step,))]
    assert any(getattr(node.op, "function", "") == "neg" for node in early)


SECOND = "  %2 = loop length 100 extent 100 carries %g = %start"
DECLINED = [
    ("kernel parallel_threshold_ns=1500", "kernel", "the kernel uses one thread"),
    ("kernel parallel", "kernel limits_iterations parallel", "the kernel counts what its loops do"),
    ("%x: float32[100,", "%limit: float32[] = constant 4\n  %x: float32[100,",
     "their numbers of iterations are not known to be equal"),
    (SECOND, "  %late: float32[100,1,32] = neg %y\n" + SECOND,
     "a node between them reads a result of the first"),
    (SECOND, SECOND.replace("%start", "%h_last"),
     "the second reads more of the first than items of the same iteration"),
]  # fmt: skip


def changed(old: str, new: str, reason: str) -> str:
    text = STACKED.replace(old, new, 1)
    if "numbers of iterations" in reason:
        text = text.replace(
            "    yield %g1",
            "    %i: int64[] = induction variable\n    %n: float32[] = cast %i\n"
            "    %go: bool[] = less %n, %limit\n    while %go\n    yield %g1",
        )
    return text


@pytest.mark.parametrize(("old", "new", "reason"), DECLINED)
def test_loops_that_are_no_pipeline(old, new, reason):
    schedule = schedule_of(changed(old, new, reason))
    assert reason in schedule.pipelines.declined.values()
    assert f"not a pipeline with the loop that slices its output: {reason}" in show_schedule(
        schedule
    )


def test_long_iterations_are_no_turns():
    """A run stops between turns only; elsewhere the parts of a long product have safepoints."""
    text = STACKED.replace("1,32]", "2048,1024]").replace("[32,32]", "[1024,1024]")
    reason = "iterations take long, and a run stops between turns only"
    assert reason in schedule_of(text).pipelines.declined.values()


def test_a_free_kernel_has_no_pool_of_threads():
    found = schedule_of(STACKED, has_pool=False).pipelines
    assert not found.found
    assert "the kernel uses one thread" in found.declined.values()


@pytest.mark.parametrize("old", ["scan slice along 0 of %y", "stack %h1 along 0"])
def test_the_other_direction_is_not_consumed(old):
    """As in a bidirectional stack: the loop waits for the last item of the one before."""
    text = STACKED.replace(old, old.replace("along 0", "along 0 from the last"))
    assert lengths(schedule_of(text).pipelines) == [2]


def test_columns_are_handed_over_by_the_whole_stack():
    text = STACKED.replace("%y: float32[100,1,32]", "%y: float32[1,32,100]")
    text = text.replace("stack %h1 along 0", "stack %h1 along 2")
    text = text.replace("scan slice along 0 of %y", "scan slice along 2 of %y")
    declined = schedule_of(text).pipelines.declined
    assert "an item is no row of a stacked output" in declined.values()
