"""Bounds of carried whole numbers that grow by a step in each iteration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, names_of, run_kernel
from treadle.jit.schedule.algebra.integers.value_ranges import Range, ranges_of

TABLE = """kernel
  %x: bool[100] = input 0
  %s0: int64[100] = cast %x
  %t0: int64[100] = cast %x
  %trip: int64[] = constant 9
  %one: int64[] = constant 1
  %three: int64[] = constant 3
  %1 = loop trip %trip extent 9 carries %s = %s0, %t = %t0
    %i: int64[] = induction variable
    %s: int64[100] = carried 0
    %t: int64[100] = carried 1
    %b: int64[100] = cast %x
    %p: int64[100] = {first}
    %q: int64[100] = {second}
    yield %p, %q
  %last: int64[100] = result 0 of %1
  %other: int64[100] = result 1 of %1
  return %last, %other"""


def bounds(text: str, name: str) -> Range:
    kernel = kernel_of(text)
    ranges, names = ranges_of(kernel.main), names_of(text, kernel)
    assert ranges is not None
    return next(ranges[node] for node, known in names.items() if known == name)


STEPS = ["add %s, %b", "sub %s, %b", "add %t, %one", "min %s, %t", "max %s, %three", "neg %t",
         "abs %s", "sub %b, %t", "where %x, %s, %t", "add %s, %i"]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), [*itertools.product(STEPS, STEPS[:6])])
def test_no_element_leaves_the_bounds(first: str, second: str, rng: np.random.Generator) -> None:
    text = TABLE.format(first=first, second=second)
    ends = [bounds(text, name) for name in ("last", "other")]
    for share in (0.0, 0.5, 1.0):
        found = run_kernel(text, rng.random(100) < share)
        for (low, high), values in zip(ends, found, strict=True):
            assert low <= values.min()
            assert values.max() <= high
    assert all(high - low < 2**15 for low, high in ends)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("add %s, %s", "identity"),  # grows by as much as there is
        ("add %s, %t", "add %t, %one"),
        ("mul %s, %three", "identity"),
    ],
)
def test_other_growth_has_the_bounds_of_the_type(first: str, second: str) -> None:
    text = TABLE.format(first=first, second="add %t, %b" if second == "identity" else second)
    low, high = bounds(text, "p")
    assert high - low > 2**15


def test_an_unknown_number_of_iterations_has_the_bounds_of_the_type() -> None:
    text = TABLE.format(first="add %s, %b", second="add %t, %b")
    text = text.replace("%trip: int64[] = constant 9", "%trip: int64[] = input 1")
    text = text.replace("loop trip %trip extent 9", "loop trip %trip")
    assert bounds(text, "p")[1] == 2**63 - 1


def test_a_value_that_wraps_around_has_the_bounds_of_the_type() -> None:
    text = TABLE.format(first="add %s, %b", second="add %t, %b")
    text = text.replace("int64[100]", "int8[100]").replace("constant 9", "constant 300")
    text = text.replace("extent 9", "extent 300").replace("%one: int64", "%one: int8")
    text = text.replace("%three: int64", "%three: int8")
    assert bounds(text, "p") == (-128, 127)
