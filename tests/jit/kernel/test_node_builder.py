"""CSE and LICM of the kernel IR, which apply as nodes are written: text in and text out.

Equal nodes become one (common subexpression elimination), and nodes that no iteration changes leave
their loops (loop-invariant code motion).
"""

from textwrap import dedent

import pytest

from tests.jit.kernel_text import kernel_of, rebuilt
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.rebuild import rebuilt as copied

LOOP = """
kernel
  %x: float32[3] = input 0
  %index: int64[] = input 1
  %trips: int64[] = constant 4
  %1 = loop trip %trips carries %sum = %x
    %sum: float32[3] = carried 0
    {body}
    yield %next
  %last: float32[3] = result 0 of %1
  return %last"""

STRAIGHT = {
    "equal nodes become one": (
        """
        kernel
          %x: float32[3] = input 0
          %a: float32[3] = exp %x
          %b: float32[3] = exp %x
          %y: float32[3] = add %a, %b
          return %y
        """,
        """
        kernel
          %0: float32[3] = input 0
          %1: float32[3] = exp %0
          %2: float32[3] = add %1, %1
          return %2
        """,
    ),
    "operands in another order are another node": (
        """
        kernel
          %x: float32[3] = input 0
          %y: float32[3] = input 1
          %a: float32[3] = sub %x, %y
          %b: float32[3] = sub %y, %x
          return %a, %b
        """,
        """
        kernel
          %0: float32[3] = input 0
          %1: float32[3] = input 1
          %2: float32[3] = sub %0, %1
          %3: float32[3] = sub %1, %0
          return %2, %3
        """,
    ),
    "constants are equal bit by bit": (
        """
        kernel
          %x: float32[] = input 0
          %zero: float32[] = constant 0.0
          %same: float32[] = constant 0.0
          %minus: float32[] = constant -0.0
          %a: float32[] = div %x, %zero
          %b: float32[] = div %x, %same
          %c: float32[] = div %x, %minus
          return %a, %b, %c
        """,
        """
        kernel
          %0: float32[] = constant -0.0
          %1: float32[] = constant 0.0
          %2: float32[] = input 0
          %3: float32[] = div %2, %1
          %4: float32[] = div %2, %0
          return %3, %3, %4
        """,
    ),
}
BODIES = {
    "what no iteration changes leaves the loop": (
        "%slope: float32[3] = exp %x|%next: float32[3] = add %sum, %slope",
        "%0: int64[] = constant 4|%1: float32[3] = input 0|%2: int64[] = input 1|"
        "%3: float32[3] = exp %1|%4 = loop trip %0 carries %5 = %1|  %5: float32[3] = carried 0|"
        "  %6: float32[3] = add %5, %3|  yield %6|%7: float32[3] = result 0 of %4|return %7|"
        "hoisted %3",
    ),
    "what reads the carried value stays": (
        "%slope: float32[3] = exp %sum|%next: float32[3] = add %sum, %slope",
        "%0: int64[] = constant 4|%1: float32[3] = input 0|%2: int64[] = input 1|"
        "%3 = loop trip %0 carries %4 = %1|  %4: float32[3] = carried 0|"
        "  %5: float32[3] = exp %4|  %6: float32[3] = add %4, %5|  yield %6|"
        "%7: float32[3] = result 0 of %3|return %7",
    ),
    "what can fail stays where it was": (
        "%slope: float32[] = take along 0 of %x, %index|%next: float32[3] = add %sum, %slope",
        "%0: int64[] = constant 4|%1: float32[3] = input 0|%2: int64[] = input 1|"
        "%3 = loop trip %0 carries %4 = %1|  %4: float32[3] = carried 0|"
        "  %5: float32[] = take along 0 of %1, %2|  %6: float32[3] = add %4, %5|  yield %6|"
        "%7: float32[3] = result 0 of %3|return %7",
    ),
}


@pytest.mark.parametrize("name", STRAIGHT)
def test_equal_nodes(name: str) -> None:
    before, after = STRAIGHT[name]
    assert rebuilt(before) == dedent(after).strip()


@pytest.mark.parametrize("name", BODIES)
def test_nodes_in_loops(name: str) -> None:
    body, after = BODIES[name]
    text = LOOP.format(body=body.replace("|", "\n    "))
    assert rebuilt(text) == "kernel\n  " + after.replace("|", "\n  ")


IN_A_BRANCH = """kernel
  %trips: int64[] = input 0
  %limit: int64[] = input 1
  %x: float32[3] = input 2
  %y: float32[n0] = input 3
  %1 = loop trip %trips carries %sum = %x
    %i: int64[] = induction variable
    %sum: float32[3] = carried 0
    %c: bool[] = less %i, %limit
    %2 = if %c
      %wide: float32[3] = exp %x
      %open: float32[n0] = exp %y
      %total: float32[] = reduce add over (0) of %open
      %both: float32[3] = add %wide, %total
      %next: float32[3] = add %both, %sum
      yield %next
    else
      yield %sum
    %after: float32[3] = result 0 of %2
    yield %after
  %last: float32[3] = result 0 of %1
  return %last"""


def test_invariants_of_a_branch_leave_the_loop_unless_their_extents_are_open() -> None:
    before = show_kernel(copied(kernel_of(IN_A_BRANCH), {})).split("loop trip")[0]
    assert before.count("exp") == 1
    assert "float32[n0] = exp" not in before


def test_a_branch_that_is_in_no_loop_keeps_its_nodes() -> None:
    text = (
        IN_A_BRANCH.split("  %1 = loop")[0]
        + """  %c: bool[] = less %trips, %limit
  %2 = if %c
    %wide: float32[3] = exp %x
    yield %wide
  else
    yield %x
  %last: float32[3] = result 0 of %2
  return %last"""
    )
    assert "exp" not in show_kernel(copied(kernel_of(text), {})).split(" if ")[0]
