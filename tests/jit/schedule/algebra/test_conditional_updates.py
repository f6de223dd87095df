"""Conditional updates of carried numbers: rewritten where nothing depends on the old value."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import WORDS, check
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.schedule.algebra.conditional_updates import with_plain_updates

CHOICE = """kernel
  %x: int64[n0] = input 0
  %c: bool[n0] = input 1
  %s0: int64[] = input 2
  %1 = loop length n0 extent n0 carries %s = %s0
    %s: int64[] = carried 0
    %v: int64[] = scan slice along 0 of %x
    %on: bool[] = scan slice along 0 of %c
    %more: int64[] = add %s, %v
    %next: int64[] = where %on, %more, %s
    yield %next
  %last: int64[] = result 0 of %1
  return %last"""
GREATER = CHOICE.replace("add %s, %v", "neg %v").replace(
    "where %on, %more, %s", "where %above, %v, %s"
).replace("    %next", "    %above: bool[] = greater %v, %s\n    %next")  # fmt: skip


@pytest.mark.parametrize("function", ["add", "sub", "mul", "max", "min", "and", "or", "xor"])
def test_the_condition_goes_to_the_operand(function: str) -> None:
    shown = show_kernel(with_plain_updates(kernel_of(CHOICE.replace("add", function))))
    names = [line.split(" = ")[1] for line in shown.splitlines() if " = " in line]
    assert [words.split()[0] for words in names[-3:-1]] == ["where", function]


def test_a_side_that_keeps_the_old_value_first() -> None:
    text = CHOICE.replace("where %on, %more, %s", "where %on, %s, %more")
    assert "where %3, %5, %4" not in show_kernel(with_plain_updates(kernel_of(text)))
    assert with_plain_updates(kernel_of(text)) is not kernel_of(text)


@pytest.mark.parametrize(
    ("compared", "wanted"),
    [("greater %v, %s", "max"), ("less_equal %v, %s", "min"), ("less %s, %v", "max"),
     ("greater_equal %s, %v", "min")],
)  # fmt: skip
def test_the_greater_of_two_whole_numbers(compared: str, wanted: str) -> None:
    shown = show_kernel(with_plain_updates(kernel_of(GREATER.replace("greater %v, %s", compared))))
    assert f"= {wanted} " in shown


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add %s, %v", "add %s, %s"),  # the operand is the old value
        ("add %s, %v", "sub %v, %s"),  # the old value is subtracted
        (
            "%more: int64[] = add %s, %v",
            "%t: int64[] = mul %v, %s\n    %more: int64[] = add %s, %t",
        ),
        ("where %on, %more, %s", "where %on, %more, %v"),
    ],
)
def test_other_choices_stay(old: str, new: str) -> None:
    kernel = kernel_of(CHOICE.replace(old, new))
    assert with_plain_updates(kernel) is kernel


def test_the_greater_of_floats_stays() -> None:
    kernel = kernel_of(GREATER.replace("int64", "float32"))
    assert with_plain_updates(kernel) is kernel


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "int64", "uint64", "float32", "float64"]
)
@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Max", "Min"])
def test_every_element_type(dtype: str, operator: str, rng: np.random.Generator) -> None:
    word = WORDS[dtype]
    text = f"""g ({word}[T] x, bool[T] c, {word} s0) => ({word} s, {word} t, {word} u) {{
      s, t, u = Scan <num_scan_inputs = 2, body = b ({word} si, {word} ti, {word} ui, {word} v,
        bool on) => ({word} so, {word} to, {word} uo) {{
        more = {operator} (si, v)
        so = Where (on, more, si)
        less = {operator} (v, ti)
        to = Where (on, ti, less)
        above = Greater (v, ui)
        uo = Where (above, v, ui)
      }}> (s0, s0, s0, x, c)
    }}"""
    x = rng.integers(0, 100, 100).astype(dtype)
    start = np.array(-0.0 if dtype.startswith("float") else 7, dtype)
    feeds = [
        {"x": x[:count], "c": rng.random(count) < share, "s0": start}
        for count in (100, 0, 1)
        for share in (0, 0.5, 1)
    ]
    if dtype.startswith("float") and operator in ("Max", "Min"):
        x[3] = np.nan
    with np.errstate(over="ignore"):
        check(text, *feeds)
