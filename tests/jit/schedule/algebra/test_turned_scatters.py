"""Scatters into a transposed array write into the array as it is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import check
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.turned_scatters import with_turned_scatters

COLUMNS = """kernel
  %s: float32[3,4] = input 0
  %u: float32[2,3] = input 1
  %at: int64[2,1] = input 2
  %t: float32[4,3] = view (i1, i0) of %s
  %w: float32[4,3] = scatter (at 0, i1) into %t, %u, %at
  %y: float32[3,4] = view (i1, i0) of %w
  return %y"""


def test_the_array_is_not_transposed() -> None:
    made = with_turned_scatters(kernel_of(COLUMNS))
    verify_kernel(made)
    assert "scatter (i1, at 0) into %0" in show_kernel(made)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%y: float32[3,4] = view (i1, i0) of %w\n  return %y", "return %w"),
        ("view (i1, i0) of %s", "view (0, i0) of %s"),
    ],
)
def test_what_stays(old: str, new: str) -> None:
    kernel = kernel_of(COLUMNS.replace(old, new))
    assert with_turned_scatters(kernel) is kernel


MODEL = """g (float[A,B,C] x, int64[T,2] at, float[T,2] u) => (float[P,Q,R] y, float[V,S] seen) {{
  y, seen = Scan <num_scan_inputs = 2, body = f (float[A,B,C] s, int64[2] k, float[2] v)
    => (float[A,B,C] next, float[S] row) {{
    last = Constant <value = int64[2] {{1, 2}}> ()
    t = Transpose <perm = [{order}]> (s)
    old = Gather <axis = 0> (t, k)
    w = Unsqueeze (v, last)
    new = Sub (w, old)
    one = Constant <value = int64[1] {{1}}> ()
    places = Unsqueeze (k, one)
    made = ScatterND <reduction = "{reduction}"> (t, places, new)
    next = Transpose <perm = [{back}]> (made)
    row = ReduceMax <keepdims = 0> ({seen}, last)
  }}> (x, at, u)
}}"""


@pytest.mark.parametrize(
    ("seen", "reduction"), [("made", "none"), ("t", "add"), ("s", "none"), ("next", "max")]
)
@pytest.mark.parametrize(
    ("order", "back"), [("2,1,0", "2,1,0"), ("1,2,0", "2,0,1"), ("1,0,2", "1,0,2")]
)
def test_any_order_of_axes(
    order: str, back: str, seen: str, reduction: str, rng: np.random.Generator
) -> None:
    x = rng.integers(-3, 4, (5, 4, 17)).astype(np.float32)
    text = MODEL.format(order=order, back=back, seen=seen, reduction=reduction)
    for trips in (0, 1, 6):
        at = rng.integers(-4, 4, (trips, 2))
        check(text, {"x": x, "at": at, "u": rng.integers(-3, 4, (trips, 2)).astype("f")})
