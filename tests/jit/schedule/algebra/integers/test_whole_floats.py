"""Floats that are whole numbers in a narrow range are computed in integers, others as floats."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, names_of, run_kernel
from tests.jit.schedule.algebra.integers.test_narrowing import narrowed
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.schedule.algebra.integers.value_ranges import ranges_of

COUNT = """kernel
  %b: bool[100] = input 0
  %c: bool[100] = input 1
  %x: float32[100] = input 2
  %k: int64[100] = input 3
  %a: float32[] = constant {a}
  %m: float32[100] = cast %b
  %n: float32[100] = {n}
  %sum: float32[100] = {function} %m, %n
  %both: float32[100] = max %sum, %m
  %hit: bool[100] = {compared}
  return {result}"""


def count(
    n: str = "cast %c",
    function: str = "add",
    compared: str = "equal %both, %a",
    result: str = "%hit",
    a: str = "2.0",
) -> str:
    """A kernel that counts two truths in floats."""
    return COUNT.format(n=n, function=function, compared=compared, result=result, a=a)


def arrays(rng: np.random.Generator) -> list[np.ndarray]:
    x = rng.choice(np.array([0, -0.0, 1, 2.5, np.nan, np.inf, -np.inf, 3e38], np.float32), 100)
    return [rng.random(100) < 0.5, rng.random(100) < 0.5, x, rng.integers(-(2**63), 2**63 - 1, 100)]


def assert_equal_answers(text: str, rng: np.random.Generator) -> None:
    given = arrays(rng)
    for one, same in zip(run_kernel(narrowed(text), *given), run_kernel(text, *given), strict=True):
        assert one.dtype == same.dtype
        np.testing.assert_array_equal(one.view(np.uint8), same.view(np.uint8))


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        (count(), 8),
        (count(n="mul %m, %a"), 16),
        (count(n="min %m, %a", function="sub"), 8),
        (count(n="where %c, %m, %a", function="sub", compared="less %both, %a"), 8),
        (count(n="abs %m", a="200.0"), 16),
        (count(function="max", compared="cast %both"), 8),
        (count().replace("float32", "float64"), 8),
        (count(n="mul %m, %a", a="-3.0"), 32),
        (count(n="mul %m, %a", a="1.0"), 8),
        (count(n="mul %m, %a", a="0.0"), 8),
    ],
)
def test_sums_of_truths_are_computed_in_few_bits(
    text: str, bits: int, rng: np.random.Generator
) -> None:
    shown = narrowed(text)
    assert (f"int{bits}[100] = " in shown) == (bits != 32)
    assert_equal_answers(text, rng)


@pytest.mark.parametrize(
    "text",
    [
        count(n="add %x, %a"),  # of any numbers
        count(n="cast %k"),  # of whole numbers that floats do not have
        count(n="mul %m, %a", a="-3.0"),  # 0 * -3 is -0
        count(n="neg %m"),  # -0
        count(n="mul %m, %a", a="-0.0"),
        count(n="mul %m, %a", a="0.5"),
        count(n="mul %m, %a", a="nan"),
        count(n="mul %m, %a", a="inf"),
        count(n="mul %m, %a", a="20000000.0"),
        count(n="div %m, %a"),
        count(result="%sum, %both"),  # read in all bits as soon as they are there
    ],
)
def test_other_floats_stay(text: str, rng: np.random.Generator) -> None:
    assert narrowed(text) == show_kernel(kernel_of(text))
    assert_equal_answers(text, rng)


def test_what_reads_all_bits_reads_floats(rng: np.random.Generator) -> None:
    lines = """  %t: float32[100] = add %both, %m
  %u: float32[100] = add %t, %both
  %v: float32[100] = min %u, %t
  %w: float32[100] = div %v, %x
  return %hit, %w"""
    text = count().replace("  return %hit", lines)
    assert "int8[100] = add" in narrowed(text)
    assert_equal_answers(text, rng)


@pytest.mark.parametrize("function", ["max", "min", "add"])
def test_reductions_of_truths(function: str, rng: np.random.Generator) -> None:
    text = f"""kernel
  %b: bool[30,40] = input 0
  %m: float32[30,40] = cast %b
  %r: float32[40] = reduce {function} over (0) of %m
  %s: float32[] = reduce {function} over (0) of %r
  %any: bool[] = cast %s
  return %any"""
    shown = narrowed(text)
    assert "float32" not in shown
    for share in (0, 0.001, 0.5, 1):
        b = rng.random((30, 40)) < share
        (found,) = run_kernel(shown, b)
        assert found == (b.all() if function == "min" else b.any())


def test_the_maximum_of_no_truths_stays() -> None:
    text = """kernel
  %b: bool[100,0] = input 0
  %m: float32[100,0] = cast %b
  %r: float32[100] = reduce max over (1) of %m
  %all: bool[100] = cast %r
  return %all"""
    assert narrowed(text) == show_kernel(kernel_of(text))
    (found,) = run_kernel(text, np.zeros((100, 0), np.bool_))
    assert found.all()  # -inf is not 0


CARRIED = """kernel
  %b: bool[100] = input 0
  %x: float32[100] = input 1
  %s0: float32[100] = {first}
  %trip: int64[] = constant 5
  %one: float32[] = constant 1.0
  %big: float32[] = constant 16777216.0
  %1 = loop trip %trip extent 5 carries %s = %s0
    %s: float32[100] = carried 0
    %m: float32[100] = cast %b
    %more: float32[100] = add %s, %one
    %sum: float32[100] = add %more, %m
    %hit: bool[100] = greater %sum, %one
    %next: float32[100] = {after}
    yield %next
    stack %hit along 0
  %last: float32[100] = result 0 of %1
  %all: bool[5,100] = result 1 of %1
  return %last, %all"""


@pytest.mark.parametrize(
    ("first", "after", "fits"),
    [
        ("cast %b", "cast %hit", True),
        ("cast %b", "where %hit, %m, %s", True),
        ("cast %b", "sub %m, %s", False),
        ("cast %b", "mul %sum, %sum", False),
        ("cast %b", "add %s, %big", False),
        ("cast %b", "max %x, %s", False),
        ("input 2", "cast %hit", False),
    ],
)
def test_carried_floats(first: str, after: str, fits: bool, rng: np.random.Generator) -> None:
    text = CARRIED.format(first=first, after=after)
    shown = narrowed(text)
    assert ("int8[100] = carried 0" in shown) == fits
    b, _, x, _ = arrays(rng)
    given = [b, rng.choice(np.array([-0.0, 1, np.nan], np.float32), 100), x][: 2 + ("2" in first)]
    for one, other in zip(run_kernel(shown, *given), run_kernel(text, *given), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8))


def test_ranges_of_floats() -> None:
    text = CARRIED.format(first="cast %b", after="min %sum, %one").replace(
        "  return",
        "  %p: float32[2] = constant 1.0 -0.0\n  %q: float32[2] = constant 1.0 2.0\n  return",
    )
    kernel = kernel_of(text)
    ranges = ranges_of(kernel.main) or {}
    found = {name: ranges.get(node) for node, name in names_of(text, kernel).items()}
    wanted = {"q": (1, 2), "m": (0, 1), "s": (0, 1), "last": (0, 1), "x": None, "p": None}
    assert {name: found[name] for name in wanted} == wanted
