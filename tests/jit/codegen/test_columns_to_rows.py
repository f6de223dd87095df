"""Loops that slice and stack along the last axis: items and elements are columns in memory."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, WORDS, check
from tests.values import assert_same

TRIPS = (0, 1, 2, 5, 15, 16, 17, 33, 64)


def scan(item: str, whole: str, dtype: str, *, axis: int, back: int = 0, ahead: int = 0) -> str:
    """A Scan whose carried value, item and element have the shape `item`."""
    word = WORDS[dtype]
    body = "next = Xor (h, x)" if dtype == "bool" else "next = Add (h, x)"
    out = "out = Not (next)" if dtype == "bool" else "out = Sub (next, h)"
    return f"""g ({word}[{whole}] xs, {word}[{item}] h0)
      => ({word}[{item}] last, {word}[{whole}] all) {{
      last, all = Scan (h0, xs) <num_scan_inputs = 1, scan_input_axes = [{axis}],
        scan_output_axes = [{axis}], scan_input_directions = [{back}],
        scan_output_directions = [{ahead}],
        body = f ({word}[{item}] h, {word}[{item}] x)
          => ({word}[{item}] next, {word}[{item}] out) {{
          {body}
          {out}
      }}>
    }}"""


def whole_numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return rng.integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)


def feeds(
    rng: np.random.Generator, shape: tuple[int, ...], axis: int, trips: int, dtype: str
) -> dict[str, np.ndarray]:
    whole = (*shape[:axis], trips, *shape[axis:])
    return {"xs": whole_numbers(rng, whole, dtype), "h0": whole_numbers(rng, shape, dtype)}


def words(shape: tuple[int, ...], axis: int) -> tuple[str, str]:
    each = [str(extent) for extent in shape]
    return ",".join(each), ",".join([*each[:axis], "T", *each[axis:]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "int64", "bool"])
def test_columns_of_every_width(dtype: str, rng: np.random.Generator) -> None:
    item, whole = words((40,), 1)
    given = [feeds(rng, (40,), 1, trips, dtype) for trips in TRIPS]
    check(scan(item, whole, dtype, axis=1), *given)


@pytest.mark.parametrize(("back", "ahead"), [(0, 1), (1, 0), (1, 1)])
def test_columns_backward(back: int, ahead: int, rng: np.random.Generator) -> None:
    item, whole = words((37,), 1)
    given = [feeds(rng, (37,), 1, trips, "float32") for trips in TRIPS]
    check(scan(item, whole, "float32", axis=1, back=back, ahead=ahead), *given)


SHAPES = [
    ((16,), 1), ((17,), 1), ((100,), 1), ((3, 32), 2), ((3, 18), 2), ((2, 3, 20), 3),
    ((24, 1), 1), ((24, 1), 2), ((2, 24, 1), 2), ((5, 7), 2), ((5, 7), 1), ((20, 2), 1),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_columns_of_several_axes(
    shape: tuple[int, ...], axis: int, rng: np.random.Generator
) -> None:
    item, whole = words(shape, axis)
    given = [feeds(rng, shape, axis, trips, "float32") for trips in TRIPS]
    check(scan(item, whole, "float32", axis=axis), *given)


@pytest.mark.parametrize("axis", [1, 2])
def test_columns_of_any_number_of_elements(axis: int, rng: np.random.Generator) -> None:
    item, whole = ("B", "B,T") if axis == 1 else ("B,2", "B,2,T")
    shapes = [(count,) if axis == 1 else (count, 2) for count in (5, 17, 40, 0, 1, 8, 33)]
    given = [
        feeds(rng, shape, axis, trips, "float32") for trips in (9, 40, 0, 1, 17) for shape in shapes
    ]
    check(scan(item, whole, "float32", axis=axis), *given)


def test_a_known_length(rng: np.random.Generator) -> None:
    for trips in (1, 5, 16, 50):
        item, whole = words((48,), 1)
        text = scan(item, whole.replace("T", str(trips)), "float32", axis=1)
        check(text, feeds(rng, (48,), 1, trips, "float32"))


TRANSPOSED = """g (float[40,T] xs, float[40] h0) => (float[40] last, float[T,40] all) {
  rows = Transpose (xs)
  last, all = Scan (h0, rows) <num_scan_inputs = 1,
    body = f (float[40] h, float[40] x) => (float[40] next, float[40] out) {
      next = Add (h, x)
      out = Neg (next)
  }>
}"""


def test_a_transposed_value_that_a_loop_slices(rng: np.random.Generator) -> None:
    check(TRANSPOSED, *(feeds(rng, (40,), 1, trips, "float32") for trips in TRIPS))


NESTED = """g (int64 n, float[33,T] xs, float[33] h0) => (float[33] last, float[N,33,T] alls) {
  last, alls = Loop (n, "", h0) <body = o (int64 i, bool on, float[33] s)
    => (bool more, float[33] end, float[33,T] all) {
    more = Identity (on)
    number = Cast <to = 1> (i)
    table = Add (xs, number)
    end, all = Scan (s, table) <num_scan_inputs = 1, scan_input_axes = [1],
      scan_output_axes = [1], body = f (float[33] h, float[33] x) => (float[33] next, float[33] y) {
        next = Sub (x, h)
        y = Add (next, number)
    }>
  }>
}"""


def test_columns_of_values_of_an_enclosing_loop(rng: np.random.Generator) -> None:
    for count in (0, 1, 2, 5):
        given = [
            {**feeds(rng, (33,), 1, trips, "float32"), "n": np.array(count)} for trips in TRIPS[1:]
        ]
        check(NESTED, *given)


def test_bounded_runs(rng: np.random.Generator) -> None:
    text = scan("40", "40,T", "float32", axis=1)
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    given = feeds(rng, (40,), 1, 35, "float32")
    options = treadle.RunOptions(max_iterations=35, max_bytes=100_000)
    assert_same(session.run(None, given, options), interp.run(None, given), ["last", "all"])
    few = treadle.RunOptions(max_bytes=1_000)
    for each in (session, interp):
        with pytest.raises(treadle.LimitExceeded):
            each.run(None, given, few)


def test_sliced_columns_as_operands_of_matmul(rng: np.random.Generator) -> None:
    text = """g (float[1,64,T] xs, float[64,64] w, float[1,64] h0) => (float[1,64] last) {
      last = Scan (h0, xs) <num_scan_inputs = 1, scan_input_axes = [2],
        body = f (float[1,64] h, float[1,64] x) => (float[1,64] next) {
          p = MatMul (x, w)
          next = Add (h, p)
      }>
    }"""
    for trips in TRIPS:
        given = feeds(rng, (1, 64), 2, trips, "float32")
        check(text, {**given, "w": whole_numbers(rng, (64, 64), "float32")})
