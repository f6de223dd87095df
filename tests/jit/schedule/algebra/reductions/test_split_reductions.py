"""Reductions over short rows and other axes are two: over the others, and once along a row."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import check
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.reductions.split_reductions import with_split_reductions

MATRICES = """kernel
  %x: float32[3,5,12] = input 0
  %y: float32[3] = reduce max over (1, 2) of %x
  return %y"""


def test_the_other_axes_come_first() -> None:
    made = with_split_reductions(kernel_of(MATRICES))
    verify_kernel(made)
    shown = show_kernel(made)
    assert "float32[3,12] = reduce max over (1)" in shown
    assert "float32[3] = reduce max over (1)" in shown


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3,5,12", "3,5,100"),
        ("3,5,12", "3,5,2"),
        ("3,5,12", "3,2,12"),
        ("[3,5,12]", "[1,5,12]"),
        ("(1, 2)", "(1)"),
        ("(1, 2)", "(2)"),
    ],
)
def test_what_stays(old: str, new: str) -> None:
    text = MATRICES.replace(old, new)
    text = text.replace("%y: float32[3]", "%y: float32[1]") if "[1," in text else text
    text = text.replace("%y: float32[3]", "%y: float32[3,12]") if "over (1) " in text else text
    text = text.replace("%y: float32[3]", "%y: float32[3,5]") if "over (2) " in text else text
    kernel = kernel_of(text)
    assert with_split_reductions(kernel) is kernel


MODEL = """g (float[T,A,B,C] xs) => (float[T,P,Q,R] y) {{
  start = Constant <value = int64 {{0}}> ()
  last, y = Scan <num_scan_inputs = 1, body = f (int64 s, float[A,B,C] x)
    => (int64 t, float[P,Q,R] made) {{
    axes = Constant <value = int64[2] {{{axes}}}> ()
    t = Identity (s)
    made = Reduce{word} <keepdims = 1> (x, axes)
  }}> (start, xs)
}}"""


@pytest.mark.parametrize("axes", ["1,2", "0,2", "-1,-2", "2,0"])
@pytest.mark.parametrize("word", ["Max", "Min", "Sum", "Mean", "L1", "SumSquare"])
def test_as_the_program(word: str, axes: str, rng: np.random.Generator) -> None:
    x = rng.integers(-3, 4, (3, 5, 9, 12)).astype(np.float32)
    x[2, rng.random((5, 9, 12)) < 0.05] = np.nan
    check(MODEL.format(word=word, axes=axes), {"xs": x})
