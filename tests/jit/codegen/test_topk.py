"""TopK in native code: any k, any axis, equal elements in order of their index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.jit.fences import fenced
from tests.jit.kernel_text import kernel_of
from tests.jit.leaves import leaf, natively
from tests.jit.native import check, check_uncalled
from tests.jit.schedule.test_schedule import TARGET
from treadle import ops
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

DTYPES = [
    "float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "uint32", "uint64",
]  # fmt: skip


@pytest.fixture(autouse=True)
def fences():
    with fenced():
        yield


def table(rng, dtype, shape, distinct=50):
    """Elements many of which are equal; of floats some are NaN, infinite or zeros of both signs."""
    x = rng.integers(0, distinct, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x -= np.asarray(distinct // 2, dtype)
        strange = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], dtype)
        return np.where(rng.random(shape) < 0.1, rng.choice(strange, shape), x)
    limits = np.iinfo(dtype)
    ends = np.array([limits.min, limits.max], dtype)
    return np.where(rng.random(shape) < 0.1, rng.choice(ends, shape), x)


def assert_top(x, k, axis, largest):
    step = leaf("TopK", 24, 2, 2, axis=axis, largest=largest)
    inputs = [x, np.array([k])]
    found, is_native = natively(step, inputs, fixed=(1,))
    assert is_native
    for one, other in zip(found, ops.bind_kernel(step)(inputs), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", DTYPES)
def test_topk_of_every_dtype(dtype, rng):
    """By each way of choosing, the largest and the least in turn; the next test has both of all."""
    turn = DTYPES.index(dtype)
    for number, (extent, k) in enumerate(((40, 7), (900, 20), (300, 129), (300, 300)), turn):
        assert_top(table(rng, dtype, (2, extent)), k, -1, largest=number % 2)


@pytest.mark.parametrize("largest", [0, 1])
def test_topk_of_one_element(largest, rng):
    for dtype in DTYPES:
        assert_top(table(rng, dtype, (2, 40)), 1, -1, largest)


@pytest.mark.parametrize("k", [1, 15, 16, 17, 127, 128, 129, 200, 2999, 3000])
def test_topk_by_every_algorithm(k, rng):
    for largest in (0, 1):
        assert_top(table(rng, "float32", (3000,), 10_000), k, 0, largest)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_topk_along_every_axis(axis, k, rng):
    assert_top(table(rng, "float32", (5, 6, 7), 9), k, axis, 1)


def test_topk_of_sorted_elements():
    x = np.arange(5000, dtype=np.float32)
    for each in (x, x[::-1].copy(), np.zeros_like(x)):
        for k in (10, 150, 1000):
            assert_top(each, k, 0, 1)


@given(st.integers(1, 60), st.data(), st.sampled_from(["float32", "int64"]))
@settings(max_examples=20, deadline=None)
def test_topk_of_random_rows(extent, data, dtype):
    row = data.draw(st.lists(st.integers(-3, 3), min_size=extent, max_size=extent))
    k = data.draw(st.integers(1, extent))
    assert_top(np.array(row).astype(dtype), k, 0, data.draw(st.integers(0, 1)))


def test_topk_with_dynamic_k_and_extent(rng: np.random.Generator):
    text = """g (int64 n, float[A,3] x, bool[A] mask) => (float[T] s, int64[T] w) {
      s, w = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float s, int64 w) {
        on = Identity (go)
        one = Constant <value = int64[1] {1}> ()
        k = Add (i, one)
        part = Compress <axis = 0> (x, mask)
        v, at = TopK <axis = 0> (part, k)
        s = ReduceSum <keepdims = 0> (v)
        w = ReduceSum <keepdims = 0> (at)
      }>
    }"""
    x = rng.permutation(60).reshape(20, 3).astype(np.float32)
    mask = np.arange(20) % 3 > 0
    check(text, *({"n": np.array(n), "x": x, "mask": mask} for n in (1, 2, 13)))


@pytest.mark.parametrize("dtype", ["float", "double", "int8", "uint8", "int64", "float16"])
@pytest.mark.parametrize(("shape", "axis"), [((9,), 0), ((5, 2), 1), ((16, 9), 1), ((4, 16, 3), 1),
                                             ((8, 17), 1), ((3, 40), 0)])  # fmt: skip
def test_short_rows(dtype: str, shape: tuple[int, ...], axis: int, rng) -> None:
    """The ranks of all items, equal ones and NaN among them, the greatest and the least."""
    count, extents = min(3, shape[axis]), ", ".join(map(str, shape))
    kept = ", ".join(str(count if k == axis else each) for k, each in enumerate(shape))
    text = f"""g ({dtype}[N, {extents}] x) => ({dtype}[N, {kept}] best, int64[N, {kept}] at,
      int64[N, {kept}] others) {{
      best, at, others = Scan <num_scan_inputs = 1, body = f ({dtype}[{extents}] a)
        => ({dtype}[{kept}] b, int64[{kept}] p, int64[{kept}] q) {{
        k = Constant <value = int64[1] {{{count}}}> ()
        b, p = TopK <axis = {axis}> (a, k)
        c, q = TopK <axis = {axis}, largest = 0> (a, k)
      }}> (x)
    }}"""
    names = {"float": "f4", "double": "f8", "float16": "f2"}
    x = rng.integers(0, 6, (7, *shape)).astype(names.get(dtype, dtype))
    if x.dtype.kind == "f":
        x[rng.random(x.shape) < 0.1] = np.nan
        x[rng.random(x.shape) < 0.1] = -0.0
    check_uncalled(text, {"x": x})


@pytest.mark.parametrize(("extent", "form"), [(16, "the ranks of all items"), (17, "a heap of")])
def test_the_form_of_short_rows(extent: int, form: str) -> None:
    text = f"""kernel
  %x: int32[40,{extent}] = input 0
  %y: int64[40,2] = argtopk along 1 of %x
  return %y"""
    assert form in show_schedule(schedule_kernel(kernel_of(text), TARGET))
