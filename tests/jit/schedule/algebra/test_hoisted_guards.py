"""Guards of counters, and slices of one item between computed bounds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, run_kernel

SLICED = """kernel
  %0: float32[{rows},4] = input 0
  %1: int64[] = constant {most}
  %2: uint64[] = constant 140737488355328
  %3: int64[] = {trips}
  %4: float32[4] = input 1
  %5: int64[] = constant 0
  %6 as n: int64[] = max %3, %5
  %7 = loop trip %6 extent n carries %8 = %4
    %9 as e0: int64[] = induction variable
    %8: float32[4] = carried 0
    %10: uint64[] = cast %9
    %11: bool[] = less_equal %10, %2
    %12: bool[] = guard %11
    %13: bool[] = less_equal %9, %1
    %14: bool[] = guard %13
    %15: float32[1,4] = view (i0+e0, i1) of %0
    %16: float32[4] = view (0, i0) of %15
    %17: float32[4] = add %16, %8
    yield %17
  %18: float32[4] = result 0 of %7
  return %18
"""


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_a_slice_of_one_item_is_a_scan_slice(trips, rng):
    text = SLICED.format(rows=5, most=4, trips="input 2")
    made = canonical_text(text)
    assert "scan slice along 0" in made
    assert "    %" not in "".join(line for line in made.splitlines() if "guard" in line)
    x, h = rng.standard_normal((5, 4), np.float32), rng.standard_normal(4, np.float32)
    for each in (text, made):
        (found,) = run_kernel(each, x, h, np.int64(trips))
        np.testing.assert_allclose(found, x[:trips].sum(0) + h, rtol=1e-4, atol=1e-5)


def test_a_guard_of_what_the_loop_computes_stays():
    text = SLICED.format(rows=5, most=4, trips="input 2")
    text = text.replace("less_equal %9, %1", "less_equal %19, %1")
    text = text.replace("    %13:", "    %20: float32[] = reduce add over (0) of %8"
                        "\n    %19: int64[] = cast %20\n    %13:")  # fmt: skip
    inside = [line for line in canonical_text(text).splitlines() if line.startswith("    ")]
    assert sum("guard" in line for line in inside) == 1
