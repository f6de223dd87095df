"""The tiles of products, and the panels that a loop reads its matrices from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest

from tests.jit.kernel_text import run_kernel
from tests.jit.native import outcomes
from tests.jit.schedule.test_schedule import TARGET
from treadle import InferenceSession
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.schedule.layouts.product_tiles import rows_together, vectors_together

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


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 9, 12])
@pytest.mark.parametrize("threads", ["", " parallel_threshold_ns=1500"])
@pytest.mark.parametrize(
    ("dtype", "inner", "columns"),
    [
        ("float32", 103, 300),
        ("float32", 64, 64),
        ("float32", 403, 17),
        ("float64", 58, 131),
        ("int32", 70, 77),
    ],
)
def test_a_loop_reads_a_copy_in_panels_or_the_matrix_as_it_is_stored(
    dtype: str, inner: int, columns: int, threads: str, rows: int, rng: np.random.Generator
) -> None:
    text = LOOP.format(dtype=dtype, inner=inner, columns=columns, threads=threads, rows=rows)
    w, x, y = (
        rng.integers(-9, 9, shape).astype(dtype)
        for shape in ((inner, columns), (rows, inner), (rows, columns))
    )
    for trips in (0, 1, 3, 41):
        (found,) = run_kernel(text, np.array(trips), w, x, y)
        np.testing.assert_array_equal(found, y + trips % 2 * (x @ w), f"{trips} iterations")


@pytest.mark.parametrize("rows", [1, 2, 11, 16])
def test_the_copy_and_the_stored_matrix_give_the_same_bits(
    rows: int, rng: np.random.Generator
) -> None:
    text = LOOP.format(dtype="float32", inner=203, columns=170, threads="", rows=rows)
    text = text.replace(f"    %s: float32[{rows},170] = add %p, %z\n", "")
    text = text.replace("yield %h, %s", "yield %h, %p")
    w, x, y = (
        rng.standard_normal(shape).astype("f") for shape in ((203, 170), (rows, 203), (rows, 170))
    )
    (few,), (many,) = (run_kernel(text, np.array(trips), w, x, y) for trips in (1, 41))
    assert np.array_equal(few, many)
    np.testing.assert_allclose(few, x @ w, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(
    ("registers", "rows", "tile"),
    [
        (32, 1, (1, 16)),
        (32, 2, (2, 8)),
        (32, 3, (3, 4)),
        (32, 4, (4, 4)),
        (32, 5, (5, 2)),
        (32, 9, (5, 2)),
        (32, 12, (6, 2)),
        (32, 64, (8, 2)),
        (16, 1, (1, 8)),
        (16, 5, (3, 2)),
        (16, 64, (4, 2)),
    ],
)
def test_tiles_have_as_many_rows_as_fit_and_divide_them_evenly(
    registers: int, rows: int, tile: tuple[int, int]
) -> None:
    target = replace(TARGET, registers=registers)
    together = rows_together(rows, target)
    assert (together, vectors_together(together, target)) == tile


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
        ("float", 4, 256, 512, 2),
        ("float", 8, 256, 511, 2),
        ("float", 21, 128, 130, 2),
        ("float", 1, 100, 300, 2),
        ("float", 1, 60, 60, 0),
        ("double", 1, 200, 177, 2),
    ],
)
def test_constants_are_stored_in_panels(
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
