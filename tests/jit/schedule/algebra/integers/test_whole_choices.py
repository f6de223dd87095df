"""Sums that choose between whole numbers become choices."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.integers.whole_choices import with_whole_choices

SUM = """kernel
  %a: int32[7] = input 0
  %b: int32[7] = input 1
  %one: int32[] = constant 1
  %c: bool[7] = less %a, %b
  %t: int32[7] = cast %c
  %f: int32[7] = sub %one, %t
  %x: int32[7] = mul %a, %t
  %y: int32[7] = mul %f, %b
  %z: int32[7] = add %y, %x
  return %z"""


def chosen(text: str) -> bool:
    """Whether the sum is a choice once the pass has run."""
    made = with_whole_choices(kernel_of(text))
    verify_kernel(made)
    return "where" in show_kernel(made)


@pytest.mark.parametrize(
    ("old", "new"),
    [("", ""), ("%y, %x", "%x, %y"), ("%f, %b", "%b, %f"),
     ("%f: int32[7] = sub %one, %t", "%n: bool[7] = not %c\n  %f: int32[7] = cast %n")],
)  # fmt: skip
def test_such_sums_are_choices(old, new, rng):
    text = SUM.replace(old, new, 1) if old else SUM
    assert chosen(text)
    a, b = (rng.integers(-(2**31), 2**31, 7).astype(np.int32) for _ in range(2))
    (found,) = run_kernel(text, a, b)
    np.testing.assert_array_equal(found, np.where(a < b, a, b))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("constant 1", "constant 2"),
        ("sub %one, %t", "sub %t, %one"),
        ("mul %f, %b", "mul %t, %b"),
        ("add %y, %x", "sub %y, %x"),
        ("cast %c", "cast %a"),
        ("int32", "float32"),
    ],
)
def test_other_sums_stay(old, new):
    assert not chosen(SUM.replace(old, new))
