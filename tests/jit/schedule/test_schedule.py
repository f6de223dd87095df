"""Schedules of kernels in text: the strategy of each loop, and the reasons why others decline."""

from __future__ import annotations

import pytest

from tests.jit.kernel_text import kernel_of
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.schedule import Schedule, schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

TARGET = Target("", "", "", vector_bytes=64, registers=32, has_fma=True)

TILED = """kernel
  %c: float32[256,256] = input 0
  %1 = loop length 6 extent 6 carries %z = %c
    %z: float32[256,256] = carried 0
    %square: float32[256,256] = mul %z, %z
    %next: float32[256,256] = add %square, %c
    yield %next
  %last: float32[256,256] = result 0 of %1
  return %last"""

GRID = """kernel
  %r0: float32[64] = input 0
  %s: float32[30] = input 1
  %t: float32[64] = input 2
  %zero: float32[] = constant 0
  %1 = loop length 30 extent 30 carries %row = %r0
    %row: float32[64] = carried 0
    %a: float32[] = scan slice along 0 of %s
    %2 = loop length 64 extent 64 carries %left = %zero, %corner = %zero
      %left: float32[] = carried 0
      %corner: float32[] = carried 1
      %above: float32[] = scan slice along 0 of %row
      %b: float32[] = scan slice along 0 of %t
      %gap: float32[] = sub %a, %b
      %near: float32[] = min %left, %above
      %least: float32[] = min %near, %corner
      %cell: float32[] = add %least, %gap
      yield %cell, %above
      stack %cell along 0
    %next: float32[64] = result 2 of %2
    yield %next
  %last: float32[64] = result 0 of %1
  return %last"""

AVERAGE = """kernel
  %m0: float32[] = input 0
  %x: float32[1000] = input 1
  %rate: float32[] = input 2
  %1 = loop length 1000 extent 1000 carries %m = %m0
    %m: float32[] = carried 0
    %v: float32[] = scan slice along 0 of %x
    %gap: float32[] = sub %v, %m
    %part: float32[] = mul %gap, %rate
    %next: float32[] = add %m, %part
    yield %next
    stack %next along 0
  %last: float32[] = result 0 of %1
  %all: float32[1000] = result 1 of %1
  return %last, %all"""

WINDOW = """kernel
  %w0: float32[32,2] = input 0
  %x: float32[90,2] = input 1
  %1 = loop length 90 extent 90 carries %w = %w0
    %w: float32[32,2] = carried 0
    %row: float32[2] = scan slice along 0 of %x
    %new: float32[1,2] = reshape %row
    %kept: float32[31,2] = view (i0+1, i1) of %w
    %next: float32[32,2] = concat along 0 %kept, %new
    %sum: float32[2] = reduce add over (0) of %next
    yield %next
    stack %sum along 0
  %last: float32[32,2] = result 0 of %1
  %all: float32[90,2] = result 1 of %1
  return %last, %all"""

STENCIL = """kernel
  %x: float32[64,64] = input 0
  %1 = loop length 9 extent 9 carries %u = %x
    %u: float32[64,64] = carried 0
    %turned: float32[64,64] = view (i1, i0) of %u
    %next: float32[64,64] = add %u, %turned
    yield %next
  %last: float32[64,64] = result 0 of %1
  return %last"""

IN_PLACE = """kernel
  %x: float32[64] = input 0
  %k: int64[1] = input 1
  %v: float32[1] = input 2
  %1 = loop length 9 extent 9 carries %u = %x, %w = %x, %old = %x
    %u: float32[64] = carried 0
    %w: float32[64] = carried 1
    %old: float32[64] = carried 2
    %twice: float32[64] = add %u, %u
    %put: float32[64] = scatter (at 0) into %w, %v, %k
    %sum: float32[64] = add %twice, %put
    %gap: float32[64] = sub %sum, %old
    yield %gap, %put, %u
  %last: float32[64] = result 0 of %1
  return %last"""

PIECES = """kernel
  %x: float32[64,70] = input 0
  %top: float32[32,70] = view (i0, i1) of %x
  %end: float32[32,70] = view (i0+32, i1) of %x
  %both: float32[64,70] = concat along 0 %end, %top
  %change: float32[64,70] = sub %x, %both
  %part: float32[64] = reduce add over (1) of %change
  return %change, %part"""

PRODUCT = """kernel
  %h0: float32[1,64] = input 0
  %x: float32[90,32] = input 1
  %w: float32[32,64] = input 2
  %1 = loop length 90 extent 90 carries %h = %h0
    %h: float32[1,64] = carried 0
    %item: float32[32] = scan slice along 0 of %x
    %row: float32[1,32] = reshape %item
    %xw: float32[1,64] = matmul %row, %w
    %sum: float32[1,64] = add %xw, %h
    %next: float32[1,64] = tanh %sum
    yield %next
  %last: float32[1,64] = result 0 of %1
  return %last"""

FIR = """kernel
  %w0: float32[4] = input 0
  %x: float32[900] = input 1
  %zero: int64[] = constant 0
  %b0: float32[] = input 2
  %k: int64[9] = input 3
  %1 = loop length 900 extent 900 carries %w = %w0, %s = %zero, %b = %b0
    %w: float32[4] = carried 0
    %s: int64[] = carried 1
    %b: float32[] = carried 2
    %item: float32[] = scan slice along 0 of %x
    %new: float32[1] = reshape %item
    %kept: float32[3] = view (i0+1) of %w
    %next: float32[4] = concat along 0 %kept, %new
    %sum: float32[] = reduce add over (0) of %next
    %hit: bool[] = greater %sum, %b
    %one: int64[] = cast %hit
    %count: int64[] = add %s, %one
    yield %next, %count, %item
    stack %sum along 0
  %last: float32[4] = result 0 of %1
  %hits: int64[] = result 1 of %1
  %sums: float32[900] = result 3 of %1
  return %last, %hits, %sums"""

KERNELS = {
    "tiled": TILED,
    "wavefront": GRID,
    "parallel_prefix": AVERAGE,
    "window": WINDOW,
    "vectorized": FIR,
    "double_buffer": STENCIL,
    "in_place": IN_PLACE,
    "pieces": PIECES,
    "distributed": PRODUCT,
}


def schedule_of(text: str) -> Schedule:
    """The schedule of the kernel that a text describes."""
    return schedule_kernel(kernel_of(text), TARGET)


@pytest.mark.parametrize("name", KERNELS)
def test_schedules(name, golden):
    golden(f"jit/schedule_{name}.txt", show_schedule(schedule_of(KERNELS[name])) + "\n")


DECLINED = [
    ("register tiling", TILED, "mul %z, %z", "view (i1, i0) of %z", "view is not elementwise"),
    ("register tiling", TILED, "256", "20",
     "its arrays have more than 256 elements, and fit into the cache"),
    ("register tiling", TILED, "mul %z, %z", "tanh %z",
     "functions with long code take less time in nests than in several tiles"),
    ("wavefront", GRID, "along 0 of %row", "along 0 from the last of %row",
     "scanslice has no vector form"),
    ("wavefront", GRID, "sub %a, %b", "pow %a, %b", "pow has no vector form"),
    ("wavefront", GRID, "64", "12", "the rows are short"),
    ("wavefront", GRID.replace("float32[30]", "float32[3]"), "length 30 extent 30",
     "length 3 extent 3", "the rows are few"),
    ("wavefront", GRID, "stack %cell along 0", "stack %cell along 0 from the last",
     "the inner loop is no Scan of scalars of known length"),
    ("vectorization", FIR.replace("stack %sum", "stack %count"), "sums: float32", "sums: int64",
     "a stacked output has the results of earlier iterations"),
    ("vectorization", FIR, "add %s, %one", "sub %one, %s",
     "carried 1 is computed from earlier iterations"),
    ("vectorization", FIR, "900", "12", "it has few iterations"),
    ("vectorization", WINDOW, "90", "91", "view is an array"),
    ("vectorization", AVERAGE, "1000", "1001", "carried 0 is computed from earlier iterations"),
    ("vectorization", IN_PLACE, "9 extent 9", "20 extent 20", "carried 0 is an array"),
    ("vectorization", FIR, "%one: int64[] = cast %hit", "%one: int64[] = take along 0 of %k, %zero",
     "take may fail or loops"),
    ("parallel prefix", AVERAGE, "mul %gap, %rate", "mul %gap, %m",
     "carried 0 is not linear in its old value"),
    ("parallel prefix", AVERAGE, "sub %v, %m", "max %v, %m",
     "carried 0 is not linear in its old value"),
    ("parallel prefix", AVERAGE, "mul %gap, %rate", "pow %gap, %rate", "pow has no vector form"),
    ("parallel prefix", AVERAGE, "sub %v, %m", "sub %rate, %m",
     ""),
    ("parallel prefix", AVERAGE, "1000", "24", "it has few iterations"),
    ("parallel prefix", AVERAGE, "float32", "float64", "float64 would be rounded otherwise"),
]  # fmt: skip


@pytest.mark.parametrize(("strategy", "text", "old", "new", "reason"), DECLINED)
def test_a_strategy_says_why_it_declines(strategy, text, old, new, reason):
    *_, found = schedule_of(text.replace(old, new)).loops.values()
    assert found.declined.get(strategy, "") == reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("reshape %item", "view (i1) of %item"),
        ("scan slice along 0 of %x", "scan slice along 0 from the last of %x"),
    ],
)
def test_products_of_items_are_distributed(old, new):
    assert len(schedule_of(PRODUCT.replace(old, new)).distributed) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("matmul %row, %w", "matmul %h, %u"),
        ("float32[32,64] = input 2", "float32[32,16] = input 2"),
    ],
    ids=["of a carried value", "of a small matrix"],
)
def test_a_product_is_not_distributed(old, new):
    text = PRODUCT.replace("%w: float32", "%u: float32[64,64] = input 3\n  %w: float32")
    text = text.replace(old, new)
    if "[32,16]" in new:
        text = text.replace("[1,64]", "[1,16]")
    assert schedule_of(text).distributed == {}
