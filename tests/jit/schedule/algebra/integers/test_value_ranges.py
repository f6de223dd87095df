"""Ranges hold every number that a value can be: all operands of small ranges, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, names_of
from treadle.jit.schedule.algebra.integers.value_ranges import FUNCTIONS, Range, ranges_of

ENDS = [(-5, -2), (-3, 0), (-4, 6), (0, 0), (0, 5), (1, 1), (2, 7), (-1, 3)]
PLAIN = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "mod": np.mod, "div": lambda x, y: np.trunc(x / y).astype(np.int64),
}  # fmt: skip
SINGLE = {"neg": np.negative, "abs": np.abs, "cast": np.positive}


@pytest.mark.parametrize("name", PLAIN)
def test_results_lie_in_the_range(name: str) -> None:
    for a, b in itertools.product(ENDS, ENDS):
        found = FUNCTIONS[name](a, b)
        if name in ("mod", "div") and b[0] <= 0:
            assert found is None
            continue
        x = np.arange(a[0], a[1] + 1)[:, None]
        made = PLAIN[name](x, np.arange(b[0], b[1] + 1))
        assert found is not None
        assert found[0] <= made.min()
        assert made.max() <= found[1]


@pytest.mark.parametrize("name", SINGLE)
def test_results_of_one_operand_lie_in_the_range(name: str) -> None:
    for a in ENDS:
        found, made = FUNCTIONS[name](a), SINGLE[name](np.arange(a[0], a[1] + 1))
        assert found is not None
        assert found[0] <= made.min()
        assert made.max() <= found[1]


def test_every_rule_is_tested() -> None:
    assert set(FUNCTIONS) == {*PLAIN, *SINGLE, "where"}


KERNEL = """kernel
  %x: int64[9,4] = input 0
  %b: bool[4] = input 1
  %u: uint8[4] = input 2
  %big: int64[] = constant 9223372036854775807
  %three: int64[] = constant 3
  %at: int64[4] = iota
  %c: int64[4] = cast %b
  %d: int64[4] = cast %u
  %wraps: int64[] = add %big, %three
  %chosen: int64[4] = where %b, %c, %at
  %all: int64[8] = concat along 0 %d, %at
  %sum: int64[] = reduce add over (0) of %all
  %rest: int64[9,4] = mod %x, %three
  %1 = loop length 9 extent 9 carries %s = %three, %t = %three
    %s: int64[] = carried 0
    %t: int64[] = carried 1
    %i: int64[] = induction variable
    %row: int64[4] = scan slice along 0 of %rest
    %more: int64[] = add %s, %three
    %less: int64[] = mod %s, %three
    yield %more, %less
    stack %row along 0
  %last: int64[] = result 0 of %1
  %end: int64[] = result 1 of %1
  %rows: int64[9,4] = result 2 of %1
  return %last, %end, %rows"""
WHOLE: Range = (-(2**63), 2**63 - 1)
WANTED = {
    "x": WHOLE, "at": (0, 3), "c": (0, 1), "d": (0, 255), "wraps": WHOLE, "chosen": (0, 3),
    "all": (0, 255), "sum": (0, 2040), "rest": (0, 2), "i": (0, 8),
    "more": (6, 39), "s": (3, 36), "t": (0, 3), "row": (0, 2), "last": (3, 36),
    "end": (0, 3), "rows": (0, 2),
}  # fmt: skip


def test_ranges_follow_values_through_a_kernel() -> None:
    kernel = kernel_of(KERNEL)
    ranges = ranges_of(kernel.main) or {}
    found = {name: ranges.get(node) for node, name in names_of(KERNEL, kernel).items()}
    assert {name: found[name] for name in WANTED} == WANTED


NESTED = """kernel
  %n: int64[] = input 0
  %x: int64[] = input 1
  %zero: int64[] = constant 0
  %one: int64[] = constant 1
  %1 = loop trip %n carries %a = %zero
    %a: int64[] = carried 0
    %2 = loop length 3 extent 3 carries %b = %a
      %b: int64[] = carried 0
      %c: int64[] = add %b, %one
      yield %c
    %d: int64[] = result 0 of %2
    yield %d
  %e: int64[] = result 0 of %1
  return %e"""


def test_a_loop_in_a_loop_forgets_what_it_assumed_before() -> None:
    kernel = kernel_of(NESTED)
    ranges = ranges_of(kernel.main) or {}
    found = {name: ranges.get(node) for node, name in names_of(NESTED, kernel).items()}
    assert all(found[name] == WHOLE for name in "abcde")


GEOMETRIC = """kernel
  %one: int64[] = constant 1
  %two: int64[] = constant 2
  %1 = loop length TRIPS extent TRIPS carries %s = %one
    %s: int64[] = carried 0
    %next: int64[] = mul %s, %two
    yield %next
  %last: int64[] = result 0 of %1
  return %last"""


@pytest.mark.parametrize(("trips", "bounds"), [(10, (1, 1024)), (62, (1, 2**62)), (63, WHOLE)])
def test_products_of_few_iterations_are_bounded(trips: int, bounds: Range) -> None:
    text = GEOMETRIC.replace("TRIPS", str(trips))
    kernel = kernel_of(text)
    ranges = ranges_of(kernel.main) or {}
    found = {name: ranges.get(node) for node, name in names_of(text, kernel).items()}
    assert found["s"] == bounds == found["last"]


EARLY = """kernel
  %n: int64[] = input 0
  %go: bool[] = input 1
  %few: int64[] = constant 5
  %none: int64[] = constant 0
  %most: int64[] = min %n, %few
  %zero: float32[] = constant 0.0
  %half: float32[] = constant 0.5
  %1 = loop trip TRIPS carries %s = %zero
    %s: float32[] = carried 0
    %i: int64[] = induction variable
    %next: float32[] = add %s, %half
    %more: bool[] = less %next, %half
    while %more
    yield %next
  %last: float32[] = result 0 of %1
  return %last"""


@pytest.mark.parametrize(
    ("trips", "bounds"),
    [("%few", (0, 4)), ("%most", (0, 4)), ("%none", (0, 0)), ("%n", (0, 2**63 - 2))],
)
def test_iterations_of_a_loop_that_may_end_early_are_bounded(trips: str, bounds: Range) -> None:
    text = EARLY.replace("TRIPS", trips)
    kernel = kernel_of(text)
    ranges = ranges_of(kernel.main) or {}
    found = {name: ranges.get(node) for node, name in names_of(text, kernel).items()}
    assert found["i"] == bounds


def test_iterations_of_a_loop_without_a_trip_count_are_fewer_than_any_loop_runs() -> None:
    text = EARLY.replace("loop trip TRIPS carries", "loop carries")
    kernel = kernel_of(text)
    ranges = ranges_of(kernel.main) or {}
    found = {name: ranges.get(node) for node, name in names_of(text, kernel).items()}
    assert found["i"] == (0, 2**62 - 1)
