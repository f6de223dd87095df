"""Loops that consume stacked outputs of each other as one: the same bits, and the declines."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.schedule.test_schedule import TARGET
from treadle.jit.kernel.ir import Loop
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule
from treadle.jit.schedule.stacked_loops import consumer_of, obstacle, with_fused_loops

CASCADE = """kernel
  %a: float32[3] = input 0
  %b: float32[3] = input 1
  %x: float32[9,3] = input 2
  %k: float32[3] = input 3
  %1 = loop length 9 extent 9 carries %h = %a, %old = %b
    %h: float32[3] = carried 0
    %old: float32[3] = carried 1
    %item: float32[3] = scan slice along 0 of %x
    %part: float32[3] = mul %h, %k
    %sum: float32[3] = add %part, %item
    %h1: float32[3] = sub %sum, %old
    yield %h1, %item
    stack %h1 along 0
  %h_last: float32[3] = result 0 of %1
  %y: float32[9,3] = result 2 of %1
  %2 = loop length 9 extent 9 carries %g = %b
    %g: float32[3] = carried 0
    %in: float32[3] = scan slice along 0 of %y
    %i: int64[] = induction variable
    %n: float32[] = cast %i
    %scaled: float32[3] = mul %g, %n
    %g1: float32[3] = max %scaled, %in
    yield %g1
    stack %g1 along 0
  %g_last: float32[3] = result 0 of %2
  %z: float32[9,3] = result 1 of %2
  %3 = loop length 9 extent 9 carries %s = %a
    %s: float32[3] = carried 0
    %last_in: float32[3] = scan slice along 0 of %z
    %s1: float32[3] = add %s, %last_in
    yield %s1
  %s_last: float32[3] = result 0 of %3
  return %h_last, %g_last, %s_last"""


def loops(text: str) -> int:
    """The number of loops of a kernel once those that can be are one."""
    made = with_fused_loops(kernel_of(text))
    verify_kernel(made)
    return sum(isinstance(node.op, Loop) for node in all_nodes(made.main))


def feeds(rng) -> list[np.ndarray]:
    """Inputs of the cascade."""
    shapes = [(3,), (3,), (9, 3), (3,)]
    return [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


def test_a_chain_of_loops_is_fused():
    assert loops(CASCADE) == 1


@pytest.mark.parametrize("results", ["%h_last, %g_last, %s_last", "%y, %z, %s_last", "%s_last"])
def test_fused_loops_give_the_same_bits(results, rng):
    text = CASCADE.replace("%h_last, %g_last, %s_last", results)
    given = feeds(rng)
    wanted = run_kernel(text, *given)
    fused = show_kernel(with_fused_loops(kernel_of(text)), whole=True)
    assert fused.count(" = loop ") == 1
    for one, other in zip(run_kernel(fused, *given), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


SECOND = CASCADE[: CASCADE.index("  %3 = loop")] + "  return %h_last, %g_last"
DECLINED = [
    ("carries %g = %b", "carries %g = %h_last", "the second reads more of the first"),
    ("mul %g, %n", "mul %h_last, %n", "the second reads more of the first"),
    ("  %2 = loop", "  %between: float32[9,3] = neg %y\n  %2 = loop", "a node between them reads"),
    ("    yield %g1\n", "    %go: bool[] = less %n, %limit\n    while %go\n    yield %g1\n",
     "their numbers of iterations are not known"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "reason"), DECLINED)
def test_loops_that_cannot_be_fused(old, new, reason):
    text = SECOND.replace(old, new).replace(
        "kernel\n", "kernel\n  %limit: float32[] = constant 4\n"
    )
    kernel = kernel_of(text)
    first, second = (n for n in kernel.main.nodes if isinstance(n.op, Loop))
    assert obstacle(first, second).startswith(reason)
    assert loops(text) == 2


def test_two_of_three_loops_are_fused():
    assert loops(SECOND) == 1


@pytest.mark.parametrize("old", ["scan slice along 0 of %y", "stack %h1 along 0"])
def test_a_stack_in_another_order_is_not_consumed(old):
    new = old.replace("along 0", "along 0 from the last")
    text = SECOND.replace(old, new)
    kernel = kernel_of(text)
    first, _ = (n for n in kernel.main.nodes if isinstance(n.op, Loop))
    assert consumer_of(first) is None
    assert loops(text) == 2


def test_a_large_matrix_prevents_fusion():
    text = SECOND.replace(
        "%k: float32[3] = input 3", "%k: float32[3] = input 3\n  %w: float32[3,400] = input 4"
    )
    text = text.replace(
        "    %i: int64[]",
        "    %row: float32[1,3] = view (i1) of %in\n"
        "    %wide: float32[1,400] = matmul %row, %w\n    %i: int64[]",
    ).replace("stack %g1 along 0", "stack %g1 along 0\n    stack %wide along 0")
    kernel = kernel_of(text)
    first, second = (n for n in kernel.main.nodes if isinstance(n.op, Loop))
    assert obstacle(first, second) == "a body multiplies by a large matrix"
    assert "not one with the loop" in show_schedule(schedule_kernel(kernel_of(text), TARGET))


@pytest.mark.parametrize(("extent", "count"), [(3, 1), (3000, 2), (8192, 1)])
def test_carried_arrays_that_fit_one_loop_at_a_time_only(extent, count):
    text = SECOND.replace("[3]", f"[{extent}]").replace("[9,3]", f"[9,{extent}]")
    assert loops(text) == count
