"""One row times a matrix that no cache holds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, names_of, run_kernel
from treadle.jit.schedule.streamed_products import is_streamed

LOOP = """
kernel{threads}
  %n: int64[] = input 0
  %w: {dtype}[{inner},{columns}] = input 1
  %x: {dtype}[1,{inner}] = input 2
  %y: {dtype}[1,{columns}] = input 3
  %last = loop trip %n carries %v = %x, %z = %y
    %v: {dtype}[1,{inner}] = carried 0
    %z: {dtype}[1,{columns}] = carried 1
    %p: {dtype}[1,{columns}] = matmul %v, %w
    %s: {dtype}[1,{columns}] = add %p, %z
    %h: {dtype}[1,{inner}] = neg %v
    yield %h, %s
  %r: {dtype}[1,{columns}] = result 1 of %last
  return %r
"""


@pytest.mark.parametrize("threads", ["", " parallel_threshold_ns=1500"])
@pytest.mark.parametrize(
    ("dtype", "inner", "columns"),
    [("float32", 403, 2100), ("float32", 514, 1024), ("float64", 258, 1031)],
)
def test_strips_and_the_columns_left_over(
    dtype: str, inner: int, columns: int, threads: str, rng: np.random.Generator
) -> None:
    text = LOOP.format(dtype=dtype, inner=inner, columns=columns, threads=threads)
    w = rng.standard_normal((inner, columns)).astype(dtype)
    x = rng.standard_normal((1, inner)).astype(dtype)
    y = rng.standard_normal((1, columns)).astype(dtype)
    (found,) = run_kernel(text, np.array(3), w, x, y)
    np.testing.assert_allclose(found, y + x @ w, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(
    ("right", "rows", "wanted"),
    [
        ("float32[1024,1024]", 1, True),
        ("float32[1024,1024]", 2, False),
        ("float32[256,1024]", 1, False),
        ("float32[8192,512]", 1, False),
        ("int32[1024,1024]", 1, False),
    ],
    ids=["one row", "two rows", "in the cache", "narrower than a page", "whole numbers"],
)
def test_which_products_are_streamed(right: str, rows: int, *, wanted: bool) -> None:
    dtype, _, shape = right.partition("[")
    inner, columns = shape.rstrip("]").split(",")
    text = f"""
    kernel
      %x: {dtype}[{rows},{inner}] = input 0
      %w: {right} = input 1
      %y: {dtype}[{rows},{columns}] = matmul %x, %w
      return %y
    """
    kernel = kernel_of(text)
    (product,) = (node for node, name in names_of(text, kernel).items() if name == "y")
    assert is_streamed(product) is wanted
