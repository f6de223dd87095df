"""Carried parts of one value, which a body joins: the value is carried, also a shift register."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, kernel_of
from tests.jit.native import check
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.joined_states import with_joined_states

HALVES = """kernel
  %x: float32[n0] = input 0
  %p: float32[4] = input 1
  %q: float32[6] = input 2
  %1 = loop length n0 extent n0 carries %a = %p, %b = %q
    %a: float32[4] = carried 0
    %b: float32[6] = carried 1
    %item: float32[] = scan slice along 0 of %x
    %row: float32[1] = view () of %item
    %whole: float32[10] = concat along 0 %a, %b
    %sum: float32[] = reduce add over (0) of %whole
    %next: float32[4] = view (i0+1) of %whole
    %kept: float32[5] = view (i0+5) of %whole
    %last: float32[6] = concat along 0 %kept, %row
    yield %next, %last
    stack %sum along 0
  %y: float32[4] = result 0 of %1
  %z: float32[6] = result 1 of %1
  %all: float32[n0] = result 2 of %1
  return %y, %z, %all"""


def test_a_shift_register_in_two_parts() -> None:
    made = with_joined_states(kernel_of(HALVES))
    verify_kernel(made)
    shown = show_kernel(made)
    assert shown.count("carried") == 1
    assert canonical_text(HALVES).count(": float32[10] = carried 0") == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%next: float32[4] = view (i0+1) of %whole", "%next: float32[4] = tanh %a"),
        (
            "%next: float32[4] = view (i0+1) of %whole",
            "%next: float32[4] = view (2*i0+1) of %whole",
        ),
        (
            "%whole: float32[10] = concat along 0 %a, %b",
            "%whole: float32[10] = concat along 0 %b, %a",
        ),
        ("view (i0+5) of %whole", "view (i0+4) of %whole"),
    ],
)
def test_parts_that_do_not_go_on_in_the_next_one_stay(old: str, new: str) -> None:
    kernel = kernel_of(HALVES.replace(old, new))
    assert with_joined_states(kernel) is kernel


LINES = """g (float[n] x, float[2,4] p, float[2,2] q, float[2,3] r) => (float[2,4] y, float[2,2] z,
  float[2,3] last, float[n,2] all) {
  y, z, last, all = Scan (p, q, r, x) <num_scan_inputs = 1,
    body = f (float[2,4] a, float[2,2] b, float[2,3] c, float item)
    => (float[2,4] s, float[2,2] t, float[2,3] u, float[2] sum) {
    shape = Constant <value = int64[2] {2, 1}> ()
    sizes = Constant <value = int64[3] {4, 2, 3}> ()
    minus = Constant <value = int64[1] {-1}> ()
    zero = Constant <value = int64[1] {0}> ()
    one = Constant <value = int64[1] {1}> ()
    many = Constant <value = int64[1] {100}> ()
    ones = Constant <value = float[9] {1, 2, 3, 4, 5, 6, 7, 8, 9}> ()
    row = Expand (item, shape)
    whole = Concat <axis = 1> (a, b, c)
    long = LONG
    after = SLICE
    s, t, u = Split <axis = 1> (after, sizes)
    product = Mul (whole, ones)
    sum = ReduceSum <keepdims = 0> (product, one)
  }>
}"""
ENDS = {
    "enter behind": ("Concat <axis = 1> (whole, row)", "Slice (long, one, many, one)"),
    "enter in front": ("Concat <axis = 1> (row, whole)", "Slice (long, zero, minus, one)"),
    "turn round": ("Concat <axis = 1> (whole, a)",
                   "Slice (long, one, ten, one)"),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDS)
def test_lines_in_three_parts(case: str, rng) -> None:
    long, cut = ENDS[case]
    text = LINES.replace("LONG", long).replace("SLICE", cut)
    text = text.replace("    row = ", "    ten = Constant <value = int64[1] {10}> ()\n    row = ")
    for rows in (0, 1, 2, 5, 40):
        feed = {"x": rng.integers(-9, 9, rows).astype(np.float32)}
        for name, width in (("p", 4), ("q", 2), ("r", 3)):
            feed[name] = rng.integers(-9, 9, (2, width)).astype(np.float32)
        check(text, feed)
