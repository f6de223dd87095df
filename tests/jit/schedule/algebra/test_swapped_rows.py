"""Rows that change places are written where they go; the others stay."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.native import check, outcomes
from treadle import InferenceSession
from treadle.jit.kernel.ir import Loop, Scatter, Take
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.swapped_rows import with_swapped_rows
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

TARGET = Target("x86_64-unknown-linux-gnu", "", "", 64, 32, has_fma=True)
POSITIONS = " ".join(map(str, range(16)))
MOVED = f"""kernel
  %s0: float32[16,20] = input 0
  %j: uint8[9] = input 1
  %at: int64[16] = constant {POSITIONS}
  %most: int64[] = constant 15
  %two: float32[] = input 2
  %r = loop length 9 extent 9 carries %s = %s0
    %i: int64[] = induction variable
    %s: float32[16,20] = carried 0
    %ji: uint8[] = scan slice along 0 of %j
    %wide: int64[] = cast %ji
    %k: int64[] = min %wide, %most
    %isi: bool[16] = equal %at, %i
    %isk: bool[16] = equal %k, %at
    %one: int64[16] = where %isi, %k, %at
    %order: int64[16] = where %isk, %i, %one
    %next: float32[16,20] = take along 0 of %s, %order
    %faded: float32[16,20] = mul %next, %two
    yield %faded
  %last: float32[16,20] = result 0 of %r
  return %last"""


def test_two_rows(rng: np.random.Generator) -> None:
    made = with_swapped_rows(kernel_of(MOVED))
    (loop,) = (node.op for node in all_nodes(made.main) if isinstance(node.op, Loop))
    assert sum(isinstance(node.op, Scatter) for node in loop.body.nodes) == 2
    assert [node.shape for node in loop.body.nodes if isinstance(node.op, Take)] == [(20,), (20,)]
    s = rng.normal(size=(16, 20)).astype(np.float32)
    j = rng.integers(0, 30, 9).astype(np.uint8)
    j[2], j[3], j[4] = 2, 0, 255
    (got,) = run_kernel(MOVED, s, j, np.float32(2))
    for i, k in enumerate(np.minimum(j, 15)):
        s[[i, k]] = s[[k, i]]
        s *= 2
    np.testing.assert_array_equal(got, s)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("constant 15", "constant 16"),  # a row out of range
        ("where %isk, %i, %one", "where %isk, %at, %one"),  # not one row
        ("equal %k, %at", "less %k, %at"),  # not one place
        (POSITIONS, POSITIONS[2:] + " 0"),  # the others move, too
        ("take along 0 of %s, %order", "take along 0 of %s0, %at"),  # none moves
    ],
)
def test_others_are_taken(old: str, new: str) -> None:
    kernel = kernel_of(MOVED.replace(old, new))
    assert with_swapped_rows(kernel) is kernel


ELIMINATION = """g (float[24,24] m) => (float[24,24] lu, int64[24] pivots) {
  n = Constant <value = int64 {24}> ()
  none = Constant <value = int64 {0}> ()
  step = Constant <value = int64 {1}> ()
  low = Constant <value = float {-1}> ()
  one = Constant <value = int64[1] {1}> ()
  zero = Constant <value = int64[1] {0}> ()
  at = Range (none, n, step)
  down = Unsqueeze (at, one)
  lu, pivots = Loop (n, "", m) <body = b (int64 i, bool go, float[24,24] s)
    => (bool on, float[24,24] next, int64 pivot) {
    on = Identity (go)
    column = Gather <axis = 1> (s, i)
    size = Abs (column)
    done = Less (at, i)
    left = Where (done, low, size)
    pivot = ArgMax <axis = 0, keepdims = 0> (left)
    is_i = Equal (at, i)
    is_pivot = Equal (at, pivot)
    once = Where (is_i, pivot, at)
    order = Where (is_pivot, i, once)
    a = Gather <axis = 0> (s, order)
    row = Gather <axis = 0> (a, i)
    own = Gather <axis = 1> (a, i)
    first = Gather <axis = 0> (row, i)
    factor = Div (own, first)
    tall = Unsqueeze (factor, one)
    wide = Unsqueeze (row, zero)
    change = Mul (tall, wide)
    changed = Sub (a, change)
    below = Greater (down, i)
    right = Greater (at, i)
    inside = And (below, right)
    beneath = And (below, is_i)
    some = Where (inside, changed, a)
    next = Where (beneath, tall, some)
  }>
}"""


def test_elimination_stays_in_the_memory_of_the_matrix(rng: np.random.Generator) -> None:
    feeds = {"m": rng.normal(size=(24, 24)).astype(np.float32)}
    check(ELIMINATION, feeds)
    text = f'<ir_version: 10, opset_import: ["" : 21]>\n{ELIMINATION}'
    session = InferenceSession(text, engines=("jit", "interp"))
    got, pivots = session.run(None, feeds)
    a = feeds["m"].copy()
    for i, pivot in enumerate(pivots):
        assert pivot == i + abs(a[i:, i]).argmax()
        a[[i, pivot]] = a[[pivot, i]]
        a[i + 1 :, i] /= a[i, i]
        a[i + 1 :, i + 1 :] -= np.outer(a[i + 1 :, i], a[i, i + 1 :])
    np.testing.assert_allclose(got, a, 1e-3, 1e-3)
    (made,) = outcomes(session)
    shown = show_schedule(schedule_kernel(made.kernel, TARGET))
    assert "in the memory of carriedarg: scatter" in shown
    assert "in place of carried 0, only from a place on along axis 0, only from" in shown


AFTERWARDS = """g (int64 n, float[16,20] a) => (float[16,20] last, {kind} out) {{
  at = Constant <value = int64[16] {{{positions}}}> ()
  one = Constant <value = int64[1] {{1}}> ()
  tall = Unsqueeze (at, one)
  five = Constant <value = int64 {{5}}> ()
  most = Constant <value = int64 {{15}}> ()
  last, out = Loop (n, "", a) <body = b (int64 turn, bool go, float[16,20] x)
    => (bool on, float[16,20] next, {item} z) {{
    on = Identity (go)
    i = Min (turn, most)
    is_i = Equal (at, i)
    once = Where (is_i, five, at)
    is_five = Equal (at, five)
    order = Where (is_five, i, once)
    y = Gather <axis = 0> (x, order)
    below = Greater (tall, i)
    other = Neg (y)
    {rest}
  }}>
}}"""
WHOLE, NUMBER = ("float[N,16,20]", "float[16,20]"), ("float[N]", "float")


@pytest.mark.parametrize(
    ("kinds", "rest"),
    [
        (WHOLE, "next = Where (below, other, y)\n z = Identity (y)"),
        (NUMBER, "next = Where (below, other, y)\n d = Sub (next, y)\n"
         " z = ReduceSum <keepdims = 0> (d)"),
        (WHOLE, "some = Where (below, other, y)\n row = Gather <axis = 0> (some, i)\n"
         " more = Add (some, row)\n next = Where (below, more, some)\n z = Identity (y)"),
    ],
)  # fmt: skip
def test_moved_rows_are_read_after_the_next_value(
    kinds: tuple[str, str], rest: str, rng: np.random.Generator
) -> None:
    kind, item = kinds
    positions = ", ".join(map(str, range(16)))
    text = AFTERWARDS.format(kind=kind, item=item, rest=rest, positions=positions)
    check(text, {"n": np.array(4), "a": rng.integers(-9, 9, (16, 20)).astype(np.float32)})
