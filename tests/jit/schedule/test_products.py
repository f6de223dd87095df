"""What threads share of matrix products: decided before any code, printed, and followed."""

from __future__ import annotations

import re

import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.schedule.test_pipelines import STACKED
from treadle.jit.codegen import emit_kernel
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.layouts.product_tiles import Tile
from treadle.jit.schedule.schedule import Schedule, schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule
from treadle.jit.schedule.steps.products import Panels

TARGET = Target("x86_64-unknown-linux-gnu", "", "", 64, 32, has_fma=True)
ROW = "in panels, tiles of 1 x 16 vectors of 16"
TALL = "in panels, tiles of 8 x 2 vectors of 16"
PACKED = "in packed panels, tiles of 1 x 16 vectors of 16"
DOTS = "dot products, 8 columns at once"
PRODUCT = """kernel parallel_threshold_ns=1500
  %n: int64[] = input 0
  %a: float32[LEFT] = input 1
  %b: float32[RIGHT] = input 2
  %c: float32[RESULT] = matmul %a, %b
  return %c"""
TRANSPOSED = """kernel parallel_threshold_ns=1500
  %a: float32[LEFT] = input 0
  %w: float32[STORED] = input 1
  %b: float32[RIGHT] = view (i1, i0) of %w
  %c: float32[RESULT] = matmul %a, %b
  return %c"""


def schedule_of(text: str, left: str, right: str, result: str) -> Schedule:
    stored = ",".join(right.split(",")[::-1])
    for name, shape in (("LEFT", left), ("RIGHT", right), ("RESULT", result), ("STORED", stored)):
        text = text.replace(name, shape)
    return schedule_kernel(kernel_of(text), TARGET)


def words_of(schedule: Schedule) -> list[str]:
    lines = (line.strip() for line in show_schedule(schedule).splitlines())
    found = (line.partition("product: ")[2] for line in lines if "product: " in line)
    return [line.partition("], ")[2] for line in found]


@pytest.mark.parametrize(
    ("left", "right", "result", "words"),
    [
        ("1,256", "256,512", "1,512", f"{ROW}, shared by threads along its columns"),
        ("1,64", "64,64", "1,64", ROW),
        ("1,256", "256,256", "1,256", ROW),  # one panel of columns
        ("64,256", "256,32", "64,32", f"{TALL}, shared by threads along its rows"),
        ("8,4096", "4096,32", "8,32", TALL),  # one block of rows, one panel of columns
        ("n,16", "16,16", "n,16", f"{TALL}, shared by threads along its rows"),
        ("16,32,32", "16,32,32", "16,32,32", f"{TALL}, shared by threads along axis 0"),
        ("2,16,16", "2,16,16", "2,16,16", TALL),
        ("512,64", "64,1", "512,1", "element by element, shared by threads along axis 0"),
        ("32,64", "64,1", "32,1", "element by element"),
        ("1,3", "3,2", "1,2", "in registers, written out"),
        ("1,4", "4,2", "1,2", "in registers, written out in two sums"),
        ("1,32", "32,1", "1,1", "in registers, in a loop over its terms"),
        ("1,31", "31,1", "1,1", "in registers, written out in two sums"),
    ],
)
def test_threads_share_what_is_long_enough(left, right, result, words):
    schedule = schedule_of(PRODUCT, left, right, result)
    assert words_of(schedule) == [words]
    shared = dict(emit_kernel(schedule.kernel, (), TARGET).counts).get("shared", 0)
    assert bool(shared) == ("shared" in words)


@pytest.mark.parametrize(
    ("columns", "words"),
    [(512, f"{DOTS}, shared by threads along axis 1"), (32, DOTS)],
)
def test_threads_share_the_columns_of_dot_products(columns, words):
    schedule = schedule_of(TRANSPOSED, "1,128", f"128,{columns}", f"1,{columns}")
    assert words_of(schedule) == [words]
    shared = dict(emit_kernel(schedule.kernel, (), TARGET).counts).get("shared", 0)
    assert shared == ("shared" in words)


def test_long_dot_products_have_safepoints():
    alone = TRANSPOSED.replace(" parallel_threshold_ns=1500", "")
    (found,) = words_of(schedule_of(alone, "1,65536", "65536,65536", "1,65536"))
    assert found == f"{DOTS}, a safepoint for every 4096 columns"


def test_without_threads_nothing_is_shared():
    alone = PRODUCT.replace(" parallel_threshold_ns=1500", "")
    assert words_of(schedule_of(alone, "1,256", "256,512", "1,512")) == [ROW]


def test_rows_of_few_vectors_are_shared_where_those_of_many_are_not():
    """A panel of two vectors takes half the time of one of four."""
    schedule = schedule_of(PRODUCT, "32,64", "64,48", "32,48")
    (found,) = schedule.products.values()
    assert isinstance(found, Panels)
    assert found.row_vectors == 2


@pytest.mark.parametrize(
    ("left", "right", "result", "words"),
    [
        (
            "1,65536",
            "65536,65536",
            "1,65536",
            "in parts of 8192 columns, a safepoint for every 1 rows",
        ),
        ("1,2048", "2048,65536", "1,65536", ""),
        ("100000,1024", "1024,1024", "100000,1024", "a safepoint for every 400 rows"),
        ("n,1024", "1024,1024", "n,1024", "a safepoint for every 256 rows"),
        ("n,16", "16,16", "n,16", ""),
        ("4000,64,64", "4000,64,64", "4000,64,64", "a safepoint for every 2000 products"),
        ("65536,4096", "4096,1", "65536,1", "a safepoint for every 65536 rows"),
        ("65535,4096", "4096,1", "65535,1", ""),
    ],
)
def test_long_products_have_safepoints(left, right, result, words):
    alone = PRODUCT.replace(" parallel_threshold_ns=1500", "")
    (found,) = words_of(schedule_of(alone, left, right, result))
    assert (
        found.removeprefix(ROW).removeprefix(TALL).removeprefix("element by element")[2:] == words
    )


BOTH = """kernel
  %x: float32[9,1,64] = input 0
  %h: float32[1,64] = input 1
  %w: float32[64,64] = input 2
  %t: float32[64,64] = view (i1, i0) of %w
  %1 = loop length 9 extent 9 carries %s = %h
    %s: float32[1,64] = carried 0
    %i: float32[1,64] = scan slice along 0 of %x
    %p: float32[1,64] = matmul %i, %t
    %q: float32[1,64] = matmul %s, %t
    %n: float32[1,64] = add %p, %q
    yield %n
  %r: float32[1,64] = result 0 of %1
  return %r"""


def test_products_read_the_copy_of_a_transposition_that_those_of_many_iterations_need():
    assert words_of(schedule_kernel(kernel_of(BOTH), TARGET)) == [
        "in packed panels, tiles of 8 x 2 vectors of 16",
        "in packed panels, tiles of 1 x 16 vectors of 16",
    ]


@pytest.mark.parametrize(
    ("trips", "words"),
    [("15", DOTS), ("16", f"{PACKED}, dot products in short loops"),
     ("n", f"{PACKED}, dot products in short loops")],
)  # fmt: skip
def test_a_transposition_is_packed_before_loops_that_may_be_long(trips, words):
    text = BOTH.replace("matmul %i, %t", "neg %i").replace("[9,", f"[{trips},")
    text = text.replace("length 9 extent 9", f"length {trips} extent {trips}")
    assert words_of(schedule_kernel(kernel_of(text), TARGET)) == [words]


@pytest.mark.parametrize(("side", "is_packed"), [(20, False), (32, True)])
def test_a_small_transposition_is_read_as_it_is(side, is_packed):
    text = BOTH.replace("matmul %i, %t", "neg %i").replace("[9,", "[n,").replace("64", str(side))
    text = text.replace("length 9 extent 9", "length n extent n").replace(f"t{side}", "t64")
    text = re.sub(r"float\d+", "float32", text)
    made = schedule_kernel(kernel_of(text), TARGET)
    assert any(made.packings.values()) == is_packed


def test_dot_products_of_a_loop_inside_ask_how_often_that_one_runs():
    text = OUTER.replace("ROWS", "20")
    made = schedule_kernel(kernel_of(text), TARGET)
    (inner,) = [packed for packed in made.packings.values() if packed]
    assert [each.least for each in inner] == [16]
    assert words_of(made) == [f"{PACKED}, dot products in short loops"]


OUTER = """kernel
  %x: float32[ROWS,1,64] = input 0
  %h: float32[1,64] = input 1
  %w: float32[64,64] = input 2
  %m: int64[] = input 3
  %t: float32[64,64] = view (i1, i0) of %w
  %1 = loop trip %m carries %o = %h
    %o: float32[1,64] = carried 0
    %2 = loop length ROWS extent ROWS carries %s = %o
      %s: float32[1,64] = carried 0
      %i: float32[1,64] = scan slice along 0 of %x
      %q: float32[1,64] = matmul %s, %t
      %n: float32[1,64] = add %i, %q
      yield %n
    %r: float32[1,64] = result 0 of %2
    yield %r
  %e: float32[1,64] = result 0 of %1
  return %e"""


def test_a_product_in_a_stage_of_a_pipeline_has_one_thread():
    wide = kernel_of(STACKED.replace("32,32", "512,512").replace("1,32", "1,512"))
    apart, together = (schedule_kernel(wide, TARGET, has_pool=each) for each in (False, True))
    assert not apart.pipelines.found
    assert together.pipelines.found
    assert all("shared" in words for words in words_of(apart))
    assert not any("shared" in words for words in words_of(together))


def test_a_loop_that_reads_a_large_matrix_turns_back():
    large = kernel_of(STACKED.replace("32,32", "512,512").replace("1,32", "1,512"))
    found = words_of(schedule_kernel(large, TARGET))
    assert sum("backward" in words for words in found) == 3  # the fourth is distributed
    assert not any("backward" in words for words in words_of(schedule_of(STACKED, "", "", "")))


@pytest.mark.parametrize("most", [1, 2, 4, 16])
def test_one_panel_at_most_is_unlike_the_others(most):
    """125 vectors were 62 panels of one and 63 vectors apart from them."""
    tile = Tile(1, most, 16)
    for columns in (*range(1, 400), 2_000, 50_257):
        vectors = -(-columns // 16)
        number, wide = tile.panels(columns)
        assert 0 <= vectors - number * wide <= most
        assert wide <= most
        assert number * wide * 16 <= columns


CARRIED = """kernel
  %n: int64[] = input 0
  %m0: float32[64,96] = input 1
  %v: float32[1,96] = input 2
  %1 = loop length 9 extent 9 carries %m = %m0
    %m: float32[64,96] = carried 0
    %t: float32[96,64] = view (i1, i0) of %m
    %y: float32[1,64] = matmul %v, %t
    %first: float32[96] = view (0, i0) of %m
    %next: float32[64,96] = add %m, %first
    yield %next
    stack %y along 0
  %all: float32[9,1,64] = result 1 of %1
  return %all"""


def test_a_carried_matrix_that_is_read_transposed_too() -> None:
    """Where other readers keep it from being carried transposed."""
    assert words_of(schedule_kernel(kernel_of(CARRIED), TARGET)) == [DOTS]
