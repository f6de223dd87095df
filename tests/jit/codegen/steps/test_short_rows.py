"""Short rows are reduced as many at once as a vector has lanes: the cases in which, and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.sum, "max": np.max, "min": np.min, "mul": np.prod,
}  # fmt: skip
TARGET = Target("x86_64-unknown-linux-gnu", "", "", 64, 32, has_fma=True)


def _text(function: str, dtype: str, shape: tuple[int | str, ...], *, keeps: bool = False) -> str:
    """The reduction along the last axis of an array times a row."""
    given, kept = ",".join(map(str, shape)), ",".join(map(str, shape[:-1] + (1,) * keeps))
    return f"""
    kernel
      %x: {dtype}[{given}] = input 0
      %w: {dtype}[{shape[-1]}] = input 1
      %m: {dtype}[{given}] = mul %x, %w
      %r: {dtype}[{kept}] = reduce {function} over ({len(shape) - 1}) of %m
      return %r
    """


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint16"])
@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("shape", [(20, 16), (3, 37, 32), (5, 24), (2, 8, 48), (4, 20)])
def test_rows_are_reduced(
    function: str, dtype: str, shape: tuple[int, ...], keeps: bool, rng: np.random.Generator
) -> None:
    x, w = rng.integers(1, 3, shape).astype(dtype), rng.integers(0, 2, shape[-1:]).astype(dtype)
    (found,) = run_kernel(_text(function, dtype, shape, keeps=keeps), x, w)
    wanted = FUNCTIONS[function](x * w, axis=-1, keepdims=keeps)
    np.testing.assert_array_equal(found, wanted.astype(dtype))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("shape", [(8, 16), (37, 32), (2, 20, 48)])
def test_rows_behind_an_open_axis(
    function: str, keeps: bool, count: int, shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    text = _text(function, "float32", ("n0", *shape), keeps=keeps)
    assert "vectors along short rows" in show_schedule(schedule_kernel(kernel_of(text), TARGET))
    x = rng.integers(1, 3, (count, *shape)).astype(np.float32)
    w = rng.integers(0, 2, shape[-1:]).astype(np.float32)
    (found,) = run_kernel(text, x, w)
    np.testing.assert_array_equal(found, FUNCTIONS[function](x * w, axis=-1, keepdims=keeps))


@pytest.mark.parametrize(
    ("dtype", "shape", "words"),
    [
        ("float32", (32, 16), "short rows, 16 of them at once"),
        ("float32", (32, 24), "short rows, 8 of them at once"),
        ("float32", (4, 7, 48), "short rows, 4 of them at once"),
        ("float64", (32, 16), "short rows, 8 of them at once"),
        ("int8", (64, 32), "short rows, 32 of them at once"),
        ("float32", (3, 16), "the reduced axis"),
        ("float32", (32, 18), "the reduced axis"),
        ("float32", (32, 64), "the reduced axis"),
        ("float16", (32, 16), "the reduced axis"),
    ],
)
def test_the_rows_at_once(dtype: str, shape: tuple[int, ...], words: str) -> None:
    kernel = kernel_of(_text("add", dtype, shape))
    assert f", vectors along {words}\n" in show_schedule(schedule_kernel(kernel, TARGET))


@pytest.mark.parametrize("function", ["max", "min"])
def test_nan_is_the_result_of_its_row(function: str, rng: np.random.Generator) -> None:
    x = rng.uniform(-1, 1, (50, 16)).astype(np.float32)
    for row in range(0, 50, 3):
        x[row, row % 16] = np.nan
    (found,) = run_kernel(_text(function, "float32", x.shape), x, np.ones(16, np.float32))
    np.testing.assert_array_equal(found, FUNCTIONS[function](x, axis=-1))


def test_infinities_of_other_rows_do_not_matter(rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (32, 16)).astype(np.float32)
    x[5, 3], x[20, 0], x[20, 9] = np.inf, np.inf, -np.inf
    (found,) = run_kernel(_text("add", "float32", x.shape), x, np.ones(16, np.float32))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, x.sum(-1))


def test_a_row_in_registers_and_a_state_in_memory(rng: np.random.Generator) -> None:
    text = """
    kernel
      %h: float32[40,16] = input 0
      %x: float32[n0,16] = input 1
      %2 = loop length n0 extent n0 carries %s = %h
        %s: float32[40,16] = carried 0
        %i: float32[16] = scan slice along 0 of %x
        %n: float32[40,16] = mul %s, %i
        %p: float32[40,16] = add %n, %i
        %q: float32[40,16] = mul %p, %i
        %r: float32[40] = reduce add over (1) of %q
        yield %p
        stack %r along 0
      %hn: float32[40,16] = result 0 of %2
      %y: float32[n0,40] = result 1 of %2
      return %hn, %y
    """
    h, x = rng.integers(-2, 3, (40, 16)), rng.integers(-1, 2, (5, 16))
    wanted = []
    state = h
    for row in x:
        state = state * row + row
        wanted.append((state * row).sum(-1))
    found = run_kernel(text, h.astype(np.float32), x.astype(np.float32))
    np.testing.assert_array_equal(found[0], state)
    np.testing.assert_array_equal(found[1], wanted)
