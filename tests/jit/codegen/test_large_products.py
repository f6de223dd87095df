"""Products with a matrix that the caches do not hold."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.jit.kernel_text import kernel_of, names_of, run_kernel
from tests.jit.native import outcomes
from treadle import InferenceSession
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.schedule.layouts.large_products import is_prefetched, is_streamed

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


MULTIPLIED = """<ir_version: 8, opset_import: ["" : 18]>
g (int64 n, {dtype}[{rows},{inner}] h) => ({dtype}[{rows},{inner}] y) {{
  y = Loop (n, , h) <body = f (int64 i, bool go, {dtype}[{rows},{inner}] a)
    => (bool on, {dtype}[{rows},{inner}] b) {{
    on = Identity (go)
    p = MatMul (a, w)
    t = Tanh (p)
    b = MatMul (t, v)
  }}>
}}"""


@pytest.mark.parametrize(
    ("dtype", "rows", "inner", "columns", "panels"),
    [
        ("float", 1, 256, 300, 2),
        ("float", 2, 256, 1031, 2),
        ("float", 3, 512, 130, 2),
        ("float", 4, 256, 512, 0),
        ("float", 1, 100, 300, 0),
        ("double", 1, 200, 177, 2),
    ],
)
def test_constants_of_few_rows_are_stored_in_panels(
    dtype: str, rows: int, inner: int, columns: int, panels: int, rng: np.random.Generator
) -> None:
    model = onnx.parser.parse_model(
        MULTIPLIED.format(dtype=dtype, rows=rows, inner=inner, columns=columns)
    )
    type_ = {"float": np.float32, "double": np.float64}[dtype]
    w, v = (
        (rng.standard_normal(shape) / inner**0.5).astype(type_)
        for shape in ((inner, columns), (columns, inner))
    )
    for name, array in (("w", w), ("v", v)):
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    session = InferenceSession(model.SerializeToString(), engines=("jit", "interp"))
    h = rng.standard_normal((rows, inner)).astype(type_)
    (found,) = session.run(None, {"n": np.array(3), "h": h})
    wanted = h
    for _ in range(3):
        wanted = np.tanh(wanted @ w) @ v
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)
    kernels = [each for each in outcomes(session) if isinstance(each, CompiledKernel)]
    assert [slot.kind for kernel in kernels for slot in kernel.code.slots].count("panels") == panels
