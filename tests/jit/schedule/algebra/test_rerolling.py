"""Loops of several equal steps an iteration: one step an iteration, where they are equal."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, kernel_of, run_kernel
from treadle.jit.kernel.ir import Loop
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.rerolling import with_rerolled_loops

FILTER = """kernel
  %s0: int64[4] = input 0
  %w: int64[4] = input 1
  %x: int64[12] = input 2
  %pairs: int64[6,2] = reshape %x
  %1 = loop length 6 extent 6 carries %s = %s0
    %s: int64[4] = carried 0
    %pair: int64[2] = scan slice along 0 of %pairs
    %a: int64[1] = view (0) of %pair
    %b: int64[1] = view (1) of %pair
    %old: int64[3] = view (i0+1) of %s
    %t: int64[4] = concat along 0 %old, %a
    %p: int64[4] = mul %t, %w
    %y: int64[] = reduce add over (0) of %p
    %older: int64[3] = view (i0+1) of %t
    %u: int64[4] = concat along 0 %older, %b
    %q: int64[4] = mul %u, %w
    %z: int64[] = reduce add over (0) of %q
    %c: int64[1] = view () of %y
    %d: int64[1] = view () of %z
    %both: int64[2] = concat along 0 %c, %d
    yield %u
    stack %both along 0
  %last: int64[4] = result 0 of %1
  %all: int64[6,2] = result 1 of %1
  %flat: int64[12] = reshape %all
  return %last, %flat"""


def filtered(s, w, x):
    """What the filter gives."""
    made = []
    for each in x:
        s = np.append(s[1:], each)
        made.append((s * w).sum())
    return s, np.array(made)


def rerolled(text: str) -> str:
    """The kernel once the pass has run, as text."""
    made = with_rerolled_loops(kernel_of(text))
    verify_kernel(made)
    return show_kernel(made)


def trips(text: str) -> list[int | str]:
    """The extents of the loops once the pass has run."""
    made = with_rerolled_loops(kernel_of(text))
    return [getattr(n.op.extent, "name", n.op.extent) for n in all_nodes(made.main)
            if isinstance(n.op, Loop)]  # fmt: skip


def test_two_steps_are_one_in_twice_the_iterations(rng):
    made = rerolled(FILTER)
    assert "extent 12" in made
    assert "reshape" not in made, "items are those of the tensor, results are as they were made"
    s, w, x = (rng.integers(-9, 9, n) for n in (4, 4, 12))
    last, sums = run_kernel(FILTER, s, w, x)
    wanted = filtered(s, w, x)
    np.testing.assert_array_equal(last, wanted[0])
    np.testing.assert_array_equal(sums, wanted[1])


OLDER = """%older: int64[3] = view (i0+1) of %t
    %u: int64[4] = concat along 0 %older, %b"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("view (1) of %pair", "view (0) of %pair"),
        ("view (0) of %pair", "view (1) of %pair"),
        ("mul %u, %w", "mul %w, %u"),
        ("mul %u, %w", "add %u, %w"),
        ("(i0+1) of %t", "(i0) of %t"),
        ("(i0+1) of %t", "(i0+1) of %s"),
        (OLDER, OLDER.replace("[3]", "[2]").replace("%older, %b", "%older, %a, %b")),
        ("concat along 0 %c, %d", "concat along 0 %d, %c"),
        ("concat along 0 %c, %d", "concat along 0 %c, %c"),
        ("yield %u", "yield %t"),
        ("loop length 6 extent 6", "loop length 6"),
        ("kernel\n", "kernel limits_memory\n"),
        ("kernel\n", "kernel is_recorded\n"),
        ("stack %both along 0", "stack %both along 0 from the last"),
    ],
)
def test_steps_that_differ_stay(old, new):
    assert old in FILTER
    assert trips(FILTER.replace(old, new, 1)) != [12]


COUNTED = """kernel
  %n: int64[] = input 0
  %s0: int64[] = input 1
  %x: int64[40] = input 2
  %two: int64[] = constant 2
  %one: int64[] = constant 1
  %zero: int64[] = constant 0
  %trips as e0: int64[] = max %n, %zero
  %1 = loop trip %n extent e0 carries %s = %s0
    %s: int64[] = carried 0
    %i: int64[] = induction variable
    %j: int64[] = mul %i, %two
    %k: int64[] = add %j, %one
    %a: int64[] = take along 0 of %x, %j
    %b: int64[] = take along 0 of %x, %k
    %t: int64[] = max %s, %a
    %m: int64[] = sub %t, %j
    %u: int64[] = max %m, %b
    %v: int64[] = sub %u, %k
    yield %v
  %last: int64[] = result 0 of %1
  return %last"""


@pytest.mark.parametrize("count", [0, 1, 2, 5, 20])
def test_counters_go_on_by_one(count, rng):
    assert "mul %i, %two" in COUNTED
    assert re.search(r"loop trip %\d+ extent e\d", rerolled(COUNTED))
    assert rerolled(COUNTED).count("take") == 1
    x, state = rng.integers(-2, 2, 40), 1
    (found,) = run_kernel(COUNTED, count, state, x)
    for k, each in enumerate(x[: 2 * count]):
        state = max(state, each) - k
    assert found == state


@pytest.mark.parametrize(
    ("old", "new"),
    [("add %j, %one", "add %j, %two"), ("mul %i, %two", "add %i, %two"),
     ("sub %u, %k", "sub %u, %j"), ("of %x, %k", "of %x, %j")],
)  # fmt: skip
def test_other_counters_stay(old, new):
    text = COUNTED.replace(old, new, 1)
    assert "e1" not in rerolled(text)
    assert trips(text) == ["e0"]


CHAINS = """kernel
  %s0: float32[3] = input 0
  %1 = loop extent 5 carries %s = %s0, %t = %s0
    %s: float32[3] = carried 0
    %t: float32[3] = carried 1
    %u: float32[3] = tanh %s
    %v: float32[3] = tanh %t
    %a: float32[1,3] = view (i1) of %u
    %b: float32[1,3] = view (i1) of %v
    %both: float32[2,3] = concat along 0 %a, %b
    yield %u, %v
    stack %both along 0
  %all: float32[5,2,3] = result 2 of %1
  return %all"""


def test_two_chains_side_by_side_are_no_steps():
    text = CHAINS.replace("loop extent 5", "loop trip %n extent 5").replace(
        "  %1 =", "  %n: int64[] = constant 5\n  %1 =", 1
    )
    assert trips(text) == [5]


ROWS = """kernel
  %s0: int64[3] = input 0
  %x: int64[8,6] = input 1
  %1 = loop length 8 extent 8 carries %s = %s0
    %s: int64[3] = carried 0
    %row: int64[6] = scan slice along 0 from the last of %x
    %a: int64[3] = view (i0+3) of %row
    %b: int64[3] = view (i0) of %row
    %t: int64[3] = max %s, %a
    %c: int64[3] = sub %t, %a
    %u: int64[3] = max %c, %b
    %d: int64[3] = sub %u, %b
    %both: int64[6] = concat along 0 %u, %t
    yield %d
    stack %both along 0 from the last
  %last: int64[3] = result 0 of %1
  %all: int64[8,6] = result 1 of %1
  return %last, %all"""


def test_rows_from_the_last_are_taken_and_stacked_from_the_last(rng):
    assert trips(ROWS) == [16]
    assert trips(ROWS.replace("%u, %t", "%t, %u")) == [8]
    s, x = rng.integers(-9, 9, 3), rng.integers(-9, 9, (8, 6))
    last, found = run_kernel(ROWS, s, x)
    wanted = []
    for each in x.reshape(16, 3)[::-1]:
        wanted.append(np.maximum(s, each))
        s = wanted[-1] - each
    np.testing.assert_array_equal(last, s)
    np.testing.assert_array_equal(found, np.array(wanted[::-1]).reshape(8, 6))


STRIDED = """kernel
  %s0: int64[] = input 0
  %x: int64[13] = input 1
  %even: int64[6] = view (2*i0+1) of %x
  %odd: int64[6] = view (2*i0+2) of %x
  %1 = loop length 6 extent 6 carries %s = %s0
    %s: int64[] = carried 0
    %a: int64[] = scan slice along 0 of %even
    %b: int64[] = scan slice along 0 of %odd
    %t: int64[] = max %s, %a
    %c: int64[] = sub %t, %a
    %u: int64[] = max %c, %b
    %d: int64[] = sub %u, %b
    yield %d
  %last: int64[] = result 0 of %1
  return %last"""


@pytest.mark.parametrize(
    "text", [STRIDED, STRIDED.replace("along 0 of", "along 0 from the last of")]
)
def test_every_second_item_is_one_of_all(text, rng):
    is_reversed = text != STRIDED
    assert trips(text) == [6 if is_reversed else 12]
    if is_reversed:
        text = text.replace("(2*i0+1)", "(2*i0+x)").replace("(2*i0+2)", "(2*i0+1)")
        text = text.replace("(2*i0+x)", "(2*i0+2)")
        assert trips(text) == [12]
    s, x = 1, rng.integers(-9, 9, 13)
    (found,) = run_kernel(text, s, x)
    for each in x[1:][::-1] if is_reversed else x[1:]:
        s = max(s, each) - each
    assert found == s


@pytest.mark.parametrize(("old", "new"), [("2*i0+2", "2*i0"), ("2*i0+2", "3*i0+2")])
def test_items_that_do_not_follow_each_other_stay(old, new):
    if new == "3*i0+2":
        assert trips(STRIDED.replace("int64[13]", "int64[30]").replace(old, new)) == [6]
    else:
        assert trips(STRIDED.replace(old, new)) == [6]


OPEN = """kernel
  %s0: int64[] = input 0
  %x: int64[13] = input 1
  %o as e0: int64[] = input 2
  %some: int64[6] = view (2*i0+e0) of %x
  %1 = loop length 6 extent 6 carries %s = %s0
    %s: int64[] = carried 0
    %a: int64[] = scan slice along 0 of %some
    %t: int64[] = max %s, %a
    %c: int64[] = sub %t, %a
    %u: int64[] = max %c, %a
    %d: int64[] = sub %u, %a
    yield %d
  %last: int64[] = result 0 of %1
  return %last"""


@pytest.mark.parametrize("first", ["e0", "1"])
def test_steps_that_take_the_same_item_stay(first):
    assert trips(OPEN.replace("+e0", f"+{first}")) == [6]


NESTED = """kernel
  %r0: int64[5] = input 0
  %y: int64[5] = input 1
  %x: int64[4,2] = input 2
  %1 = loop length 4 extent 4 carries %r = %r0
    %r: int64[5] = carried 0
    %pair: int64[2] = scan slice along 0 of %x
    %a: int64[] = view (0) of %pair
    %b: int64[] = view (1) of %pair
    %2 = loop length 5 extent 5 carries %s = %a
      %s: int64[] = carried 0
      %e: int64[] = scan slice along 0 of %r
      %f: int64[] = scan slice along 0 of %y
      %t: int64[] = max %s, %e
      %n: int64[] = sub %t, %f
      yield %n
      stack %n along 0
    %row: int64[5] = result 1 of %2
    %3 = loop length 5 extent 5 carries %u = %b
      %u: int64[] = carried 0
      %g: int64[] = scan slice along 0 of %row
      %h: int64[] = scan slice along 0 of %y
      %v: int64[] = max %u, %g
      %m: int64[] = sub %v, %h
      yield %m
      stack %m along 0
    %next: int64[5] = result 1 of %3
    yield %next
  %last: int64[5] = result 0 of %1
  return %last"""


def test_loops_of_each_step_are_compared(rng):
    assert trips(NESTED) == [5, 8]
    for old, new in [("max %u, %g", "min %u, %g"), ("yield %m", "yield %v"), ("of %row", "of %r"),
                     ("stack %m along 0", "stack %v along 0")]:  # fmt: skip
        assert trips(NESTED.replace(old, new)) == [5, 5, 4]
    row, y, x = (rng.integers(-9, 9, n) for n in (5, 5, 8))
    (found,) = run_kernel(NESTED, row, y, x.reshape(4, 2))
    for s in x:
        made = []
        for e, f in zip(row, y, strict=True):
            s = max(s, e) - f
            made.append(s)
        row = np.array(made)
    np.testing.assert_array_equal(found, row)


THROUGH = """kernel
  %s0: int64[2,3] = input 0
  %x: int64[5,2] = input 1
  %1 = loop length 5 extent 5 carries %s = %s0
    %s: int64[2,3] = carried 0
    %pair: int64[2] = scan slice along 0 of %x
    %a: int64[] = view (0) of %pair
    %b: int64[] = view (1) of %pair
    %s1: int64[3] = view (0, i0) of %s
    %s2: int64[3] = view (1, i0) of %s
    %t1: int64[3] = max %s1, %a
    %t2: int64[3] = sub %s2, %t1
    %u1: int64[3] = max %t1, %b
    %u2: int64[3] = sub %t2, %u1
    %v1: int64[1,3] = view (i1) of %u1
    %v2: int64[1,3] = view (i1) of %u2
    %v: int64[2,3] = concat along 0 %v1, %v2
    yield %v
  %last: int64[2,3] = result 0 of %1
  return %last"""


def test_a_value_that_the_first_step_never_makes_is_carried_in_parts_first(rng):
    assert trips(THROUGH) == [5]
    assert "extent 10" in canonical_text(THROUGH)
    s, x = rng.integers(-9, 9, (2, 3)), rng.integers(-9, 9, 10)
    (found,) = run_kernel(THROUGH, s, x.reshape(5, 2))
    one, other = s
    for each in x:
        one = np.maximum(one, each)
        other = other - one
    np.testing.assert_array_equal(found, [one, other])
