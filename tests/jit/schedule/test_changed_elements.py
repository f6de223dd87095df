"""Nests that change a part of an array in its memory leave the rest alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

TARGET = Target("x86_64-unknown-linux-gnu", "", "", 64, 32, has_fma=True)

ROW = """kernel
  %s0: float32[300] = input 0
  %x: float32[9] = input 1
  %at: int64[300] = constant {positions}
  %r = loop length 9 extent 9 carries %s = %s0
    %i: int64[] = induction variable
    %s: float32[300] = carried 0
    %xi: float32[] = scan slice along 0 of %x
    %more: float32[300] = add %s, %xi
    {condition}
    %next: float32[300] = where %c, {sides}
    yield %next
  %last: float32[300] = result 0 of %r
  return %last"""


def row(condition: str, sides: str = "%more, %s", start: int = 0) -> str:
    positions = " ".join(map(str, range(start, start + 300)))
    return ROW.format(positions=positions, condition=condition, sides=sides)


def nest_of(text: str) -> str:
    """The words of the nest in the loop's body."""
    lines = show_schedule(schedule_kernel(kernel_of(text), TARGET)).splitlines()
    (line,) = (each for each in lines if "nest: " in each and "in place" in each)
    return line


COMPARED = {
    "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
    "greater_equal": np.greater_equal, "equal": np.equal, "not_equal": np.not_equal,
}  # fmt: skip


@pytest.mark.parametrize("start", [0, 3, -5])
@pytest.mark.parametrize("sides", ["%more, %s", "%s, %more"])
@pytest.mark.parametrize("operands", ["%at, %i", "%i, %at"])
@pytest.mark.parametrize("function", COMPARED)
def test_elements_behind_and_before(
    function: str, operands: str, sides: str, start: int, rng: np.random.Generator
) -> None:
    text = row(f"%c: bool[300] = {function} {operands}", sides, start)
    is_everywhere = (function == "equal") == (sides == "%s, %more")
    is_compared = function in ("equal", "not_equal")
    assert ("only" in nest_of(text)) == (not is_compared or not is_everywhere)
    s, x = (rng.integers(-9, 9, n).astype(np.float32) for n in (300, 9))
    (got,) = run_kernel(text, s, x)
    at = np.arange(start, start + 300)
    for i, each in enumerate(x):
        pair = (at, i) if operands.startswith("%at") else (i, at)
        holds = COMPARED[function](*pair)
        s = np.where(holds == (sides == "%more, %s"), s + each, s)
    np.testing.assert_array_equal(got, s)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("%c: bool[300] = greater %at, %i", ["from a place on"]),
        ("%c: bool[300] = less %at, %i", ["up to a place"]),
        ("%a: bool[300] = less %at, %i\n    %b: bool[300] = greater %at, %j\n"
         "    %c: bool[300] = and %a, %b", ["between places"]),
        ("%a: bool[300] = less %at, %i\n    %b: bool[300] = greater %at, %j\n"
         "    %c: bool[300] = or %a, %b", []),
        ("%a: bool[300] = greater %at, %i\n    %b: bool[300] = equal %at, %i\n"
         "    %c: bool[300] = or %a, %b", ["from a place on"]),
        ("%a: bool[300] = greater %at, %i\n    %b: bool[300] = greater %at, %j\n"
         "    %c: bool[300] = or %a, %b", []),
        ("%a: bool[] = less %i, %j\n    %b: bool[300] = greater %more, %s0\n"
         "    %c: bool[300] = and %a, %b", ["under a condition"]),
        ("%c: bool[300] = greater %more, %s0", []),
    ],
)  # fmt: skip
def test_what_conditions_say(condition: str, words: list[str], rng: np.random.Generator) -> None:
    text = row(condition).replace("%x: float32[9] = input 1", "%x: float32[9] = input 1\n"
                                  "  %j: int64[] = input 2")  # fmt: skip
    found = nest_of(text)
    assert [part for part in found.split(", ") if part.startswith("only")] == [
        f"only {each}{' along axis 0' * ('place' in each)}" for each in words
    ]
    s, x = (rng.integers(-9, 9, n).astype(np.float32) for n in (300, 9))
    first = s
    (got,) = run_kernel(text, s, x, np.int64(4))
    at, truths = np.arange(300), {"less": np.less, "greater": np.greater, "equal": np.equal}
    for i, each in enumerate(x):
        known = {"%at": at, "%i": i, "%j": 4, "%s0": first, "%more": s + each}
        for line in condition.splitlines():
            name, _, rest = line.strip().partition(": ")
            function, *operands = rest.partition("= ")[2].replace(",", "").split()
            operation = truths | {"and": np.logical_and, "or": np.logical_or}
            known[name] = operation[function](*(known[operand] for operand in operands))
        s = np.where(known["%c"], s + each, s)
    np.testing.assert_array_equal(got, s)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("300", "200"),  # few elements
        ("constant 0 1 2", "constant 1 0 2"),  # no positions
        ("yield %next", "yield %next\n    stack %next along 0"),  # also written elsewhere
    ],
)
def test_others_are_computed_whole(old: str, new: str) -> None:
    text = row("%c: bool[300] = greater %at, %i").replace(old, new)
    if old == "300":
        text = text.replace(" " + " ".join(map(str, range(200, 300))), "")
    if "stack" in new:
        text = text.replace("return %last", "%all: float32[9,300] = result 1 of %r\n"
                            "  return %last, %all")  # fmt: skip
    shown = show_schedule(schedule_kernel(kernel_of(text), TARGET))
    assert "only" not in shown


MATRIX = """kernel
  %s0: float32[20,40] = input 0
  %x: float32[9,40] = input 1
  %rows: int64[20,1] = input 2
  %r = loop length 9 extent 9 carries %s = %s0
    %i: int64[] = induction variable
    %s: float32[20,40] = carried 0
    %xi: float32[40] = scan slice along 0 of %x
    %down: int64[20] = constant {0}
    %column: int64[20,1] = view (i0) of %down
    %across: int64[40] = constant {1}
    %more: float32[20,40] = add %s, %xi
    %low: bool[20,1] = greater %column, %i
    %right: bool[40] = greater_equal %across, %i
    %c: bool[20,40] = and %low, %right
    %next: float32[20,40] = where %c, %more, %s
    yield %next
  %last: float32[20,40] = result 0 of %r
  return %last"""


def test_along_two_axes(rng: np.random.Generator) -> None:
    text = MATRIX.format(*(" ".join(map(str, range(extent))) for extent in (20, 40)))
    found = nest_of(text)
    assert "only from a place on along axis 0, only from a place on along axis 1" in found
    s, x = (rng.integers(-9, 9, shape).astype(np.float32) for shape in ((20, 40), (9, 40)))
    (got,) = run_kernel(text, s, x, np.zeros((20, 1), np.int64))
    for i, each in enumerate(x):
        s[i + 1 :, i:] += each[i:]
    np.testing.assert_array_equal(got, s)


@pytest.mark.parametrize("start", [-(2**63), 2**62 - 100, 2**63 - 320, 2**40])
def test_positions_far_from_zero(start: int, rng: np.random.Generator) -> None:
    text = row("%c: bool[300] = less %at, %k", start=start).replace(
        "%x: float32[9] = input 1", "%x: float32[9] = input 1\n  %k: int64[] = input 2"
    )
    s, x = (rng.integers(-9, 9, n).astype(np.float32) for n in (300, 9))
    (got,) = run_kernel(text, s, x, np.int64(start + 100))
    s[:100] += x.sum()
    np.testing.assert_array_equal(got, s)


ANOTHER = """kernel
  %s0: float32[20,40] = input 0
  %b: float32[20,40] = input 1
  %m: float32[] = input 2
  %k: int64[] = input 3
  %r = loop length 9 extent 9 carries %s = %s0
    %i: int64[] = induction variable
    %s: float32[20,40] = carried 0
    %late: bool[] = greater %i, %k
    %other: float32[20,40] = neg %s
    %v: float32[20,40] = where %late, %other, %s
    %t: float32[20,40] = add %v, %b
    %most: float32[] = reduce max over (0, 1) of %t
    %c: bool[] = greater %m, %most
    %next: float32[20,40] = where %c, %t, %v
    yield %next
  %last: float32[20,40] = result 0 of %r
  return %last"""


def test_a_value_that_equals_what_was_in_the_memory_before(rng: np.random.Generator) -> None:
    """Another value is there when the next one is written."""
    s, b = (rng.integers(-9, 9, (20, 40)).astype(np.float32) for _ in range(2))
    (got,) = run_kernel(ANOTHER, s, b, np.float32(-100), np.int64(100))
    np.testing.assert_array_equal(got, s)
    (got,) = run_kernel(ANOTHER, s, b, np.float32(1000), np.int64(100))
    np.testing.assert_array_equal(got, s + 9 * b)


COLUMN = """kernel
  %s0: float32[20,300] = input 0
  %x: float32[9,20] = input 1
  %at: int64[300] = constant {positions}
  %r = loop length 9 extent 9 carries %s = %s0
    %i: int64[] = induction variable
    %s: float32[20,300] = carried 0
    %xi: float32[20] = scan slice along 0 of %x
    %column: float32[20,1] = view (i0) of %xi
    %here: bool[300] = equal %at, %i
    %c: bool[1,300] = view (i1) of %here
    %next: float32[20,300] = where %c, %column, %s
    %count: int32[300] = cast %here
    %most: int32[] = reduce max over (0) of %count
    yield %next
    stack %most along 0
  %last: float32[20,300] = result 0 of %r
  %all: int32[9] = result 1 of %r
  return %last, %all"""


def test_positions_of_a_row_that_others_read(rng: np.random.Generator) -> None:
    text = COLUMN.format(positions=" ".join(map(str, range(300))))
    assert "only between places along axis 1" in nest_of(text)
    s, x = (rng.integers(-9, 9, n).astype(np.float32) for n in ((20, 300), (9, 20)))
    last, _ = run_kernel(text, s, x)
    s[:, :9] = x.T
    np.testing.assert_array_equal(last, s)
