"""Items one place behind a row become carried values: what does, and what declines."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.ir import Loop
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.diagonals import with_carried_diagonals

GRID = """kernel
  %x: float32[6] = input 0
  %row0: float32[9] = input 1
  %edge: float32[1] = input 2
  %zero: float32[] = constant 0.5
  %1 = loop length 6 extent 6 carries %row = %row0
    %row: float32[9] = carried 0
    %a: float32[] = scan slice along 0 of %x
    %near: float32[8] = view (i0) of %row
    %behind: float32[9] = concat along 0 %edge, %near
    %2 = loop length 9 extent 9 carries %left = %zero
      %left: float32[] = carried 0
      %d: float32[] = scan slice along 0 of %behind
      %u: float32[] = scan slice along 0 of %row
      %m: float32[] = max %d, %u
      %n: float32[] = sub %m, %left
      %c: float32[] = mul %n, %a
      yield %c
      stack %c along 0
      stack %d along 0
    %next: float32[9] = result 1 of %2
    yield %next
  %last: float32[9] = result 0 of %1
  return %last"""
TWO = GRID.replace("%edge: float32[1]", "%edge: float32[2]").replace(
    "%near: float32[8] = view (i0)", "%near: float32[7] = view (i0)"
)
DECLINED = {
    "a border of two": TWO,
    "the row backwards": GRID.replace("along 0 of %behind", "along 0 from the last of %behind"),
    "the end of a row": GRID.replace("view (i0) of", "view (i0+1) of"),
    "a carried array": GRID.replace("carries %left = %zero", "carries %left = %x").replace(
        "%left: float32[]", "%left: float32[6]"
    ),
}


def states(text: str) -> list[int]:
    """The number of values that each loop carries, inner ones first."""
    made = with_carried_diagonals(kernel_of(text))
    verify_kernel(made)
    return [len(node.op.states) for node in all_nodes(made.main) if isinstance(node.op, Loop)]


def test_the_diagonal_is_carried_along_a_row():
    assert states(GRID) == [2, 1]


@pytest.mark.parametrize("text", DECLINED.values(), ids=DECLINED)
def test_other_items_stay(text):
    if "float32[6] = carried" in text:
        text = text.replace("%n: float32[] = sub %m, %left", "%n: float32[] = neg %m")
        text = text.replace("yield %c\n      stack", "yield %left\n      stack")
    assert states(text) == [1, 1]


def test_the_numbers_are_those_of_the_rows(rng):
    x, row, edge = (rng.uniform(-1, 1, n).astype(np.float32) for n in (6, 9, 1))
    (found,) = run_kernel(GRID, x, row, edge)
    for a in x:
        behind, left, cells = np.append(edge, row[:-1]), np.float32(0.5), []
        for d, u in zip(behind, row, strict=True):
            left = (max(d, u) - left) * a
            cells.append(left)
        row = np.array(cells)
    np.testing.assert_array_equal(found, row)
