"""CSE and LICM of the kernel IR, which apply as nodes are written: text in and text out.

Equal nodes become one (common subexpression elimination), and nodes that no iteration changes leave
their loops (loop-invariant code motion).
"""

from textwrap import dedent

import pytest

from tests.jit.kernel_text import rebuilt

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
