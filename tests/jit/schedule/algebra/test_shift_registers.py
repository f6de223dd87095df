"""Next values that are cut out of a longer row: the same values, as shift registers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.ir import Concat, Loop
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.shift_registers import with_shift_registers

FILTER = """kernel
  %s0: float32[20] = input 0
  %x: float32[90,2] = input 1
  %1 = loop length 90 extent 90 carries %s = %s0
    %s: float32[20] = carried 0
    %new: float32[2] = scan slice along 0 of %x
    %row: float32[22] = concat along 0 %s, %new
    %next: float32[20] = view (i0+2) of %row
    %sum: float32[] = reduce add over (0) of %row
    yield %next
    stack %sum along 0
  %last: float32[20] = result 0 of %1
  %all: float32[90] = result 1 of %1
  return %last, %all"""
FRONT = FILTER.replace("%s, %new", "%new, %s").replace("(i0+2)", "(i0)")


def is_joined(text: str) -> bool:
    """Whether the next value is a Concat once the pass has run."""
    made = with_shift_registers(kernel_of(text))
    verify_kernel(made)
    (loop,) = [node.op for node in all_nodes(made.main) if isinstance(node.op, Loop)]
    return isinstance(loop.nexts[0].op, Concat)


@pytest.mark.parametrize("text", [FILTER, FRONT])
def test_rows_that_move_on_are_shift_registers(text):
    assert is_joined(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [("(i0+2)", "(i0+1)"), ("(i0+2)", "(-1*i0+21)"), ("%s, %new", "%s0, %new"),
     ("(i0+2)", "(i0)")],
)  # fmt: skip
def test_other_rows_stay(old, new):
    assert not is_joined(FILTER.replace(old, new))


@pytest.mark.parametrize("text", [FILTER, FRONT])
def test_the_numbers_stay(text, rng):
    state, x = rng.integers(-9, 9, 20), rng.integers(-9, 9, (90, 2))
    last, sums = run_kernel(text, state.astype(np.float32), x.astype(np.float32))
    wanted = []
    for new in x:
        row = np.concatenate([state, new] if text is FILTER else [new, state])
        wanted.append(row.sum())
        state = row[2:] if text is FILTER else row[:-2]
    np.testing.assert_array_equal(last, state)
    np.testing.assert_array_equal(sums, wanted)
