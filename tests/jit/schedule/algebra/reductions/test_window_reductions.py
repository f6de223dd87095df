"""Reductions of windows over two axes in two steps, where these take less time."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, run_kernel
from tests.jit.native import check_uncalled

TEXT = """kernel
  %x: {dtype}[{rows},{columns}] = input 0
  %1 = loop length 2 extent 2 carries %s = %x
    %s: {dtype}[{rows},{columns}] = carried 0
    %y: {dtype}[{rows},{columns}] = neg %s
    %v: {dtype}[{high},{wide},20,30] = view ({first}, {second}) of %y
    %m: {dtype}[20,30] = reduce {function} over (0, 1) of %v
    yield %y
    stack %m along 0
  %last: {dtype}[{rows},{columns}] = result 0 of %1
  %all: {dtype}[2,20,30] = result 1 of %1
  return %last, %all"""


def kernel(
    high: int = 3,
    wide: int = 3,
    function: str = "max",
    dtype: str = "float32",
    first: str = "i0+i2",
    second: str = "i1+i3",
    rows: int = 60,
    columns: int = 90,
) -> str:
    """A kernel that reduces windows of a carried array."""
    return TEXT.format(
        high=high, wide=wide, function=function, dtype=dtype, first=first, second=second,
        rows=rows, columns=columns,
    )  # fmt: skip


def numbers(text: str, rng: np.random.Generator) -> np.ndarray:
    x = rng.integers(-9, 9, (60, 90))
    if "int32" in text:
        return x.astype(np.int32)
    return np.where(rng.random(x.shape) < 0.01, np.nan, x).astype(np.float32)


def assert_equal_answers(text: str, rng: np.random.Generator) -> None:
    x = numbers(text, rng)
    shown = canonical_text(text)
    for one, same in zip(run_kernel(shown, x), run_kernel(text, x), strict=True):
        np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize(
    "text",
    [
        kernel(),
        kernel(5, 5, "min"),
        kernel(3, 4, "add", "int32"),
        kernel(first="2*i0+i2", second="i1+2*i3"),
        kernel(5, 5, first="i0+2*i2+3", second="2+i1+2*i3"),
        kernel(first="i1+i2", second="i0+i3"),
    ],
)
def test_windows_of_rows_come_first(text: str, rng: np.random.Generator) -> None:
    assert canonical_text(text).count("reduce") == 2
    assert_equal_answers(text, rng)


@pytest.mark.parametrize(
    "text",
    [
        kernel(function="add"),  # sums of floats in another order
        kernel(2, 2, first="i0+2*i2", second="i1+2*i3"),  # windows that do not overlap
        kernel(1, 9, first="i0+i2"),  # of one axis
        kernel(first="i0+i1+i2", second="i3"),  # both along one axis
        kernel(first="i0+i2", second="i0+i3"),  # windows along a diagonal
        kernel(first="i0+i2", second="i0+i1"),
        kernel(first="i0", second="i1"),  # windows of all
    ],
)
def test_others_stay(text: str, rng: np.random.Generator) -> None:
    assert canonical_text(text).count("reduce") == 1
    assert_equal_answers(text, rng)


@pytest.mark.parametrize("attributes", ["", ", dilations = [2, 1]", ", strides = [1, 2]"])
@pytest.mark.parametrize("size", [3, 5])
def test_pooled_until_nothing_changes(attributes: str, size: int, rng: np.random.Generator) -> None:
    text = f"""g (float[1,2,20,24] x, int64 n) => (float[1,2,20,24] y, float[N] all) {{
      y, all = Loop (n, , x) <body = f (int64 i, bool go, float[1,2,20,24] s) => (bool on,
        float[1,2,20,24] t, float most) {{
        on = Identity (go)
        p = MaxPool <kernel_shape = [{size}, {size}], auto_pad = "SAME_UPPER"{attributes}> (s)
        most = ReduceMax <keepdims = 0> (p)
        t = Sub (s, most)
      }}>
    }}"""
    x = rng.normal(size=(1, 2, 20, 24)).astype(np.float32)
    feeds = [{"x": x, "n": np.array(n)} for n in (0, 1, 3)]
    check_uncalled(text, *feeds)
