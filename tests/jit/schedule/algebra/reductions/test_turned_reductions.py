"""Reductions along the rows of functions of an unchanged matrix run along its columns."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, kernel_of, run_kernel
from treadle.jit.kernel.ir import Elementwise, Loop, Reduce
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.reductions.turned_reductions import with_turned_reductions

SCORES = """kernel
  %w: float32[12,20] = input 0
  %x: float32[9,20] = input 1
  %s0: float32[12] = input 2
  %r = loop length 9 extent 9 carries %s = %s0
    %s: float32[12] = carried 0
    %xi: float32[20] = scan slice along 0 of %x
    %row: float32[1,20] = view (i1) of %xi
    %column: float32[12,1] = view (i0) of %s
    %sum: float32[12,20] = add %w, %row
    %all: float32[12,20] = sub %sum, %column
    %far: float32[12,20] = abs %all
    %most: float32[12] = reduce max over (1) of %far
    %least: float32[12,1] = reduce min over (1) of %all
    %flat: float32[12] = view (i0, 0) of %least
    %next: float32[12] = sub %most, %flat
    yield %next
    stack %most along 0
  %last: float32[12] = result 0 of %r
  %each: float32[9,12] = result 1 of %r
  return %last, %each"""


def scores(w: np.ndarray, x: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same in numpy."""
    each = []
    for xi in x:
        found = w + xi - s[:, None]
        most = abs(found).max(1)
        s = most - found.min(1)
        each.append(most)
    return s, np.array(each)


def feeds(rng: np.random.Generator) -> list[np.ndarray]:
    shapes = (12, 20), (9, 20), (12,)
    return [rng.integers(-9, 9, shape).astype(np.float32) for shape in shapes]


def test_along_columns(rng: np.random.Generator) -> None:
    made = with_turned_reductions(kernel_of(SCORES))
    (loop,) = (node.op for node in all_nodes(made.main) if isinstance(node.op, Loop))
    found = [node for node in loop.body.nodes if isinstance(node.op, Reduce)]
    assert [(node.op, node.operands[0].shape) for node in found] == [
        (Reduce("max", (0,)), (20, 12)),
        (Reduce("min", (0,)), (20, 12)),
    ]
    given = feeds(rng)
    for got, wanted in zip(run_kernel(SCORES, *given), scores(*given), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_the_matrix_is_transposed_ahead_of_the_loop() -> None:
    before, _, body = canonical_text(SCORES).partition("loop length")
    assert "float32[20,12] = view (i1, i0)" in before
    assert "view (i1, i0)" not in body


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("extent 9", "extent 7"),  # few iterations
        ("[12", "[7"),  # few rows
        ("20]", "100]"),  # long rows
        ("stack %most", "stack %far"),  # a function is stacked
        ("%next: float32[12] = sub %most, %flat", "%one: float32[12] = view (5, i0) of %all\n"
         "    %next: float32[12] = sub %most, %one"),  # another reader
    ],
)  # fmt: skip
def test_others_stay(old: str, new: str) -> None:
    text = SCORES.replace(old, new)
    if new == "extent 7":
        text = text.replace("length 9", "length 7").replace("[9,", "[7,")
    if new == "[7":
        text = text.replace("9,12]", "9,7]")
    if new == "stack %far":
        text = text.replace("%each: float32[9,12]", "%each: float32[9,12,20]")
    kernel = kernel_of(text)
    assert with_turned_reductions(kernel) is kernel


def test_a_function_that_nothing_reads_is_turned_with_others() -> None:
    unread = "    %unread: float32[12,20] = neg %all\n"
    made = with_turned_reductions(kernel_of(SCORES.replace("    %next:", f"{unread}    %next:")))
    (loop,) = (node.op for node in all_nodes(made.main) if isinstance(node.op, Loop))
    found = [node.op for node in loop.body.nodes if isinstance(node.op, Reduce)]
    assert found == [Reduce("max", (0,)), Reduce("min", (0,))]


def test_a_matrix_of_the_iteration_stays() -> None:
    text = SCORES.replace("%w: float32[12,20] = input 0", "%ws: float32[9,12,20] = input 0")
    item = "%xi: float32[20] = scan slice along 0 of %x"
    text = text.replace(item, f"{item}\n    %w: float32[12,20] = scan slice along 0 of %ws")
    kernel = kernel_of(text)
    assert with_turned_reductions(kernel) is kernel


CLUSTERS = """kernel
  %x: float32[40,3] = input 0
  %c0: float32[5,3] = input 1
  %places: int32[1,5] = input 2
  %none: int32[] = input 3
  %r = loop length 9 extent 9 carries %c = %c0
    %c: float32[5,3] = carried 0
    %each: float32[40,1,3] = view (i0, i2) of %x
    %one: float32[1,5,3] = view (i1, i2) of %c
    %apart: float32[40,5,3] = sub %each, %one
    %square: float32[40,5,3] = mul %apart, %apart
    %far: float32[40,5] = reduce add over (2) of %square
    %least: float32[40,1] = reduce min over (1) of %far
    %is_it: bool[40,5] = equal %far, %least
    %place: int32[40,5] = where %is_it, %places, %none
    %who: int32[40,1] = reduce min over (1) of %place
    %hot: bool[40,5] = equal %who, %places
    %number: float32[40,5] = cast %hot
    %turned: float32[5,40] = view (i1, i0) of %number
    %next: float32[5,3] = matmul %turned, %x
    yield %next
    stack %who along 0
  %last: float32[5,3] = result 0 of %r
  %all: int32[9,40,1] = result 1 of %r
  return %last, %all"""


def test_all_that_is_computed_of_each_other(rng: np.random.Generator) -> None:
    made = with_turned_reductions(kernel_of(CLUSTERS))
    (loop,) = (node.op for node in all_nodes(made.main) if isinstance(node.op, Loop))
    computed = [node for node in loop.body.nodes if isinstance(node.op, Elementwise | Reduce)]
    assert {node.shape for node in computed} == {(5, 3, 40), (5, 40), (40,)}
    x, c = (rng.integers(-5, 6, (n, 3)).astype(np.float32) for n in (40, 5))
    got = run_kernel(CLUSTERS, x, c, np.arange(5, dtype=np.int32)[None], np.int32(5))
    for number in range(9):
        who = ((x[:, None] - c[None]) ** 2).sum(2).argmin(1)
        np.testing.assert_array_equal(got[1][number, :, 0], who)
        c = np.eye(5, dtype=np.float32)[who].T @ x
    np.testing.assert_array_equal(got[0], c)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("stack %who", "stack %place"),
        ("%apart: float32[40,5,3] = sub %each, %one", "%y: float32[40,3] = add %x, %x\n"
         "    %ys: float32[40,1,3] = view (i0, i2) of %y\n"
         "    %apart: float32[40,5,3] = sub %ys, %one"),
    ],
)  # fmt: skip
def test_none_of_them_if_one_stays(old: str, new: str) -> None:
    text = CLUSTERS.replace(old, new)
    if new == "stack %place":
        text = text.replace("%all: int32[9,40,1]", "%all: int32[9,40,5]")
    made = with_turned_reductions(kernel_of(text))
    (loop,) = (node.op for node in all_nodes(made.main) if isinstance(node.op, Loop))
    assert (40, 5) in {node.shape for node in loop.body.nodes if isinstance(node.op, Reduce)}


TURNED_AROUND = """kernel
  %a: float32[4,64] = input 0
  %w: float32[64,64] = input 1
  %r = loop length 9 extent 9 carries %s = %a
    %s: float32[4,64] = carried 0
    %p: float32[4,64] = matmul %s, %w
    %columns: float32[64,4] = view (i1, i0) of %p
    %f: float32[64,4] = tanh %columns
    %rows: float32[4,64] = view (i1, i0) of %f
    yield %rows
  %last: float32[4,64] = result 0 of %r
  return %last"""


def test_transpositions_around_a_function_go() -> None:
    shown = canonical_text(TURNED_AROUND)
    assert "[64,4]" not in shown.partition("loop")[2]


NEAREST = """kernel
  %points: float32[40,8] = input 0
  %c0: float32[5,8] = input 1
  %r = loop length 9 extent 9 carries %c = %c0
    %c: float32[5,8] = carried 0
    %turned: float32[8,5] = view (i1, i0) of %c
    %p: float32[40,5] = matmul %points, %turned
    %most: float32[40] = reduce max over (1) of %p
    %all: float32[] = reduce add over (0) of %most
    %next: float32[5,8] = mul %c, %all
    yield %next
  %last: float32[5,8] = result 0 of %r
  return %last"""


def test_products_turn_with_reductions_of_them(rng: np.random.Generator) -> None:
    shown = canonical_text(NEAREST)
    assert "float32[5,40] = matmul" in shown
    assert "reduce max over (0)" in shown
    points = rng.integers(-2, 3, (40, 8)).astype(np.float32)
    start = rng.uniform(-1, 1, (5, 8)).astype(np.float32)
    wanted = start
    for _ in range(2):
        wanted = wanted * (points @ wanted.T).max(1).sum(dtype=np.float32)
    text = NEAREST.replace("length 9 extent 9", "length 2 extent 2")
    (found,) = run_kernel(text, points, start)
    np.testing.assert_allclose(found, wanted, 1e-4)


def test_a_product_with_a_matrix_of_the_iteration_stays() -> None:
    own = """    %first: float32[1,8] = view (0, i1) of %c
    %own: float32[40,8] = mul %points, %first
    %turned:"""
    text = NEAREST.replace("matmul %points", "matmul %own").replace("    %turned:", own)
    assert "float32[40,5] = matmul" in canonical_text(text)


def test_a_matrix_that_the_iteration_chooses_stays() -> None:
    text = """kernel
  %x: float32[640,32] = input 0
  %w0: float32[32] = input 1
  %r = loop length 9 extent 9 carries %w = %w0
    %i as e1: int64[] = induction variable
    %w: float32[32] = carried 0
    %some: float32[64,32] = view (i0+e1, i1) of %x
    %half: float32[64,32] = abs %some
    %row: float32[1,32] = view (i1) of %w
    %all: float32[64,32] = mul %half, %row
    %sum: float32[64] = reduce add over (1) of %all
    %one: float32[] = reduce add over (0) of %sum
    %next: float32[32] = mul %w, %one
    yield %next
  %last: float32[32] = result 0 of %r
  return %last"""
    kernel = kernel_of(text)
    assert with_turned_reductions(kernel) is kernel
