"""What the cost model says of nests in text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jit.kernel_text import kernel_of
from treadle.jit import codegen
from treadle.jit.kernel.ir import Elementwise, Loop
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.cost_model import iteration_bound, vector_lanes

BOXES = """kernel
  %x: float32[1000] = input 0
  %order: int64[1000] = input 1
  %a: float32[] = input 2
  %i: int64[] = input 3
  %low: float32[1000] = max %x, %a
  %gap: float32[1000] = sub %x, %low
  %much: bool[1000] = greater %gap, %a
  %later: bool[1000] = greater %order, %i
  %out: bool[1000] = and %much, %later
  return %out"""


@pytest.mark.parametrize(
    ("old", "new", "lanes"),
    [
        ("", "", 16),
        ("order: int64", "order: int32", 0),
        ("float32[1000]", "float64[1000]", 0),
        ("%out: bool[1000] = and %much, %later\n  return %out", "return %later", 16),
        ("max %x, %a", "exp %x", 16),
    ],
    ids=["one of five", "narrow", "wide", "four", "a series"],
)
def test_lanes_of_a_nest_with_few_wide_elements(old: str, new: str, lanes: int) -> None:
    text = BOXES.replace(old, new)
    if "int32" in text or "float64[" in text:
        text = text.replace("%i: int64", "%i: int32" if "int32" in text else "%i: int64")
        text = text.replace("%a: float32", "%a: float64" if "float64[" in text else "%a: float32")
    functions = [n for n in all_nodes(kernel_of(text).main) if isinstance(n.op, Elementwise)]
    assert vector_lanes(functions, 64) == lanes


TABLE = """kernel
  %t0: float32[4096,64] = input 0
  %k: int64[1,1] = input 1
  %row: float32[1,64] = input 2
  %1 = loop length 9 extent 9 carries %t = %t0
    %t: float32[4096,64] = carried 0
    %next: float32[4096,64] = scatter (at 0, i1) into %t, %row, %k
    yield %next
  %last: float32[4096,64] = result 0 of %1
  return %last"""


def test_code_generation_asks_no_cost_model() -> None:
    files = Path(codegen.__file__).parent.rglob("*.py")
    asking = [each.name for each in files if "cost_model" in each.read_text()]
    assert not asking, "what depends on estimated times is a part of the schedule"


def test_a_row_put_into_a_carried_table_counts_as_a_row() -> None:
    (loop,) = (n.op for n in all_nodes(kernel_of(TABLE).main) if isinstance(n.op, Loop))
    assert iteration_bound(loop.body) < 100
