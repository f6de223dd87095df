"""Dead nodes of kernels."""

from __future__ import annotations

import pytest

from tests.jit.kernel_text import kernel_of
from treadle.jit.kernel.dce import remove_dead_nodes
from treadle.jit.kernel.printer import show_kernel

STACKED = """kernel
  %0: int64[] = input 0
  %1: float32[n0] = input 1
  %2: int64[] = constant 1
  %3 = loop trip %0 carries %4 = %1
    %5 as e0: int64[] = dim 0 of value 0
    %4: float32[e0] = carried 0
    %6: float32[e0] = tanh %4
    yield %6
    stack %6 along 0
  %7 as e1: int64[] = dim 0 of value 1 of %3
  %8 as e2: int64[] = dim 1 of value 1 of %3
  %9: float32[e1,e2] = result 1 of %3
  %10: bool[] = equal %8, %2
  {guard}
  return %0
"""


@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_result_of_which_an_extent_is_read_stays(is_guarded):
    text = STACKED.format(guard="%11: bool[] = guard of shapes %10" if is_guarded else "")
    shown = show_kernel(remove_dead_nodes(kernel_of(text)))
    assert ("result 1 of" in shown) is is_guarded
    assert "tanh" in shown
