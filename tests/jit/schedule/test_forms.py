"""The form of reductions and of searches for the best items: chosen, printed, and each is right."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

TARGET = Target("x86_64-unknown-linux-gnu", "", "", 64, 32, has_fma=True)


@pytest.mark.parametrize(
    ("rows", "last", "axis", "words"),
    [
        (40, 64, 2, "vectors along the reduced axis"),
        (64, 40, 1, "vectors along the result"),
        (64, 3, 1, "vectors along the reduced axis, for the elements of the last one at once"),
        (31, 3, 1, "vectors along the result"),
        (64, 5, 1, "vectors along the result"),
        (4097, 3, 1, "vectors along the result"),
    ],
)
def test_reductions(rows: int, last: int, axis: int, words: str, rng: np.random.Generator) -> None:
    kept = last if axis == 1 else rows
    text = f"""
    kernel
      %x: int32[20,{rows},{last}] = input 0
      %r: int32[20,{kept}] = reduce add over ({axis}) of %x
      return %r
    """
    shown = show_schedule(schedule_kernel(kernel_of(text), TARGET))
    assert f"reduction: add: int32[20,{kept}], {words}\n" in shown
    x = rng.integers(-9, 9, (20, rows, last)).astype(np.int32)
    np.testing.assert_array_equal(run_kernel(text, x)[0], x.sum(axis))


@pytest.mark.parametrize(
    ("count", "extent", "words"),
    [
        (5, 1000, "a heap of the best"),
        (127, 1000, "a heap of the best"),
        (128, 2049, "a heap of the best, then sorted"),
        (128, 2048, "all items are sorted"),
        (900, 1000, "all items are sorted"),
    ],
)
def test_searches(count: int, extent: int, words: str, rng: np.random.Generator) -> None:
    text = f"""
    kernel
      %x: int32[2,{extent}] = input 0
      %r: int64[2,{count}] = argtopk along 1 of %x
      return %r
    """
    shown = show_schedule(schedule_kernel(kernel_of(text), TARGET))
    assert f"search: argtopk: int64[2,{count}], {words}\n" in shown
    x = rng.integers(-50, 50, (2, extent)).astype(np.int32)
    wanted = np.argsort(x, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(run_kernel(text, x)[0], wanted)


@pytest.mark.parametrize(
    ("extent", "operand", "function", "words"),
    [
        (4, "tanh", "add", "written out"),
        (8, "tanh", "add", "written out, the terms in one vector"),
        (8, "tanh", "max", "written out"),
        (17, "tanh", "add", "vectors along the reduced axis"),
        (4096, "tanh", "add", "vectors along the reduced axis"),
        (4097, "tanh", "add", "vectors along the reduced axis, in blocks"),
        (4097, "tanh", "max", "vectors along the reduced axis"),
        (2**25 - 1, "tanh", "max", "vectors along the reduced axis"),
        (2**25, "tanh", "max", "vectors along the reduced axis, with safepoints"),
    ],
)
def test_reductions_to_one_number(extent: int, operand: str, function: str, words: str) -> None:
    text = f"""
    kernel
      %x: float32[{extent}] = input 0
      %y: float32[{extent}] = {operand} %x
      %r: float32[] = reduce {function} over (0) of %y
      return %r
    """
    shown = show_schedule(schedule_kernel(kernel_of(text), TARGET))
    assert f"reduction: {function}: float32[], {words}\n" in shown


def test_a_long_row_is_searched_with_safepoints() -> None:
    text = """
    kernel
      %x: int32[EXTENT] = input 0
      %r: int64[5] = argtopk along 0 of %x
      return %r
    """
    for extent, words in ((2**18 - 1, ""), (2**18, ", with safepoints")):
        kernel = kernel_of(text.replace("EXTENT", str(extent)))
        assert f"a heap of the best{words}\n" in show_schedule(schedule_kernel(kernel, TARGET))


def test_sums_in_iterations_side_by_side_are_written_out_in_parts() -> None:
    text = """
    kernel
      %x: float32[100,16] = input 0
      %1 = loop length 100 extent 100
        %i: float32[16] = scan slice along 0 of %x
        %j: float32[16] = tanh %i
        %r: float32[] = reduce add over (0) of %j
        stack %r along 0
      %y: float32[100] = result 0 of %1
      return %y
    """
    shown = show_schedule(schedule_kernel(kernel_of(text), TARGET))
    assert "strips" in shown
    assert "reduction: add: float32[], written out, in eight sums\n" in shown
