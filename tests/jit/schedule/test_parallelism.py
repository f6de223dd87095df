"""Vectors and threads of nests: decided before any code, printed, and followed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.native import check
from tests.jit.schedule.test_pipelines import STACKED
from treadle.jit.codegen import emit_kernel
from treadle.jit.kernel.ir import Concat
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.layouts.memory_order import Destination
from treadle.jit.schedule.parallelism import Parallelism, all_as_one, in_rows
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule
from treadle.jit.schedule.steps.chunks import Chunk
from treadle.jit.schedule.steps.copies import CopyForm

TARGET = Target("x86_64-unknown-linux-gnu", "", "", 64, 32, has_fma=True)
SHARED = """kernel parallel_threshold_ns=1500
  %c: float32[512,512] = input 0
  %v: float32[512] = input 1
  %s: float32[8] = input 2
  %1 = loop length 6 extent 6 carries %z = %c
    %z: float32[512,512] = carried 0
    %wide: float32[512,512] = view (i1) of %v
    %rows: float32[512] = reduce add over (1) of %z
    %tall: float32[512,512] = view (i0) of %rows
    %columns: float32[512] = reduce max over (0) of %z
    %a: float32[512,512] = add %z, %wide
    %b: float32[512,512] = mul %a, %tall
    %c1: float32[512] = tanh %columns
    %d: float32[512,512] = view (i1) of %c1
    %next: float32[512,512] = tanh %b
    %last: float32[512,512] = mul %next, %d
    yield %last
  %2: float32[512,512] = result 0 of %1
  %3: float32[512,512] = exp %2
  %4: float32[8] = exp %s
  %5: float32[512] = reduce add over (1) of %3
  %6: float32[8] = neg %4
  return %3, %5, %6"""


def test_vectors_and_threads_are_printed(golden):
    schedule = schedule_kernel(kernel_of(SHARED), TARGET)
    golden("jit/schedule_shared.txt", show_schedule(schedule) + "\n")


@pytest.mark.parametrize("threshold", ["", " parallel_threshold_ns=1500"])
def test_code_follows_the_schedule(threshold):
    kernel = kernel_of(SHARED.replace(" parallel_threshold_ns=1500", threshold))
    wanted = schedule_kernel(kernel, TARGET).parallelism.values()
    code = emit_kernel(kernel, (), TARGET)
    shared = sum(each.shared_axis is not None for each in wanted)
    assert shared == (5 if threshold else 0)
    copied = int(bool(threshold))  # the carried array's start
    assert dict(code.counts).get("shared", 0) == shared + copied
    assert ("interleave.count" in code.text) == any(each.interleaved > 1 for each in wanted)


LONG = """kernel
  %n: int64[] = input 0
  %a: float32[SHAPE] = input 1
  %b: float32[SHAPE] = exp %a
  %c: float32[SHAPE] = mul %b, %a
  return %c"""


@pytest.mark.parametrize(
    ("shape", "chunk"),
    [
        ("1023,65536", None),
        ("65536,65536", Chunk(0, 1024 * 65536, 4)),
        ("n,65536", None),
        ("65536,n", None),
    ],
)
def test_long_nests_have_safepoints(shape, chunk):
    schedule = schedule_kernel(kernel_of(LONG.replace("SHAPE", shape)), TARGET)
    (found,) = schedule.parallelism.values()
    assert found.chunk == chunk
    assert ("safepoint" in show_schedule(schedule)) == (chunk is not None)


def test_chunks_lie_along_the_axis_that_threads_divide():
    """Half of this nest, an item of its first axis, would run a minute without a safepoint."""
    found = in_rows(1.0, (2, 2**36), 0).chunk
    assert found == Chunk(1, 2**24, 8)


SPLIT = """kernel
  %z: float32[64,ROW] = input 0
  %u: float32[64,MOST] = view (i0, i1+1) of %z
  %v: float32[64,1] = view (i0, i1) of %z
  %turned: float32[64,ROW] = concat along 1 %u, %v
  %next: float32[64,ROW] = add %turned, %z
  return %next"""


@pytest.mark.parametrize(
    ("row", "dtype", "vector_bytes", "words"),
    [
        (64, "float32", 64, "the last of a row again"),  # 3 vectors and 15 elements
        (256, "float32", 64, "the last of a row again"),  # 15 vectors and 15 elements
        (65, "float32", 64, ""),  # 4 vectors
        (64, "int8", 64, "the rest of a row under a mask"),  # 63 elements of a vector
        (1024, "float32", 64, ""),  # 63 vectors, beside which the rest hardly matters
        (64, "float32", 32, "the last of a row again"),  # 7 vectors and 7 elements
        (32, "int8", 32, ""),  # 31 elements of a vector without masks
    ],
)
def test_the_rest_of_a_row_is_a_vector(row, dtype, vector_bytes, words):
    text = SPLIT.replace("ROW", str(row)).replace("MOST", str(row - 1)).replace("float32", dtype)
    target = replace(TARGET, vector_bytes=vector_bytes)
    shown = show_schedule(schedule_kernel(kernel_of(text), target))
    assert "in 2 pieces" in shown
    found = [each for each in ("again", "under a mask") if each in shown]
    assert found == [each for each in ("again", "under a mask") if each in words]
    code = emit_kernel(kernel_of(text), (), target).text
    assert ("vectorize.predicate.enable" in code) == ("mask" in words)


def test_a_row_ends_with_its_last_vector():
    rows = Parallelism(1.0, 1, overlapped=16)
    assert rows.spans(126) == [(0, 112), (110, 16)]
    assert rows.spans(112) == [(0, 112)]
    assert rows.spans(15) == [(0, 15)]


def test_what_is_computed_in_place_is_computed_once():
    text = """kernel
  %z: float32[4,64] = input 0
  %1 = loop length 5 extent 5 carries %s = %z
    %s: float32[4,64] = carried 0
    %u: float32[4,63] = view (i0, i1+1) of %z
    %v: float32[4,1] = view (i0, i1) of %z
    %turned: float32[4,64] = concat along 1 %u, %v
    %next: float32[4,64] = add %turned, %s
    yield %next
  %last: float32[4,64] = result 0 of %1
  return %last"""
    shown = show_schedule(schedule_kernel(kernel_of(text), replace(TARGET, vector_bytes=32)))
    assert "in place of carried 0" in shown
    assert "again" not in shown


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ((4, 512), Parallelism(1.0, 1, 4, 1)),
        ((512, 4), Parallelism(1.0, 1, 1, 0)),
        ((7, 7), Parallelism(1.0, 1, 1, None)),
        ((1, 100), Parallelism(1.0, 1, 1, None)),
        (("n", 100), Parallelism(1.0, 1, 1, 0)),
        ((), Parallelism(1.0, None, 1, None)),
    ],
)
def test_threads_divide_the_first_long_axis(shape, found):
    assert in_rows(1.0, shape, 1500) == found


@pytest.mark.parametrize(
    ("size", "nanoseconds", "found"),
    [
        (100_000, 0.05, Parallelism(0.05, None, 1, 0)),
        (100_000, 0.01, Parallelism(0.01, None, 1, None)),
        (100, 20.0, Parallelism(20.0, None, 1, None)),
        (2048, 1.0, Parallelism(1.0, None, 4, 0)),
        ("n", 0.05, Parallelism(0.05, None, 1, None)),
        ("n", 0.1, Parallelism(0.1, None, 1, 0)),
    ],
)
def test_threads_divide_all_elements_where_they_are_one_row(size, nanoseconds, found):
    assert all_as_one(nanoseconds, size, 1500) == found


def test_one_thread_shares_nothing():
    assert in_rows(1.0, (512, 512), 0).shared_axis is None
    assert all_as_one(1.0, 10**6, 0).shared_axis is None


COPIES = """kernel parallel_threshold_ns=1500
  %x: float32[256,300] = input 0
  %y: float32[16,24] = input 1
  %a: float32[300,300] = input 2
  %left: float32[64,300] = input 3
  %w: float32[300,256] = view (i1, i0) of %x
  %v: float32[24,16] = view (i1, i0) of %y
  %c: float32[64,256] = matmul %left, %w
  %1 = loop length 6 extent 6 carries %s = %a
    %s: float32[300,300] = carried 0
    %next: float32[300,300] = mul %s, %s
    yield %next
  %2: float32[300,300] = result 0 of %1
  return %2, %v, %c, %left"""


def test_a_long_copy_by_tiles_has_safepoints():
    text = show_schedule(schedule_kernel(kernel_of(COPIES.replace("300", "524288")), TARGET))
    wanted = "float32[524288,256], in tiles, a safepoint for every 16384 rows of tiles"
    assert wanted in text


def test_long_copies_are_shared():
    kernel = kernel_of(COPIES)
    schedule = schedule_kernel(kernel, TARGET)
    text = show_schedule(schedule)
    assert "main: copy: view: float32[300,256], in tiles, shared by threads\n" in text
    large, small, _, row_major = (schedule.copied(each, kernel.main) for each in kernel.results)
    assert (large.form, small.form) == (CopyForm.FLAT, CopyForm.TILES)
    shared = [each.loops.shared_axis for each in (large, small, row_major)]
    assert shared == [0, None, None]
    # the view, the product, and the copy with which the loop begins
    assert dict(emit_kernel(kernel, (), TARGET).counts)["shared"] == 3


def test_copies_in_a_tiled_loop_are_not_shared():
    kernel = kernel_of(COPIES)
    schedule = schedule_kernel(kernel, TARGET)
    (loop,) = schedule.loops
    assert "tiles of" in show_schedule(schedule)
    for place in (Destination(), Destination(has_rows=False)):
        assert not schedule.copied(kernel.results[0], loop.op.body, place).loops.is_shared


def test_copies_in_a_stage_of_a_pipeline_are_not_shared():
    kernel = kernel_of(STACKED.replace("32,32", "512,512").replace("1,32", "1,512"))
    schedule = schedule_kernel(kernel, TARGET)
    matrix = kernel.inputs[-1]
    assert schedule.copied(matrix, kernel.main).loops.shared_axis == 0
    for loop in schedule.loops:
        assert schedule.copied(matrix, loop.op.body).loops.shared_axis is None


JOINED = """kernel
  %x: float32[40,2] = input 0
  %s0: float32[40,4] = input 1
  %1 = loop length 5 extent 5 carries %s = %s0
    %s: float32[40,4] = carried 0
    %left: float32[40,2] = view (i0, i1) of %s
    %right: float32[40,2] = {right}
    %turned: float32[40,2] = view (-1*i0+39, i1) of %left
    %both: float32[40,4] = concat along 1 %turned, {operand}
    %next: float32[40,4] = add %both, %s
    yield %next
  %last: float32[40,4] = result 0 of %1
  return %last"""


@pytest.mark.parametrize(
    ("right", "operand", "is_at_once"),
    [
        ("view (i0, i1+2) of %s", "%right", True),
        ("exp %left", "%right", False),  # is computed in the memory of the Concat
        ("exp %left", "%x", False),  # is written in the first iteration alone
    ],
)
def test_rows_of_a_concat_are_written_at_once_if_all_of_them_are(
    right: str, operand: str, *, is_at_once: bool
) -> None:
    kernel = kernel_of(JOINED.format(right=right, operand=operand))
    schedule = schedule_kernel(kernel, TARGET)
    (join,) = (n for n in schedule.storage.storage_of if isinstance(n.op, Concat))
    assert (join in schedule.parallelism) == is_at_once
    assert ("copy: concat" in show_schedule(schedule)) == is_at_once


JOINED_RESULT = """kernel
  %a: float32[{rows},40] = input 0
  %b: float32[{rows},40] = input 1
  %roots: float32[{rows},40] = sqrt %a
  %both: float32[{shape}] = concat along {axis} %roots, %b
  return %both"""
STACKED_RESULT = """kernel
  %x: float32[3,{rows},40] = input 0
  %1 = loop length 3 extent 3
    %row: float32[{rows},40] = scan slice along 0 of %x
    %roots: float32[{rows},40] = sqrt %row
    yield
    stack %roots along {axis}
  %all: float32[{shape}] = result 0 of %1
  return %all"""


@pytest.mark.parametrize(
    ("text", "rows", "axis", "shape", "along"),
    [
        (JOINED_RESULT, 5, 0, (10, 40), "all axes"),
        (JOINED_RESULT, 5, 1, (5, 80), "axis 1"),
        (JOINED_RESULT, 1, 1, (1, 80), "all axes"),
        (STACKED_RESULT, 5, 0, (3, 5, 40), "all axes"),
        (STACKED_RESULT, 5, 1, (5, 3, 40), "axis 1"),
        (STACKED_RESULT, 1, 1, (1, 3, 40), "all axes"),
    ],
)
def test_nests_that_write_between_other_values_run_by_index(
    text: str,
    rows: int,
    axis: int,
    shape: tuple[int, ...],
    along: str,
    rng: np.random.Generator,
) -> None:
    source = text.format(rows=rows, axis=axis, shape=",".join(map(str, shape)))
    shown = show_schedule(schedule_kernel(kernel_of(source), TARGET))
    assert f"nest: sqrt: float32[{rows},40], vectors along {along}" in shown
    x = rng.random((3, rows, 40), np.float32)
    if text is JOINED_RESULT:
        (found,) = run_kernel(source, x[0], x[1])
        wanted = np.concatenate([np.sqrt(x[0]), x[1]], axis)
    else:
        (found,) = run_kernel(source, x)
        wanted = np.sqrt(np.moveaxis(x, 0, axis))
    np.testing.assert_array_equal(found, wanted)


ROWS = """g ({kind}[7,{width}] x, {kind}[7,1] column, {kind}[{width}] row, {kind}[{width}] start)
  => ({kind}[7,{width}] y, {kind}[{width}] z) {{
  n = Constant <value = int64 {{5}}> ()
  y, z = Loop (n, "", x, start) <body = f (int64 i, bool go, {kind}[7,{width}] s, {kind}[{width}] v)
    => (bool on, {kind}[7,{width}] t, {kind}[{width}] w) {{
    on = Identity (go)
    a = Add (s, column)
    b = Max (a, row)
    t = Sub (b, s)
    most = ReduceMax <keepdims = 0> (v)
    c = Sub (row, v)
    w = Min (c, most)
  }}>
}}"""


@pytest.mark.parametrize("width", [8, 9, 11, 12, 15, 17, 20, 24, 31, 33, 45, 63, 100, 126])
@pytest.mark.parametrize("kind", ["float", "double", "int32", "int64"])
def test_rows_of_any_length_in_place(kind: str, width: int, rng: np.random.Generator) -> None:
    numpy = {"float": "float32", "double": "float64"}.get(kind, kind)
    shapes = {"x": (7, width), "column": (7, 1), "row": (width,), "start": (width,)}
    feeds = {name: rng.integers(-9, 10, shape).astype(numpy) for name, shape in shapes.items()}
    check(ROWS.format(kind=kind, width=width), feeds)


def test_the_rest_of_a_row_is_in_smaller_vectors() -> None:
    found = Parallelism(1.0, 1, parted=16)
    assert found.spans(31) == [(0, 16), (16, 8), (24, 4), (28, 3)]
    assert found.spans(12) == [(0, 8), (8, 4)]
    assert found.spans(32) == [(0, 32)]
    assert found.spans(3) == [(0, 3)]
