"""Short loops around arrays in registers are unrolled: places that a counter gives are numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import check_uncalled
from tests.jit.schedule.test_schedule import TARGET
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule


def lattice(order: int, place: str = "Sub (last, j)") -> str:
    """A lattice filter: its inner loop reads and writes an array of `order` elements."""
    return f"""g (float[N] x, float[{order}] k) => (float[N] y) {{
      zeros = Constant <value = float[{order + 1}] {{{", ".join(["0.0"] * (order + 1))}}}> ()
      n = Constant <value = int64 {{{order}}}> ()
      yes = Constant <value = bool {{1}}> ()
      state, y = Scan <num_scan_inputs = 1, body = f (float[{order + 1}] g, float item)
        => (float[{order + 1}] kept, float out) {{
        out, turned = Loop (n, yes, item, g) <body = h
          (int64 j, bool go, float f, float[{order + 1}] s)
          => (bool on, float f1, float[{order + 1}] s1) {{
          on = Identity (go)
          zero = Constant <value = int64[1] {{0}}> ()
          one = Constant <value = int64 {{1}}> ()
          last = Constant <value = int64 {{{order - 1}}}> ()
          place = {place}
          factor = Gather (k, place)
          old = Gather (s, place)
          back = Mul (factor, old)
          f1 = Sub (f, back)
          forth = Mul (factor, f1)
          new = Add (forth, old)
          next = Add (place, one)
          at = Unsqueeze (next, zero)
          row = Unsqueeze (new, zero)
          s1 = ScatterElements (s, at, row)
        }}>
        first = Constant <value = int64[1] {{0}}> ()
        outs = Unsqueeze (out, first)
        kept = ScatterElements (turned, first, outs)
      }}> (zeros, x)
    }}"""


@pytest.mark.parametrize("order", [2, 5, 10, 16, 17])
def test_a_lattice_filter(order: int, rng: np.random.Generator) -> None:
    feed = {"x": rng.random(50, np.float32), "k": rng.random(order, np.float32) / order}
    check_uncalled(lattice(order), feed)


def test_a_place_that_is_data(rng: np.random.Generator) -> None:
    place = "Mod (j, last)"
    feed = {"x": rng.random(9, np.float32), "k": rng.random(6, np.float32) / 6}
    check_uncalled(lattice(6, place), feed)


LOOP = """kernel
  %x: float32[8] = input 0
  %trip: int64[] = constant {trips}
  %n: int64[] = constant 7
  %1 = loop trip %trip extent {trips} carries %s = %x
    %i: int64[] = induction variable
    %s: float32[8] = carried 0
    %at: int64[] = and %i, %n
    %place: int64[] = {place}
    %e: float32[] = take along 0 in range of %s, %place
    %sum: float32[8] = add %s, %e
    yield %sum
  %last: float32[8] = result 0 of %1
  return %last"""


@pytest.mark.parametrize(
    ("trips", "place", "is_unrolled"),
    [(8, "sub %n, %i", True), (17, "sub %n, %i", False), (8, "sub %n, %at", False)],
)
def test_which_loops_are_unrolled(trips: int, place: str, is_unrolled: bool) -> None:
    kernel = kernel_of(LOOP.format(trips=trips, place=place))
    shown = show_schedule(schedule_kernel(kernel, TARGET))
    assert ("in order, unrolled" in shown) == is_unrolled


SECTIONS = """g (double[N] x, double[K,5] rows, double[K,2] z0) => (double[K,2] z, double[N] y) {
  z, y = Scan <num_scan_inputs = 1, body = f (double[K,2] s, double item)
    => (double[K,2] kept, double out) {
    out, kept = Scan <num_scan_inputs = 2, body = h (double v, double[5] row, double[2] own)
      => (double w, double[2] next) {
      zero = Constant <value = int64[1] {0}> ()
      b0, b1, b2, a1, a2 = Split <axis = 0, num_outputs = 5> (row)
      z1, z2 = Split <axis = 0, num_outputs = 2> (own)
      p0 = Mul (b0, v)
      w0 = Add (p0, z1)
      w = Squeeze (w0, zero)
      p1 = Mul (b1, v)
      q1 = Mul (a1, w0)
      d1 = Sub (p1, q1)
      n1 = Add (d1, z2)
      p2 = Mul (b2, v)
      q2 = Mul (a2, w0)
      n2 = Sub (p2, q2)
      next = Concat <axis = 0> (n1, n2)
    }> (item, rows, s)
  }> (z0, x)
}"""


@pytest.mark.parametrize("sections", [1, 2, 5, 8, 9])
def test_sections_of_a_filter(sections: int, rng: np.random.Generator) -> None:
    """The states of up to eight sections are in registers, and sliced by the inner loop."""
    feeds = [
        {
            "x": rng.normal(size=count),
            "rows": rng.normal(size=(sections, 5)) / 4,
            "z0": rng.normal(size=(sections, 2)),
        }
        for count in (0, 1, 50)
    ]
    check_uncalled(SECTIONS, *feeds)
