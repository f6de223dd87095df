"""Rows times transposed matrices are dot products: of batches, and of arrays that grow."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

TARGET = Target("x86_64-unknown-linux-gnu", "", "", 64, 32, has_fma=True)


def _product(dtype: str, rows: int, inner: int, columns: int, batch: str, axes: str) -> str:
    return f"""
    kernel
      %x: {dtype}[{batch}{rows},{inner}] = input 0
      %m: {dtype}[{batch}{columns},{inner}] = input 1
      %t: {dtype}[{batch}{inner},{columns}] = view {axes} of %m
      %r: {dtype}[{batch}{rows},{columns}] = matmul %x, %t
      return %r
    """


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("inner", [32, 100])
@pytest.mark.parametrize("columns", [17, 24])
@pytest.mark.parametrize(
    ("batch", "axes"), [("", "(i1, i0)"), ("3,", "(i0, i2, i1)"), ("2,2,", "(i0, i1, i3, i2)")]
)
def test_products(
    dtype: str, rows: int, inner: int, columns: int, batch: str, axes: str,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    text = _product(dtype, rows, inner, columns, batch, axes)
    assert "dot products" in show_schedule(schedule_kernel(kernel_of(text), TARGET))
    outer = [int(each) for each in batch.split(",") if each]
    x = rng.integers(-3, 4, (*outer, rows, inner)).astype(dtype)
    m = rng.integers(-3, 4, (*outer, columns, inner)).astype(dtype)
    np.testing.assert_array_equal(run_kernel(text, x, m)[0], x @ m.swapaxes(-1, -2))


@pytest.mark.parametrize(
    ("given", "of", "axes"),
    [
        ("float32[2,4,64], float32[2,9,64]", "float32[2,4,9]", "(i0, i2, i1)"),
        ("float32[2,1,16], float32[2,9,16]", "float32[2,1,9]", "(i0, i2, i1)"),
        ("float32[1,1,64], float32[2,9,64]", "float32[2,1,9]", "(i0, i2, i1)"),
    ],
    ids=["many rows", "short rows", "one of many in the batch"],
)
def test_other_products_are_no_dot_products(
    given: str, of: str, axes: str, rng: np.random.Generator
) -> None:
    x, m = (each if each.endswith("]") else f"{each}]" for each in given.split("], "))
    batch, columns, inner = m[len("float32[") : -1].split(",")
    text = f"""
    kernel
      %x: {x} = input 0
      %m: {m} = input 1
      %t: float32[{batch},{inner},{columns}] = view {axes} of %m
      %r: {of} = matmul %x, %t
      return %r
    """
    assert "dot products" not in show_schedule(schedule_kernel(kernel_of(text), TARGET))
    shapes = ([int(each) for each in one[len("float32[") : -1].split(",")] for one in (x, m))
    left, right = (rng.integers(-3, 4, shape).astype(np.float32) for shape in shapes)
    np.testing.assert_array_equal(run_kernel(text, left, right)[0], left @ right.swapaxes(-1, -2))


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("trips", [0, 1, 7, 8, 30])
def test_scores_of_keys_that_grow(
    heads: int, rows: int, trips: int, rng: np.random.Generator
) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 18]>
    g (int64 n, float[{heads},{rows},64] q0, float[{heads},K,64] k0, float[N,{heads},1,64] x)
      => (float[{heads},{rows},64] q, float[N,{heads},{rows}] y) {{
      go = Constant <value = bool {{1}}> ()
      last = Constant <value = int64[1] {{-1}}> ()
      half = Constant <value = float {{0.5}}> ()
      q, k, y = Loop (n, go, q0, k0) <body = b (int64 i, bool c, float[{heads},{rows},64] a,
        float[{heads},P,64] keys) => (bool co, float[{heads},{rows},64] ao,
        float[{heads},R,64] kept, float[{heads},{rows}] best) {{
        co = Identity (c)
        key = Gather <axis = 0> (x, i)
        kept = Concat <axis = 1> (keys, key)
        turned = Transpose <perm = [0, 2, 1]> (kept)
        scores = MatMul (a, turned)
        best = ReduceMax <keepdims = 0> (scores, last)
        ao = Mul (a, half)
      }}>
    }}"""
    q0, k0 = rng.integers(-3, 4, (heads, rows, 64)), rng.integers(-3, 4, (heads, 2, 64))
    x = rng.integers(-3, 4, (30, heads, 1, 64))
    feeds = {"q0": q0, "k0": k0, "x": x}
    state, keys, wanted = q0.astype(np.float32), k0.astype(np.float32), []
    for key in x[:trips].astype(np.float32):
        keys = np.concatenate([keys, key], 1)
        wanted.append((state @ keys.swapaxes(1, 2)).max(-1))
        state = state / 2
    session = treadle.InferenceSession(text)
    found = session.run(
        None, {"n": np.int64(trips), **{k: v.astype(np.float32) for k, v in feeds.items()}}
    )
    np.testing.assert_array_equal(found[0], state)
    np.testing.assert_array_equal(found[1], np.reshape(wanted, (trips, heads, rows)))


def test_a_left_operand_whose_own_extents_are_not_known(rng: np.random.Generator) -> None:
    text = """
    kernel
      %x: float32[5,n0] = input 0
      %m: float32[24,64] = input 1
      %t: float32[64,24] = view (i1, i0) of %m
      %y: float32[2,n0] = view (2*i0+1, i1) of %x
      %r: float32[2,24] = matmul %y, %t
      return %r
    """
    x = rng.integers(-3, 4, (5, 64)).astype(np.float32)
    m = rng.integers(-3, 4, (24, 64)).astype(np.float32)
    assert "dot products" in show_schedule(schedule_kernel(kernel_of(text), TARGET))
    np.testing.assert_array_equal(run_kernel(text, x, m)[0], x[1:4:2] @ m.T)
