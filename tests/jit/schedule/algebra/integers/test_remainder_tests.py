"""Tests of remainders become products and comparisons, right for every number of their type."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import check
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.schedule.algebra.integers.remainder_tests import with_remainder_tests

HIT = """kernel
  %x: int64[n0] = input 0
  %d: int64[] = constant 7
  %r: int64[] = constant 1
  %rest: int64[n0] = mod %x, %d
  %hit: bool[n0] = equal %rest, %r
  return %hit"""

PAIRS = [(2, 1), (3, 0), (6, 5), (7, 1), (12, 4), (100, 99), (127, 0)]
WORDS = {"int8": 3, "uint8": 2, "int32": 6, "int64": 7, "uint64": 13}


def ends(dtype: str, rng: np.random.Generator) -> np.ndarray:
    """All numbers of a type of 8 bits; of others those at its ends, at zero, and some between."""
    info = np.iinfo(dtype)
    if info.bits == 8:
        return np.arange(info.min, info.max + 1).astype(dtype)
    near = np.arange(300, dtype=dtype)
    drawn = rng.integers(info.min, info.max, 500, dtype=dtype)
    return np.concatenate([info.min + near, info.max - near, near, near - dtype_one(dtype), drawn])


def dtype_one(dtype: str) -> np.generic:
    """The number one of a type."""
    return np.dtype(dtype).type(1)


FORMS = [
    "m{k} = Mod (v, d{k})",
    "m{k} = Mod <fmod = 1> (v, d{k})",
    "q{k} = Div (v, d{k}) p{k} = Mul (q{k}, d{k}) m{k} = Sub (v, p{k})",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", WORDS)
def test_every_remainder_is_found(dtype: str, form: str, rng: np.random.Generator) -> None:
    lines = [
        f"d{k} = Constant <value = {dtype} {{{d}}}> () r{k} = Constant <value = {dtype} {{{r}}}> ()"
        f" {form.format(k=k)} y{k} = Equal (m{k}, r{k})"
        for k, (d, r) in enumerate(PAIRS)
    ]
    elements = ", ".join(f"bool y{k}" for k in range(len(PAIRS)))
    results = ", ".join(f"bool[T] z{k}" for k in range(len(PAIRS)))
    names = ", ".join(f"z{k}" for k in range(len(PAIRS)))
    text = f"""g ({dtype}[T] x) => ({results}) {{
      {names} = Scan <num_scan_inputs = 1, body = b ({dtype} v) => ({elements}) {{
        {" ".join(lines)} }}> (x)
    }}"""
    with np.errstate(over="ignore"):
        check(text, {"x": ends(dtype, rng)})


PARTS = """%q: int64[n0] = div %x, %d
  %p: int64[n0] = mul %q, %d
  %rest: int64[n0] = sub %x, %p"""


@pytest.mark.parametrize("rest", ["mod %x, %d", "fmod %x, %d", PARTS])
def test_no_division_is_left(rest: str) -> None:
    text = HIT.replace("mod %x, %d", rest)
    if rest is PARTS:
        text = HIT.replace("%rest: int64[n0] = mod %x, %d", PARTS)
    shown = show_kernel(with_remainder_tests(kernel_of(text)))
    assert "mod" not in shown
    assert "div" not in shown
    assert "less_equal" in shown
    assert ("greater_equal" in shown) == (rest != "mod %x, %d")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("constant 7", "input 1"),
        ("constant 1", "constant 7"),
        ("constant 7", "constant -7"),
        ("equal %rest", "less %rest"),
    ],
)
def test_other_comparisons_stay(old: str, new: str) -> None:
    kernel = kernel_of(HIT.replace(old, new, 1))
    assert with_remainder_tests(kernel) is kernel


@pytest.mark.parametrize(
    ("old", "new"), [("sub %x, %p", "sub %p, %x"), ("mul %q, %d", "mul %q, %r")]
)
def test_other_differences_stay(old: str, new: str) -> None:
    text = HIT.replace("%rest: int64[n0] = mod %x, %d", PARTS).replace(old, new)
    kernel = kernel_of(text)
    assert with_remainder_tests(kernel) is kernel
