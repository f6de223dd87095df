"""Producers that the loop which slices them computes: the same bits, and each reason to decline."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.schedule.test_schedule import TARGET
from treadle.jit.kernel.ir import Loop, Node
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.traversal import word_of
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.canonical import canonical
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

CHAIN = """kernel
  %x: float32[n0,3] = input 0
  %k: float32[3] = input 1
  %column: float32[n0,1] = input 2
  %table: float32[4,3] = input 3
  %places: int64[n0] = input 4
  %numbers: int64[n0] = iota
  %floats: float32[n0] = cast %numbers
  %wide: float32[n0,3] = view (i0) of %floats
  %part: float32[n0,3] = mul %x, %k
  %sum: float32[n0,3] = add %part, %column
  %rows: float32[n0,3] = take along 0 of %table, %places
  %both: float32[n0,3] = max %sum, %rows
  %columns: int64[3] = constant 2 0 -1
  %moved: float32[n0,3] = take along 1 of %part, %columns
  %each: float32[n0,3] = add %both, %wide
  %all: float32[n0,3] = max %each, %moved
  %1 = loop length n0 extent n0 carries %h = %k
    %h: float32[3] = carried 0
    %item: float32[3] = scan slice along 0 of %all
    %back: float32[3] = scan slice along 0 from the last of %all
    %more: float32[3] = add %h, %item
    %h1: float32[3] = sub %more, %back
    yield %h1
    stack %h1 along 0
  %stack: float32[n0,3] = result 1 of %1
  return %stack
"""


def before_loop(text: str) -> list[str]:
    """The operations of a canonical kernel before its loop, but inputs and constants."""
    made = canonical(kernel_of(text))
    verify_kernel(made)
    block = made.main.nodes
    first = next(k for k, node in enumerate(block) if isinstance(node.op, Loop))
    return [word for word in map(word_of, block[:first]) if word not in ("input", "constant")]


def slices(node: Node) -> list[str]:
    """What a loop's body slices."""
    assert isinstance(node.op, Loop)
    return [
        word_of(each.operands[0]) for each in node.op.body.nodes if word_of(each) == "scanslice"
    ]


def test_a_chain_of_producers_is_computed_in_the_loop():
    assert before_loop(CHAIN) == ["inputdim", "sub"]
    made = canonical(kernel_of(CHAIN))
    loop = next(node for node in made.main.nodes if isinstance(node.op, Loop))
    assert set(slices(loop)) == {"input"}


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_the_results_are_the_same(count: int, rng: np.random.Generator):
    x, k = rng.random((count, 3), np.float32), rng.random(3, np.float32)
    column, table = rng.random((count, 1), np.float32), rng.random((4, 3), np.float32)
    arrays = (x, k, column, table, rng.integers(-4, 4, count))
    (wanted,) = run_kernel(CHAIN, *arrays)
    (found,) = run_kernel(show_kernel(canonical(kernel_of(CHAIN)), whole=True), *arrays)
    np.testing.assert_array_equal(found, wanted)


SCALARS = """kernel
  %x: float32[20] = input 0
  %a: float32[] = input 1
  %y: float32[20] = mul %x, %a
  %1 = loop length 20 extent 20 carries %h = %a
    %h: float32[] = carried 0
    %item: float32[] = scan slice along 0 of %y
    %h1: float32[] = max %h, %item
    yield %h1
  %last: float32[] = result 0 of %1
  return %last
"""


def test_a_function_of_single_items_is_computed_in_the_loop():
    assert before_loop(SCALARS) == []


def reason(text: str) -> str:
    """Why the schedule computes a producer before the loop."""
    kernel = canonical(kernel_of(text))
    shown = show_schedule(schedule_kernel(kernel, TARGET))
    lines = [line for line in shown.splitlines() if "not sunk into it" in line]
    return "; ".join(line.rsplit(": ", 1)[1] for line in lines)


def test_a_function_with_long_code_of_single_items_is_kept():
    text = SCALARS.replace("mul %x, %a", "tanh %x")
    assert before_loop(text) == ["tanh"]
    assert reason(text) == "tanh is quicker for many iterations at once"


def test_what_is_read_elsewhere_too_is_kept():
    text = SCALARS.replace("return %last", "return %last, %y")
    assert before_loop(text) == ["mul"]
    assert reason(text) == "it is read elsewhere too"


def test_what_an_outer_loop_would_compute_again_is_kept():
    lines = SCALARS.splitlines()
    inner = ["  " + line for line in lines[4:10]]
    text = "\n".join([
        *lines[:4],
        "  %0 = loop length 2 extent 2 carries %g = %a",
        "    %g: float32[] = carried 0",
        *inner,
        "    yield %last",
        "  %end: float32[] = result 0 of %0",
        "  return %end",
    ])  # fmt: skip
    assert reason(text) == "an outer loop would compute it again"


PRODUCT = """kernel
  %x: float32[20,4] = input 0
  %w: float32[4,4] = input 1
  %y: float32[20,4] = add %x, %x
  %1 = loop length 20 extent 20 carries %h = %w
    %h: float32[4,4] = carried 0
    %item: float32[4] = scan slice along 0 of %y
    %row: float32[1,4] = view (i1) of %item
    %part: float32[1,4] = matmul %row, %w
    %h1: float32[4,4] = max %h, %part
    yield %h1
  %last: float32[4,4] = result 0 of %1
  return %last
"""


def test_the_operand_of_a_product_is_kept():
    assert before_loop(PRODUCT) == ["add"]
    assert reason(PRODUCT) == "a product or a window reads many items at once"


def test_rows_that_may_not_be_read_are_taken_before_the_loop():
    text = """kernel
  %table: float32[4,9] = input 0
  %places: int64[20] = input 1
  %start: float32[9] = input 2
  %less: bool[] = constant true
  %rows: float32[20,9] = take along 0 of %table, %places
  %1 = loop length 20 while %less carries %h = %start
    %h: float32[9] = carried 0
    %item: float32[9] = scan slice along 0 of %rows
    %h1: float32[9] = max %h, %item
    %sum: float32[] = reduce add over (0) of %h1
    %few: float32[] = constant 3.0
    %goes: bool[] = less %sum, %few
    while %goes
    yield %h1
  %last: float32[9] = result 0 of %1
  return %last
"""
    assert reason(text) == "an index out of range may be one that no iteration reads"


def test_an_item_out_of_operands_of_other_extents_is_kept():
    text = SCALARS.replace("%x: float32[20]", "%x: float32[5,4]").replace(
        "mul %x, %a", "reshape %x"
    )
    assert "reshape" in before_loop(text)
