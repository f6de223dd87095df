"""Loops in register tiles: the bits of the same loop in order, and what declines."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.schedule.test_schedule import TARGET
from treadle.jit.runtime.compilation import generate_code
from treadle.jit.schedule.loops.kernel_facts import LoopSchedule
from treadle.jit.schedule.loops.register_tiling import RegisterTiling
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule
from treadle.jit.toolchain.llvm import optimized_ir

TWO = """kernel
  %x: float32[n0,{size}] = input 0
  %w: float32[{size}] = input 1
  %start: float32[{size}] = input 2
  %gate: bool[n0,{size}] = input 3
  %number: float32[] = input 4
  %1 = loop length n0 extent n0 carries %s = %start, %old = %w, %sum = %number
    %s: float32[{size}] = carried 0
    %old: float32[{size}] = carried 1
    %sum: float32[] = carried 2
    %item: float32[{size}] = scan slice along 0 of %x
    %back: float32[{size}] = scan slice along 0 from the last of %x
    %open: bool[{size}] = scan slice along 0 of %gate
    %i: int64[] = induction variable
    %at: float32[] = cast %i
    %part: float32[{size}] = mul %w, %s
    %late: float32[{size}] = sub %part, %old
    %next: float32[{size}] = add %late, %item
    %kept: float32[{size}] = where %open, %next, %back
    %low: float32[{size}] = max %kept, %sum
    %high: float32[{size}] = min %low, %at
    %more: float32[] = add %sum, %at
    %is_high: bool[{size}] = less %high, %back
    yield %high, %s, %more
    stack %late along 0
    stack %more along 0
    stack %is_high along 0 from the last
  %last: float32[{size}] = result 0 of %1
  %before: float32[{size}] = result 1 of %1
  %total: float32[] = result 2 of %1
  %rows: float32[n0,{size}] = result 3 of %1
  %sums: float32[n0] = result 4 of %1
  %flags: bool[n0,{size}] = result 5 of %1
  return %last, %before, %total, %rows, %sums, %flags
"""


def scheduled(text: str) -> LoopSchedule:
    """The schedule of the only loop."""
    (found,) = schedule_kernel(kernel_of(text), TARGET).loops.values()
    return found


def by_numpy(x: Any, w: Any, start: Any, gate: Any, number: Any) -> list[Any]:
    """What the loop computes, written from its text."""
    s, old, total, rows, sums, flags = start, w, number, [], [], []
    for i, (item, is_open) in enumerate(zip(x, gate, strict=True)):
        back = x[len(x) - 1 - i]
        late = w * s - old
        high = np.minimum(np.maximum(np.where(is_open, late + item, back), total), np.float32(i))
        total = total + np.float32(i)
        s, old = high, s
        rows.append(late)
        sums.append(total)
        flags.insert(0, high < back)
    shape = x.shape
    return [s, old, total, np.array(rows, np.float32).reshape(shape),
            np.array(sums, np.float32), np.array(flags, np.bool_).reshape(shape)]  # fmt: skip


@pytest.mark.parametrize("size", [32, 77, 100])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_the_results_are_those_of_the_loop_in_order(
    size: int, count: int, rng: np.random.Generator
):
    text = TWO.format(size=size)
    assert isinstance(scheduled(text).strategy, RegisterTiling)
    x = rng.standard_normal((count, size), np.float32)
    w, start = rng.standard_normal((2, size), np.float32)
    gate, number = rng.random((count, size)) < 0.5, np.float32(-0.5)
    wanted = by_numpy(x, w, start, gate, number)
    for found, each in zip(run_kernel(text, x, w, start, gate, number), wanted, strict=True):
        np.testing.assert_array_equal(found, each)


@pytest.mark.parametrize("size", [64, 77, 100])
def test_all_tiles_share_the_code(size: int):
    text = generate_code(kernel_of(TWO.format(size=size)), (), TARGET).text
    assert set(re.findall(r"= f(?:mul|sub|add) <(\d+) x float>", text)) == {"64"}
    assert not re.findall(r"= f(?:mul|sub|add) float", text)


WHOLE = """kernel
  %start: int64[50,3] = input 0
  %by: int64[50,3] = input 1
  %1 = loop length 9 extent 9 carries %s = %start
    %s: int64[50,3] = carried 0
    %sum: int64[50,3] = add %s, %by
    %next: int64[50,3] = xor %sum, %s
    yield %next
  %last: int64[50,3] = result 0 of %1
  return %last
"""


def test_whole_numbers_of_two_axes(rng: np.random.Generator):
    assert isinstance(scheduled(WHOLE).strategy, RegisterTiling)
    s, by = rng.integers(-99, 99, (2, 50, 3))
    (found,) = run_kernel(WHOLE, s, by)
    for _ in range(9):
        s = (s + by) ^ s
    np.testing.assert_array_equal(found, s)


ROWS = """kernel
  %start: float32[3,48] = input 0
  %x: float32[n0,48] = input 1
  %by: float32[48] = input 2
  %y: float32[n0,3,48] = input 3
  %1 = loop length n0 extent n0 carries %s = %start
    %s: float32[3,48] = carried 0
    %item: float32[48] = scan slice along 0 of %x
    %each: float32[3,48] = scan slice along 0 of %y
    %scaled: float32[48] = mul %item, %by
    %kept: float32[3,48] = mul %s, %by
    %part: float32[3,48] = add %kept, %scaled
    %next: float32[3,48] = sub %part, %each
    yield %next
    stack %next along 0
  %last: float32[3,48] = result 0 of %1
  %all: float32[n0,3,48] = result 1 of %1
  return %last, %all
"""


def test_rows_that_are_the_same_for_all(rng: np.random.Generator):
    assert str(scheduled(ROWS).strategy) == "register tiles of 48 of 144 elements"
    shown = show_schedule(schedule_kernel(kernel_of(ROWS), TARGET))
    assert "in every iteration of a tile: " in shown
    assert "nest: " not in shown
    s, (x, y) = (
        rng.random((3, 48), np.float32),
        (rng.random(n, np.float32) for n in ((5, 48), (5, 3, 48))),
    )
    by = rng.random(48, np.float32)
    last, everything = run_kernel(ROWS, s, x, by, y)
    for item, each, row in zip(x, y, everything, strict=True):
        s = s * by + item * by - each
        np.testing.assert_array_equal(row, s)
    np.testing.assert_array_equal(last, s)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("xor %sum, %s", "mod %sum, %by", "mod has no vector form"),
        ("50,3", "5,3", "its arrays have fewer than 32 elements"),
        ("%by: int64[50,3] = input 1", "%by: int64[50,1] = input 1",
         "an operand has another shape, or is not in memory"),
        ("%by: int64[50,3] = input 1", "%by: int64[3] = input 1",
         "no division into tiles along which nothing is broadcast"),
        ("    yield %next\n", "    %row: int64[3] = view (1, i0) of %next\n    yield %next\n"
         "    stack %row along 0\n", "view"),
    ],
)  # fmt: skip
def test_what_declines(old: str, new: str, reason: str):
    found = scheduled(WHOLE.replace(old, new))
    assert not isinstance(found.strategy, RegisterTiling)
    assert reason in found.declined["register tiling"]


def test_a_number_is_not_computed_for_many_tiles():
    found = scheduled(TWO.format(size=200))
    assert found.declined["register tiling"] == "each tile would compute its carried numbers again"


@pytest.mark.parametrize("size", [64, 77])
def test_functions_with_long_code_take_a_single_tile(size: int):
    low = f"    %low: float32[{size}] = "
    wide = low.replace("low", "wide") + "max %kept, %sum\n"
    text = TWO.format(size=size).replace(f"{low}max %kept, %sum\n", f"{wide}{low}tanh %wide\n")
    found = scheduled(text)
    assert isinstance(found.strategy, RegisterTiling) is (size == 64)
    assert size == 64 or "long code" in found.declined["register tiling"]


OUTSIDE = """kernel
  %x: float32[n0,40] = input 0
  %w: float32[1,40] = input 1
  %start: float32[40] = input 2
  %v: float32[40] = view (0, i0) of %w
  %1 = loop length n0 extent n0 carries %s = %start, %old = %start
    %s: float32[40] = carried 0
    %old: float32[40] = carried 1
    %item: float32[40] = scan slice along 0 of %x
    %next: float32[40] = add %s, %item
    %both: float32[40] = mul %old, %next
    yield %next, %v
    stack %both along 0
    stack %v along 0
  %last: float32[40] = result 0 of %1
  %after: float32[40] = result 1 of %1
  %rows: float32[n0,40] = result 2 of %1
  %same: float32[n0,40] = result 3 of %1
  return %last, %after, %rows, %same
"""


@pytest.mark.parametrize("trips", [0, 1, 3])
@pytest.mark.parametrize("is_stored", [False, True])
def test_values_from_outside_are_read_from_memory(
    trips: int, is_stored: bool, rng: np.random.Generator
):
    text = OUTSIDE
    if is_stored:
        text = text.replace("  %v: float32[40] = view (0, i0) of %w\n", "").replace(" %v", " %w")
        text = text.replace("%w: float32[1,40]", "%w: float32[40]")
    assert isinstance(scheduled(text).strategy, RegisterTiling) is is_stored
    x, w, start = (rng.standard_normal(s, np.float32) for s in ((trips, 40), (1, 40), 40))
    last, after, rows, same = run_kernel(text, x, w[0] if is_stored else w, start)
    sums = start + np.cumsum(x, axis=0, dtype=np.float32)
    np.testing.assert_allclose(last, sums[-1] if trips else start, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(after, w[0] if trips else start)
    old = np.concatenate([start[None], np.repeat(w, trips, axis=0)])[:trips]
    np.testing.assert_allclose(rows, old * sums, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(same, np.repeat(w, trips, axis=0))


SQUARES = """kernel
  %x: T[SIZE] = input 0
  %n: int64[] = constant 40
  %half: T[] = constant 0.5
  %1 = loop trip %n length 40 carries %h = %x
    %h: T[SIZE] = carried 0
    %part: T[SIZE] = mul %h, %half
    %next: T[SIZE] = FUNCTION %part
    %more: T[SIZE] = add %next, %x
    yield %more
  %last: T[SIZE] = result 0 of %1
  return %last"""


def squares(size: int, dtype: str = "float32", function: str = "sqrt") -> str:
    text = SQUARES.replace("SIZE", str(size)).replace("T[", f"{dtype}[")
    return text.replace("FUNCTION", function)


@pytest.mark.parametrize("size", [33, 40, 41, 48, 50, 63])
def test_carried_vectors_of_any_length_are_handed_on_in_pieces(size: int, rng):
    kernel = kernel_of(squares(size))
    made = optimized_ir(generate_code(kernel, ()).text, vectorizers=())
    carried = {int(count) for count in re.findall(r"phi <(\d+) x float>", made)}
    assert carried
    assert all(count.bit_count() == 1 for count in carried)
    x = rng.random(size, np.float32)
    (found,) = run_kernel(squares(size), x)
    h = x
    for _ in range(40):
        h = np.sqrt(h * np.float32(0.5)) + x
    np.testing.assert_array_equal(found, h)


@pytest.mark.parametrize(("size", "function", "wanted"), [(48, "sin", ""), (32, "atan", ""), (
    48, "atan", "functions in float64 take less time in nests than in vectors of such a length",
)])  # fmt: skip
def test_functions_in_float64_have_tiles_of_whole_powers_of_two(size, function, wanted):
    found = scheduled(squares(size, function=function))
    assert found.declined.get("register tiling", "") == wanted
    assert isinstance(found.strategy, RegisterTiling) == (not wanted)
