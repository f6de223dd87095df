"""Reductions over a few elements, which are computed in the nest of their result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.ir import Reduce
from treadle.jit.schedule.steps.forms import is_beside_short_axis

SUMS: dict[str, Callable[..., Any]] = {
    "add": np.sum, "max": np.max, "min": np.min, "mul": np.prod,
}  # fmt: skip


@pytest.mark.parametrize("function", SUMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64", "uint8"])
@pytest.mark.parametrize(("axes", "shape"), [((2,), "20,7"), ((0,), "7,3"), ((0, 2), "7")])
def test_terms_are_combined(
    function: str, dtype: str, axes: tuple[int, ...], shape: str, rng: np.random.Generator
) -> None:
    whole = (20, 7, 3) if axes == (2,) else (2, 7, 3)
    given = ",".join(map(str, whole))
    x = rng.integers(1, 3, whole).astype(dtype)
    over = ", ".join(map(str, axes))
    text = f"""
    kernel
      %x: {dtype}[{given}] = input 0
      %m: {dtype}[{given}] = mul %x, %x
      %r: {dtype}[{shape}] = reduce {function} over ({over}) of %m
      return %r
    """
    (found,) = run_kernel(text, x)
    np.testing.assert_array_equal(found, SUMS[function](x * x, axis=axes).astype(dtype))


@pytest.mark.parametrize("function", SUMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64"])
@pytest.mark.parametrize(
    ("whole", "axis", "keeps", "is_beside"),
    [
        ((20, 40, 3), 1, False, True),
        ((9, 33, 2), 1, True, True),
        ((100, 4), 0, False, True),
        ((0, 40, 3), 1, False, True),
        ((20, 40, 5), 1, False, False),
        ((20, 31, 3), 1, False, False),
        ((40, 20, 3), 0, False, False),
    ],
)
def test_sums_beside_a_short_axis(
    function: str,
    dtype: str,
    whole: tuple[int, ...],
    axis: int,
    keeps: bool,
    is_beside: bool,
    rng: np.random.Generator,
) -> None:
    x = rng.integers(0, 2, whole).astype(dtype)
    kept = SUMS["max"](np.ones(whole), axis=axis, keepdims=keeps).shape if x.size else (0, 3)
    shape = ",".join(map(str, kept))
    given = ",".join(map(str, whole))
    text = f"""
    kernel
      %x: {dtype}[{given}] = input 0
      %m: {dtype}[{given}] = max %x, %x
      %r: {dtype}[{shape}] = reduce {function} over ({axis}) of %m
      return %r
    """
    (reduced,) = [node for node in kernel_of(text).main.nodes if isinstance(node.op, Reduce)]
    assert is_beside_short_axis(reduced) == is_beside
    (found,) = run_kernel(text, x)
    wanted = SUMS[function](x, axis=axis, keepdims=keeps)
    np.testing.assert_array_equal(found, wanted.astype(dtype))


def test_nan_is_the_maximum_beside_a_short_axis() -> None:
    text = """
    kernel
      %x: float32[5,64,3] = input 0
      %r: float32[5,3] = reduce max over (1) of %x
      return %r
    """
    x = np.zeros((5, 64, 3), np.float32)
    x[2, 63, 1], x[3, 0, 2] = np.nan, np.inf
    (found,) = run_kernel(text, x)
    np.testing.assert_array_equal(found, x.max(1))


def test_an_operand_of_two_reductions_is_computed_for_both(rng: np.random.Generator) -> None:
    """softmax's denominators and largest elements over eight neighbours."""
    text = """
    kernel
      %x: float32[30,8] = input 0
      %y: float32[30,8] = add %x, %x
      %m: float32[30,1] = reduce max over (1) of %y
      %d: float32[30,8] = sub %y, %m
      %e: float32[30,8] = exp %d
      %s: float32[30] = reduce add over (1) of %e
      %r: float32[30] = log %s
      return %r, %m
    """
    x = rng.standard_normal((30, 8), np.float32)
    found, most = run_kernel(text, x)
    np.testing.assert_array_equal(most, (x + x).max(1, keepdims=True))
    np.testing.assert_allclose(found, np.log(np.exp(x + x - most).sum(1)), rtol=2e-6)


def test_reductions_of_reductions(rng: np.random.Generator) -> None:
    text = """
    kernel
      %x: float32[n0,5,3] = input 0
      %y: float32[n0,5,3] = mul %x, %x
      %s: float32[n0,5] = reduce add over (2) of %y
      %q: float32[n0,5] = sqrt %s
      %r: float32[n0] = reduce min over (1) of %q
      return %r
    """
    for rows in (0, 1, 17, 100):
        x = rng.standard_normal((rows, 5, 3), np.float32)
        (found,) = run_kernel(text, x)
        np.testing.assert_allclose(found, np.sqrt((x * x).sum(2)).min(1), rtol=1e-6)


def test_a_carried_array_is_read_before_it_is_replaced(rng: np.random.Generator) -> None:
    """Each next element is the largest of three neighbours of the old array."""
    text = """
    kernel
      %n: int64[] = input 0
      %x: float32[40] = input 1
      %last = loop trip %n carries %u = %x
        %u: float32[40] = carried 0
        %w: float32[38,3] = view (i0+i1) of %u
        %m: float32[38] = reduce max over (1) of %w
        %a: float32[1] = view (i0) of %u
        %b: float32[1] = view (i0+39) of %u
        %j: float32[40] = concat along 0 %a, %m, %b
        yield %j
      %r: float32[40] = result 0 of %last
      return %r
    """
    x = rng.standard_normal(40, np.float32)
    (found,) = run_kernel(text, np.array(5), x)
    for _ in range(5):
        x = np.concatenate([x[:1], np.maximum(np.maximum(x[:-2], x[1:-1]), x[2:]), x[-1:]])
    np.testing.assert_array_equal(found, x)


def test_a_reduction_replaces_the_array_that_it_reads(rng: np.random.Generator) -> None:
    """The next array is the sum over pairs of itself, shifted: it needs the old elements."""
    text = """
    kernel
      %n: int64[] = input 0
      %x: float32[6,40] = input 1
      %last = loop trip %n carries %u = %x
        %u: float32[6,40] = carried 0
        %a: float32[1,40] = view (i0+5, i1) of %u
        %p: float32[7,40] = concat along 0 %a, %u
        %w: float32[2,6,40] = view (i0+i1, i2) of %p
        %s: float32[6,40] = reduce add over (0) of %w
        %h: float32[6,40] = mul %s, %s
        yield %h
      %r: float32[6,40] = result 0 of %last
      return %r
    """
    x = rng.standard_normal((6, 40), np.float32) / 4
    (found,) = run_kernel(text, np.array(3), x)
    for _ in range(3):
        x = (x + np.concatenate([x[-1:], x[:-1]])) ** 2
    np.testing.assert_allclose(found, x, rtol=1e-5)
