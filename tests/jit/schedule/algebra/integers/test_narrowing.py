"""Whole numbers are computed in fewer bits where their range is proven, and nowhere else."""

from __future__ import annotations

import re

import numpy as np
import pytest

import treadle
from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.native import HEAD
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.integers.narrowing import with_narrow_numbers

COUNT = """kernel
  %b: bool[100] = input 0
  %c: bool[100] = input 1
  %x: int64[100] = input 2
  %two: int64[] = constant 2
  %m: int64[100] = cast %b
  %n: int64[100] = {n}
  %sum: int64[100] = {function} %m, %n
  %both: int64[100] = max %sum, %m
  %hit: bool[100] = {compared}
  return {result}"""


def narrowed(text: str) -> str:
    """The text of a kernel once the pass has run."""
    made = with_narrow_numbers(kernel_of(text))
    verify_kernel(made)
    return show_kernel(made)


def count(
    n: str = "cast %c",
    function: str = "add",
    compared: str = "equal %both, %two",
    result: str = "%hit",
    size: int = 100,
) -> str:
    """A kernel that counts two bools."""
    text = COUNT.format(n=n, function=function, compared=compared, result=result)
    return text.replace("100", str(size))


@pytest.mark.parametrize(
    "n",
    ["cast %c", "and %x, %two", "mod %x, %two", "mul %m, %two", "min %m, %two", "where %b, %m, %m"],
)
def test_values_of_few_bits_are_computed_in_8(n: str) -> None:
    shown = narrowed(count(n))
    assert re.search(r"int(8|16)\[100\] = add", shown)
    assert "int64[100] = add" not in shown


@pytest.mark.parametrize(
    ("most", "bits"),
    [(126, 8), (127, 16), (2**15 - 2, 16), (2**15 - 1, 32), (2**31 - 2, 32), (2**31 - 1, 64)],
)
def test_the_type_holds_every_value(most: int, bits: int, rng: np.random.Generator) -> None:
    text = count("and %x, %two").replace("constant 2", f"constant {most}")
    shown = narrowed(text)
    assert f"int{bits}[100] = add" in shown
    b, x = rng.random(100) < 0.5, rng.integers(-(2**63), 2**63 - 1, 100)
    x[:50] = most
    (found,) = run_kernel(shown, b, b, x)
    np.testing.assert_array_equal(found, np.maximum(b + (x & most), b) == most)


@pytest.mark.parametrize(
    ("most", "bits"), [(126, 8), (127, 16), (2**15 - 2, 16), (2**15 - 1, 32), (2**31 - 1, 32)]
)
def test_numbers_of_32_bits_are_narrowed_to_16_at_most(
    most: int, bits: int, rng: np.random.Generator
) -> None:
    text = count("and %x, %two").replace("int64", "int32").replace("constant 2", f"constant {most}")
    shown = narrowed(text)
    assert f"int{bits}[100] = add" in shown
    b, x = rng.random(100) < 0.5, rng.integers(-(2**31), 2**31 - 1, 100, np.int32)
    x[:50] = most
    (found,) = run_kernel(shown, b, b, x)
    np.testing.assert_array_equal(found, np.maximum(b + (x & np.int32(most)), b) == most)


@pytest.mark.parametrize("wide", ["int32", "int64"])
def test_numbers_of_a_type_that_become_the_other(wide: str, rng: np.random.Generator) -> None:
    other = {"int32": "int64", "int64": "int32"}[wide]
    lines = f"""  %k: {other}[100] = cast %sum
  %l: {other}[100] = add %k, %k
  %o: {other}[100] = max %l, %k
  %more: bool[100] = greater %o, %l
  return %hit, %more"""
    text = count("and %x, %two").replace("int64", wide).replace("  return %hit", lines)
    shown = narrowed(text)
    assert shown.count("int8[100] = add") == 2
    b, x = rng.random(100) < 0.5, rng.integers(-9, 9, 100, np.dtype(wide))
    for one, same in zip(run_kernel(shown, b, b, x), run_kernel(text, b, b, x), strict=True):
        np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize(("function", "number"), [("mul", 2), ("div", 1), ("mod", 2)])
def test_products_and_divisions_have_at_least_16_bits(function: str, number: int) -> None:
    text = count(f"{function} %m, %two").replace("constant 2", f"constant {number}")
    assert f"int16[100] = {function}" in narrowed(text)


@pytest.mark.parametrize(
    ("number", "function", "sums"), [(1, "mul", 1), (0, "mul", 0), (0, "add", 1)]
)
def test_what_changes_nothing_is_not_computed(
    number: int, function: str, sums: int, rng: np.random.Generator
) -> None:
    text = count(f"{function} %m, %two").replace("constant 2", f"constant {number}")
    shown = narrowed(text)
    assert (shown.count(" = mul "), shown.count(" = add ")) == (0, sums)
    b = rng.random(100) < 0.5
    for one, same in zip(
        run_kernel(shown, b, b, b * 1), run_kernel(text, b, b, b * 1), strict=True
    ):
        np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize(
    "text",
    [
        count("add %x, %two"),  # of any number
        count("shl %m, %two"),  # without a rule
        count(size=16),  # less than a few vectors
        count(result="%sum, %both"),  # cast back as soon as they are there
        count("mod %x, %two", "sub", result="%hit, %sum, %n, %m"),
    ],
)
def test_others_stay(text: str) -> None:
    assert narrowed(text) == show_kernel(kernel_of(text))


CARRIED = """kernel
  %b: bool[100] = input 0
  %s0: int64[100] = {first}
  %trip: int64[] = constant 5
  %big: int64[] = constant 4294967296
  %one: int64[] = constant 1
  %mask: int64[] = constant 65535
  %1 = loop trip %trip extent 5 carries %s = %s0
    %s: int64[100] = carried 0
    %m: int64[100] = cast %b
    %more: int64[100] = add %s, %one
    %sum: int64[100] = add %more, %m
    %hit: bool[100] = greater %sum, %one
    %next: int64[100] = {after}
    yield %next
    stack %hit along 0
  %last: int64[100] = result 0 of %1
  %all: bool[5,100] = result 1 of %1
  return %last, %all"""


@pytest.mark.parametrize(
    ("after", "fits"),
    [
        ("and %sum, %mask", True),
        ("min %sum, %mask", True),
        ("cast %hit", True),
        ("where %hit, %m, %s", True),
        ("identity", True),
        ("sub %s, %m", True),
        ("mul %sum, %sum", False),
        ("add %sum, %s", False),
        ("and %sum, %big", False),
    ],
)
def test_carried_values_stay_within_bounds_that_no_iteration_leaves(
    after: str, fits: bool, rng: np.random.Generator
) -> None:
    text = CARRIED.format(first="cast %b", after=after)
    if after == "identity":  # a count of as many iterations as there are
        line = "    %next: int64[100] = identity\n"
        text = text.replace(line, "").replace("yield %next", "yield %sum")
    shown = narrowed(text)
    assert ("int64[100] = carried 0" not in shown) == fits
    b = rng.random(100) < 0.5
    for one, other in zip(run_kernel(shown, b), run_kernel(text, b), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("wide", ["int64", "int32"])
def test_a_value_that_starts_as_any_number_stays(wide: str) -> None:
    text = CARRIED.format(first="input 1", after="and %sum, %mask").replace(
        "%trip: int64", "%trip: T"
    )
    text = text.replace("4294967296", "65536").replace("int64", wide).replace("T", "int64")
    assert f"{wide}[100] = carried 0" in narrowed(text)


NESTED = """kernel
  %b: bool[6,100] = input 0
  %n: int64[] = input 1
  %s0: int64[] = constant 0
  %most: int64[] = constant 9
  %1 = loop trip %n extent n0 carries %s = %z
    %s: int64[100] = carried 0
    %2 = loop length 6 extent 6 carries %t = %s
      %t: int64[100] = carried 0
      %row: bool[100] = scan slice along 0 of %b
      %m: int64[100] = cast %row
      %sum: int64[100] = add %t, %m
      %high: int64[100] = min %sum, %most
      yield %high
    %last: int64[100] = result 0 of %2
    yield %last
  %end: int64[100] = result 0 of %1
  return %end"""


@pytest.mark.parametrize(("most", "fits"), [(9, True), (2**31, False)])
def test_bounds_hold_in_loops_in_loops(most: int, fits: bool, rng: np.random.Generator) -> None:
    zeros = "  %z: int64[100] = view () of %s0\n"
    text = NESTED.replace("  %1 = loop trip", f"{zeros}  %1 = loop trip").replace("extent n0 ", "")
    text = text.replace("constant 9", f"constant {most}")
    shown = narrowed(text)
    assert (shown.count("int8[100] = carried 0") == 2) == fits
    b = rng.random((6, 100)) < 0.5
    for trips in (0, 1, 3):
        (found,) = run_kernel(shown, b, np.array(trips))
        np.testing.assert_array_equal(found, np.minimum(b.sum(axis=0) * trips, most))
        assert found.dtype == np.int64


def test_a_group_that_does_not_pay_stays_beside_one_that_does() -> None:
    text = (
        count(result="%hit, %k")
        .replace("  return", "  %k: int64[100] = cast %c\n  return")
        .replace("%n: int64[100] = cast %c", "%n: int64[100] = and %x, %two")
    )
    shown = narrowed(text)
    assert "int8[100] = add" in shown
    assert "int64[100] = cast" in shown


def test_groups_have_their_own_types() -> None:
    more = """  %k: int64[100] = and %x, %wide
  %l: int64[100] = add %k, %two
  %o: int64[100] = max %l, %two
  %other: bool[100] = less %o, %l
  return %hit, %other"""
    text = count().replace("  return %hit", more)
    text = text.replace("  %m:", "  %wide: int64[] = constant 65535\n  %m:")
    shown = narrowed(text)
    assert "int8[100] = add" in shown
    assert "int32[100] = add" in shown


def test_the_schedule_says_how_many() -> None:
    model = """g (int64 n, bool[100] b) => (bool[100] o) {
      o = Loop (n, "", b) <body = f (int64 i, bool go, bool[100] s) => (bool on, bool[100] t) {
        on = Identity (go)
        two = Constant <value = int64 {2}> ()
        c = Cast <to = 7> (s)
        d = Cast <to = 7> (b)
        e = Add (c, d)
        u = Max (e, c)
        t = Equal (u, two)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + model, engines=("jit", "interp"))
    session.run(None, {"n": np.array(3), "b": np.ones(100, np.bool_)})
    assert "whole numbers in fewer bits than 64: 5 nodes" in str(session.explain("schedule"))
