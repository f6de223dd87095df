"""The form of copies, and the place in other memory on which it depends."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.ir import CarriedArg, Concat, Node, Result, View
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.layouts.memory_order import Destination
from treadle.jit.schedule.schedule import Schedule, schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule
from treadle.jit.schedule.steps.copies import CopyForm

TARGET = Target("x86_64-unknown-linux-gnu", "", "", 64, 32, has_fma=True)
WHOLE, ROWS, SINGLE = (
    Destination(),
    Destination(is_whole=False),
    Destination(is_whole=False, has_rows=False),
)


def first(schedule: Schedule, op: type, number: int = 0) -> Node:
    """One of the nodes with an operation."""
    return [node for node in schedule.storage.storage_of if isinstance(node.op, op)][number]


MEMORY = """kernel parallel_threshold_ns=50000
  %small: float32[40,16] = input 0
  %flags: bool[40,16] = input 1
  %large: float32[2000,2000] = input 2
  %n: int64[] = input 3
  %open: float32[n] = input 4
  %wide: float64[40] = input 5
  %turned: float32[16,40] = view (i1, i0) of %small
  %back: float32[40,16] = view (-1*i0+39, i1) of %small
  return %turned, %back"""


@pytest.mark.parametrize(
    ("name", "form", "lanes"),
    [
        ("small", CopyForm.VECTORS, 16),
        ("wide", CopyForm.VECTORS, 8),
        ("flags", CopyForm.FLAT, 0),  # has another representation in registers
        ("large", CopyForm.FLAT, 0),  # threads share it
        ("open", CopyForm.BYTES, 0),
        ("turned", CopyForm.TILES, 4),
        ("back", CopyForm.INDICES, 0),
        ("n", CopyForm.WRITTEN, 0),
    ],
)
def test_the_form_of_a_copy_follows_from_both_memories(
    name: str, form: CopyForm, lanes: int
) -> None:
    kernel = kernel_of(MEMORY)
    names = ("small", "flags", "large", "n", "open", "wide", "turned", "back")
    node = dict(zip(names, (*kernel.inputs, *kernel.results), strict=True))[name]
    schedule = schedule_kernel(kernel, TARGET)
    found = schedule.copied(node, kernel.main)
    assert (found.form, found.lanes) == (form, lanes)
    if name == "turned":
        assert schedule.copied(node, kernel.main, SINGLE).form is CopyForm.INDICES
        assert schedule.moved(node, kernel.main).form is CopyForm.VECTORS


TURNED = """kernel
  %a: float32[{size},{size}] = input 0
  %turned: float32[{size},{size}] = view (i1, i0) of %a
  return %turned"""


@pytest.mark.parametrize(("size", "form"), [(8, CopyForm.SCALAR), (9, CopyForm.INDICES)])
def test_a_small_view_is_copied_one_by_one(size: int, form: CopyForm) -> None:
    text = TURNED.format(size=size)
    kernel = kernel_of(text)
    assert schedule_kernel(kernel, TARGET).computed(kernel.results[0]).form is form
    a = np.arange(size * size, dtype=np.float32).reshape(size, size)
    (found,) = run_kernel(text, a)
    np.testing.assert_array_equal(found, a.T)


INSIDE = """kernel
  %s: float32[4,4] = input 0
  %1 = loop length 3 extent 3 carries %c = %s
    %c: float32[4,4] = carried 0
    %turned: float32[4,4] = view (i1, i0) of %c
    yield %turned
  %last: float32[4,4] = result 0 of %1
  return %last"""


def test_a_view_in_a_loop_is_not_copied_one_by_one() -> None:
    kernel = kernel_of(INSIDE)
    schedule = schedule_kernel(kernel, TARGET)
    views = [node for node in schedule.storage.storage_of if isinstance(node.op, View)]
    assert all(schedule.computed(view).form is not CopyForm.SCALAR for view in views)
    assert views


CONCAT = """kernel
  %a: float32[{shape}] = input 0
  %b: float32[{shape}] = input 1
  %both: float32[{joined}] = concat along {axis} %a, %b
  return %both"""


@pytest.mark.parametrize(
    ("shape", "axis", "place", "form"),
    [
        ((5, 40), 0, WHOLE, CopyForm.VECTORS),
        ((5, 40), 1, ROWS, CopyForm.INDICES),
        ((1, 40), 1, WHOLE, CopyForm.VECTORS),
        ((5, 40, 1), 2, SINGLE, CopyForm.INDICES),
        ((5, 40, 1), 1, ROWS, CopyForm.INDICES),
        ((1, 1, 40), 1, WHOLE, CopyForm.VECTORS),
    ],
)
def test_operands_of_a_concat_are_copied_to_their_place(
    shape: tuple[int, ...], axis: int, place: Destination, form: CopyForm, rng: np.random.Generator
) -> None:
    a, b = (rng.random(shape, np.float32) for _ in range(2))
    wanted = np.concatenate((a, b), axis)
    own, joined = (",".join(map(str, each)) for each in (shape, wanted.shape))
    text = CONCAT.format(shape=own, joined=joined, axis=axis)
    kernel = kernel_of(text)
    schedule, operand = schedule_kernel(kernel, TARGET), kernel.inputs[0]
    found = schedule.order.in_concat(operand, first(schedule, Concat))
    assert found == place
    assert schedule.copied(operand, kernel.main, found).form is form
    np.testing.assert_array_equal(run_kernel(text, a, b)[0], wanted)


NESTED = """kernel
  %x: float32[4,{rows},40] = input 0
  %1 = loop length 4 extent 4
    %row: float32[{rows},40] = scan slice along 0 of %x
    %back: float32[{rows},40] = view (i0, -1*i1+39) of %row
    %inner: float32[{double},40] = concat along 0 %row, %back
    %first: float32[{double},40] = view (0, i1) of %row
    %outer: float32[{double},80] = concat along 1 %inner, %first
    yield
    stack %outer along 0
  %all: float32[4,{double},80] = result 0 of %1
  return %all"""


@pytest.mark.parametrize("rows", [1, 3])
def test_a_concat_in_another_has_the_gaps_of_both(rows: int, rng: np.random.Generator) -> None:
    text = NESTED.format(rows=rows, double=2 * rows)
    schedule = schedule_kernel(kernel_of(text), TARGET)
    (inner,) = (each for each in schedule.concats.into if isinstance(each.op, Concat))
    assert schedule.order.in_concat(inner.operands[0], inner) == ROWS
    x = rng.random((4, rows, 40), np.float32)
    one = np.concatenate((x, x[..., ::-1]), 1)
    wanted = np.concatenate((one, np.repeat(x[:, :1], 2 * rows, 1)), 2)
    np.testing.assert_array_equal(run_kernel(text, x)[0], wanted)


STACK = """kernel
  %x: float32[{length},{rows},40] = input 0
  %1 = loop length {length} extent {length}
    %row: float32[{rows},40] = scan slice along 0 of %x
    yield
    stack %row along {axis}
  %all: float32[{shape}] = result 0 of %1
  return %all"""


@pytest.mark.parametrize(
    ("length", "rows", "axis", "place"),
    [
        (3, 5, 0, WHOLE),
        (3, 5, 1, ROWS),
        (3, 5, 2, SINGLE),
        (3, 1, 1, WHOLE),
        (1, 5, 2, ROWS),
    ],
)
def test_stacked_elements_are_copied_to_their_place(
    length: int, rows: int, axis: int, place: Destination, rng: np.random.Generator
) -> None:
    x = rng.random((length, rows, 40), np.float32)
    wanted = np.moveaxis(x, 0, axis)
    shape = ",".join(map(str, wanted.shape))
    text = STACK.format(length=length, rows=rows, axis=axis, shape=shape)
    schedule = schedule_kernel(kernel_of(text), TARGET)
    assert schedule.order.in_stack(first(schedule, Result)) == place
    np.testing.assert_array_equal(run_kernel(text, x)[0], wanted)


WINDOW = """kernel
  %x: float32[n0,{row}] = input 0
  %start: float32[{shape}] = input 1
  %1 = loop length n0 extent n0 carries %s = %start
    %item: float32[{row}] = scan slice along 0 of %x
    %s: float32[{shape}] = carried 0
    %new: float32[{entering}] = view ({own}) of %item
    %old: float32[{kept}] = view ({moved}) of %s
    %next: float32[{shape}] = concat along {axis} {operands}
    yield %next
  %last: float32[{shape}] = result 0 of %1
  return %last"""
ALONG_0 = {"shape": "3,40", "row": "40", "entering": "1,40", "own": "i1", "kept": "2,40", "axis": 0}
ALONG_1 = {"shape": "40,3", "row": "40", "entering": "40,1", "own": "i0", "kept": "40,2", "axis": 1}


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize(
    ("along", "is_forward", "moved", "window", "entering"),
    [
        (ALONG_0, True, "i0+1, i1", WHOLE, WHOLE),
        (ALONG_0, False, "i0, i1", WHOLE, ROWS),
        (ALONG_1, True, "i0, i1+1", SINGLE, WHOLE),
        (ALONG_1, False, "i0, i1", SINGLE, ROWS),
    ],
)
def test_rows_of_a_window_are_copied_to_their_place(
    along: dict[str, object],
    moved: str,
    window: Destination,
    entering: Destination,
    trips: int,
    rng: np.random.Generator,
    *,
    is_forward: bool,
) -> None:
    operands = "%old, %new" if is_forward else "%new, %old"
    text = WINDOW.format(**along, moved=moved, operands=operands)
    schedule = schedule_kernel(kernel_of(text), TARGET)
    state, order = first(schedule, CarriedArg), schedule.order
    assert (order.in_window(state), order.entering(state)) == (window, entering)
    axis = int(str(along["axis"]))
    x, start = rng.random((trips, 40), np.float32), rng.random((3, 40), np.float32)
    line = np.concatenate((start, x) if is_forward else (x[::-1], start))
    wanted = line[trips:] if is_forward else line[:3]
    (found,) = run_kernel(text, x, np.moveaxis(start, 0, axis).copy())
    np.testing.assert_array_equal(found, np.moveaxis(wanted, 0, axis))


PRODUCT = """kernel
  %given: float32[{given}] = input 0
  %w: float32[512,256] = input 1
  %left: float32[2,256] = view ({read}) of %given
  %right: float32[256,512] = view (i1, i0) of %w
  %p: float32[2,512] = matmul {operand}, %right
  return %p"""


@pytest.mark.parametrize(
    ("given", "read", "operand", "is_copied"),
    [("2,256", "i0, i1", "%given", False), ("256,2", "i1, i0", "%left", True)],
)
def test_the_left_operand_of_dot_products_is_copied_if_it_has_no_rows(
    given: str, read: str, operand: str, rng: np.random.Generator, *, is_copied: bool
) -> None:
    text = PRODUCT.format(given=given, read=read, operand=operand)
    shown = show_schedule(schedule_kernel(kernel_of(text), TARGET))
    assert "dot products" in shown
    assert ("with a copy of the left operand" in shown) == is_copied
    x, w = rng.random(tuple(map(int, given.split(","))), np.float32), rng.random((512, 256))
    w = w.astype(np.float32)
    (found,) = run_kernel(text, x, w)
    np.testing.assert_allclose(found, (x.T if is_copied else x) @ w.T, rtol=1e-5)
