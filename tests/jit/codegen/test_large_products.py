"""Products with a matrix that the caches do not hold."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, names_of, run_kernel
from treadle.jit.schedule.large_products import is_prefetched, is_streamed

LOOP = """
kernel{threads}
  %n: int64[] = input 0
  %w: {dtype}[{inner},{columns}] = input 1
  %x: {dtype}[{rows},{inner}] = input 2
  %y: {dtype}[{rows},{columns}] = input 3
  %last = loop trip %n carries %v = %x, %z = %y
    %v: {dtype}[{rows},{inner}] = carried 0
    %z: {dtype}[{rows},{columns}] = carried 1
    %p: {dtype}[{rows},{columns}] = matmul %v, %w
    %s: {dtype}[{rows},{columns}] = add %p, %z
    %h: {dtype}[{rows},{inner}] = neg %v
    yield %h, %s
  %r: {dtype}[{rows},{columns}] = result 1 of %last
  return %r
"""


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("threads", ["", " parallel_threshold_ns=1500"])
@pytest.mark.parametrize(
    ("dtype", "inner", "columns"),
    [
        ("float32", 403, 2100),
        ("float32", 514, 1024),
        ("float32", 403, 1808),
        ("float64", 258, 1031),
    ],
)
def test_strips_and_the_columns_left_over(
    dtype: str, inner: int, columns: int, threads: str, rows: int, rng: np.random.Generator
) -> None:
    text = LOOP.format(dtype=dtype, inner=inner, columns=columns, threads=threads, rows=rows)
    w = rng.standard_normal((inner, columns)).astype(dtype)
    x = rng.standard_normal((rows, inner)).astype(dtype)
    y = rng.standard_normal((rows, columns)).astype(dtype)
    (found,) = run_kernel(text, np.array(3), w, x, y)
    np.testing.assert_allclose(found, y + x @ w, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(
    ("right", "rows", "wanted"),
    [
        ("float32[1024,1024]", 1, (True, False)),
        ("float32[1024,1024]", 2, (False, False)),
        ("float32[1024,1024]", 4, (False, True)),
        ("float32[256,1024]", 4, (False, True)),
        ("float32[256,1000]", 4, (False, False)),
        ("float32[256,1024]", 1, (False, False)),
        ("float32[8192,512]", 1, (False, False)),
        ("int32[1024,1024]", 1, (False, False)),
        ("int32[1024,1024]", 4, (False, False)),
    ],
)
def test_which_products_are_streamed_and_which_prefetched(
    right: str, rows: int, wanted: tuple[bool, bool]
) -> None:
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
    assert (is_streamed(product), is_prefetched(product)) == wanted
