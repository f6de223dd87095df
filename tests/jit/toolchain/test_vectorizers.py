"""Which of LLVM's vectorizers a kernel needs, and what is emitted as vectors without them."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.native import check
from treadle.jit.codegen.ops.transpose import transposed
from treadle.jit.runtime.compilation import generate_code
from treadle.jit.toolchain import llvm

COUNT = """kernel
  %n: int64[] = input 0
  %x: {dtype}[{shape}] = input 1
  %1 = loop length %n extent n0 carries %state = %x
    %state: {dtype}[{shape}] = carried 0
    %next: {dtype}[{shape}] = add %state, %x
    yield %next
  %last: {dtype}[{shape}] = result 0 of %1
  return %last
"""
TURNS = """kernel
  %rows: int64[n0] = input 0
  %x: {dtype}[{size}] = input 1
  %y: {dtype}[{size}] = input 2
  %1 = loop length n0 extent n0 carries %one = %x, %other = %y
    %one: {dtype}[{size}] = carried 0
    %other: {dtype}[{size}] = carried 1
    yield %other, %one
  %a: {dtype}[{size}] = result 0 of %1
  %b: {dtype}[{size}] = result 1 of %1
  return %a, %b
"""


def vectorizers(text: str) -> tuple[str, ...]:
    return generate_code(kernel_of(text), ()).vectorizers


@pytest.mark.parametrize(
    ("shape", "wanted"), [("", ()), ("4", ("loop", "slp")), ("100", ()), ("1000", ("loop",))]
)
def test_vectorizers_run_for_nests_and_for_small_tensors(
    shape: str, wanted: tuple[str, ...]
) -> None:
    text = COUNT.format(dtype="float32", shape=shape)
    text = text.replace("%n: int64[] = input 0", "%n: int64[n0] = input 0")
    assert vectorizers(text.replace("length %n", "length n0")) == wanted


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "float16", "bool"])
@pytest.mark.parametrize("size", [17, 31, 64, 100, 1025])
@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_copies_of_every_length_keep_all_elements(
    dtype: str, size: int, trips: int, rng: np.random.Generator
) -> None:
    x, y = (rng.integers(0, 2, size).astype(dtype) for _ in range(2))
    found = run_kernel(TURNS.format(dtype=dtype, size=size), np.zeros(trips, np.int64), x, y)
    wanted = (y, x) if trips % 2 else (x, y)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_copies_are_vectors_but_for_bools_and_open_extents() -> None:
    assert vectorizers(TURNS.format(dtype="float32", size=100)) == ()
    assert vectorizers(TURNS.format(dtype="bool", size=100)) == ("loop",)
    assert vectorizers(TURNS.format(dtype="float32", size="n1")) == ("loop",)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("count", [2, 4, 8, 16, 32])
def test_tiles_are_transposed_by_shuffles_of_pairs(count: int, size: int) -> None:
    def shuffled(left: list[Any], right: list[Any], mask: Any) -> list[Any]:
        return [(left + right)[lane.constant] for lane in mask.constant]

    context: Any = SimpleNamespace(
        builder=SimpleNamespace(builder=SimpleNamespace(shuffle_vector=shuffled))
    )
    rows: Sequence[Any] = [[(row, column) for column in range(count)] for row in range(count)]
    assert transposed(context, rows, size) == [list(column) for column in zip(*rows, strict=True)]


SHIFTED_ROW = """g (int64 n, double[16,8] s) => (double[16,8] o, double[T] e) {
  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()
  minus = Constant <value = int64[1] {-1}> ()
  rows = Constant <value = int64[1] {16}> ()
  two = Constant <value = int64 {2}> ()
  o, e = Loop (n, "", s) <body = f (int64 i, bool go, double[16,8] a)
    => (bool on, double[16,8] next, double most) {
    on = Identity (go)
    i1 = Unsqueeze (i, zero)
    at = Mod (i1, rows)
    place = Unsqueeze (at, zero)
    row = Gather (a, at)
    first = Slice (row, zero, one, one)
    rest = Slice (row, zero, minus, one)
    shifted = Concat <axis = 1> (first, rest)
    size = Abs (shifted)
    most = ReduceMax <keepdims = 0> (size)
    odd = Mod (i, two)
    is_odd = Cast <to = 9> (odd)
    next = If (is_odd) <then_branch = t () => (double[16,8] put) {
      put = ScatterND (a, place, size)
    }, else_branch = u () => (double[16,8] less) {
      less = Sub (a, row)
    }>
  }>
}"""


def test_kernels_that_the_slp_vectorizer_makes_invalid_do_without_it(
    rng: np.random.Generator,
) -> None:
    """Generating code from what LLVM 22 makes of this one ends the process."""
    s = rng.uniform(-1, 1, (16, 8))
    check(SHIFTED_ROW, *({"n": np.array(n), "s": s} for n in (0, 1, 5, 20)))


def test_the_slp_vectorizer_is_left_out_where_its_result_is_invalid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used = []
    original = llvm.optimize

    def optimize(module: Any, target: Any, *, vectorizers: Sequence[str]) -> None:
        used.append(tuple(vectorizers))
        original(module, target, vectorizers=vectorizers)

    source = COUNT.format(dtype="float32", shape="4")
    source = source.replace("%n: int64[] = input 0", "%n: int64[n0] = input 0")
    text = generate_code(kernel_of(source.replace("length %n", "length n0")), ()).text
    monkeypatch.setattr(llvm, "optimize", optimize)
    monkeypatch.setattr(llvm, "_is_valid", lambda _: False)
    assert llvm.optimized_ir(text)
    assert used == [("loop", "slp"), ("loop",)]
