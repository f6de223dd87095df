"""Carried shift registers become delay lines: windows over their history."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.native import HEAD, check
from treadle import InferenceSession
from treadle.jit.runtime.invoke import CompiledKernel

LINES = {
    "last": ("kept = Slice (line, one, end, zero)", "kept, new"),
    "first": ("kept = Slice (line, zero, minus, zero)", "new, kept"),
}


def scan(order: str, rows: int, width: int, more: str = "") -> str:
    """A Scan whose state is the last rows it was given."""
    keep, joined = LINES[order]
    row, shape = f"float[{width}]", f"float[{rows},{width}]"
    return f"""g (float[T,{width}] x, {shape} none, {shape} taps)
      => ({shape} last, float[T,{width}] ys, float[T,{rows},{width}] seen) {{
      zero = Constant <value = int64[1] {{0}}> ()
      one = Constant <value = int64[1] {{1}}> ()
      minus = Constant <value = int64[1] {{-1}}> ()
      end = Constant <value = int64[1] {{1000}}> ()
      last, ys, seen = Scan <num_scan_inputs = 1, body = b ({shape} line, {row} v)
        => ({shape} moved, {row} y, {shape} before) {{
        {keep}
        new = Unsqueeze (v, zero)
        moved = Concat <axis = 0> ({joined})
        products = Mul (moved, taps)
        y0 = ReduceSum <keepdims = 0> (products, zero)
        {more or "y = Identity (y0)"}
        before = Mul (line, taps)
      }}> (none, x)
    }}"""


def feed(rng: np.random.Generator, length: int, rows: int, width: int) -> dict[str, np.ndarray]:
    """Rows to go through."""
    made = {"x": (length, width), "none": (rows, width), "taps": (rows, width)}
    return {name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in made.items()}


@pytest.mark.parametrize("order", LINES)
@pytest.mark.parametrize(("rows", "width"), [(2, 1), (3, 4), (16, 1), (5, 7), (40, 3)])
def test_delay_lines_in_registers_and_memory(
    order: str, rows: int, width: int, rng: np.random.Generator
) -> None:
    lengths = (1, 2, rows, 3 * rows + 1)
    check(scan(order, rows, width), *(feed(rng, length, rows, width) for length in lengths))


@pytest.mark.parametrize("order", LINES)
def test_a_delay_line_copies_nothing(order: str, rng: np.random.Generator) -> None:
    session = InferenceSession(HEAD + scan(order, 40, 3), engines=("jit", "interp"))
    session.run(None, feed(rng, 9, 40, 3))
    (made,) = session.plan.main.regions[0].runnable.cache.compiled.values()
    assert isinstance(made, CompiledKernel)
    assert dict(made.code.counts)["delay_lines"] > 0
    assert dict(made.code.counts)["copied"] == 0


def test_a_computed_new_element_is_no_delay_line(rng: np.random.Generator) -> None:
    text = scan("last", 4, 2).replace("new = Unsqueeze (v, zero)", "s = Sin (v)\n"
                                      "new = Unsqueeze (s, zero)")  # fmt: skip
    check(text, *(feed(rng, length, 4, 2) for length in (1, 9)))


def test_a_delay_line_read_by_another_state() -> None:
    text = """g (float[T] x, float[3] none, float sum0) => (float[3] last, float sum, float[T] ys) {
      zero = Constant <value = int64[1] {0}> ()
      one = Constant <value = int64[1] {1}> ()
      end = Constant <value = int64[1] {3}> ()
      last, sum, ys = Scan <num_scan_inputs = 1, body = b (float[3] line, float acc, float v)
        => (float[3] moved, float acc1, float y) {
        kept = Slice (line, one, end, zero)
        new = Unsqueeze (v, zero)
        moved = Concat <axis = 0> (kept, new)
        before = ReduceSum <keepdims = 0> (line)
        acc1 = Add (acc, before)
        y = ReduceMax <keepdims = 0> (moved)
      }> (none, sum0, x)
    }"""
    none, sum0 = np.arange(3, dtype=np.float32), np.array(0.5, np.float32)
    feeds = ({"x": np.arange(n, dtype=np.float32), "none": none, "sum0": sum0} for n in (1, 2, 20))
    check(text, *feeds)


def test_a_delay_line_of_an_inner_loop_starts_with_the_carried_value(
    rng: np.random.Generator,
) -> None:
    text = """g (int64 n, float[T] x, float[3] none) => (float[3] last, float[N,T] ys) {
      zero = Constant <value = int64[1] {0}> ()
      one = Constant <value = int64[1] {1}> ()
      end = Constant <value = int64[1] {3}> ()
      last, ys = Loop (n, , none) <body = o (int64 i, bool go, float[3] outer)
        => (bool on, float[3] inner, float[T] yt) {
        on = Identity (go)
        inner, yt = Scan <num_scan_inputs = 1, body = b (float[3] line, float v)
          => (float[3] moved, float y) {
          kept = Slice (line, one, end, zero)
          new = Unsqueeze (v, zero)
          moved = Concat <axis = 0> (kept, new)
          y = ReduceProd <keepdims = 0> (moved)
        }> (outer, x)
      }>
    }"""
    none = rng.uniform(0.5, 2, 3).astype(np.float32)
    feeds = ({"n": np.array(3), "x": rng.uniform(0.5, 2, length).astype(np.float32),
              "none": none} for length in (1, 2, 5))  # fmt: skip
    check(text, *feeds)


def columns(order: str, shape: tuple[int, ...], axis: int) -> str:
    """A Scan whose state is a register along a later axis: [channels, taps]."""
    keep, joined = LINES[order]
    keep = keep.replace("zero)", "axis)").replace(", zero, minus", ", begin, minus")
    row = ",".join(str(extent) for k, extent in enumerate(shape) if k != axis)
    whole = ",".join(map(str, shape))
    return f"""g (float[T,{row}] x, float[{whole}] none, float[{whole}] taps)
      => (float[{whole}] last, float[T,{row}] ys, float[T,{whole}] seen) {{
      axis = Constant <value = int64[1] {{{axis}}}> ()
      begin = Constant <value = int64[1] {{0}}> ()
      one = Constant <value = int64[1] {{1}}> ()
      minus = Constant <value = int64[1] {{-1}}> ()
      end = Constant <value = int64[1] {{1000}}> ()
      last, ys, seen = Scan <num_scan_inputs = 1, body = b (float[{whole}] line, float[{row}] v)
        => (float[{whole}] moved, float[{row}] y, float[{whole}] before) {{
        {keep}
        new = Unsqueeze (v, axis)
        moved = Concat <axis = {axis}> ({joined})
        products = Mul (moved, taps)
        y = ReduceSum <keepdims = 0> (products, axis)
        before = Mul (line, taps)
      }}> (none, x)
    }}"""


@pytest.mark.parametrize("order", LINES)
@pytest.mark.parametrize(
    ("shape", "axis"), [((5, 3), 1), ((40, 4), 1), ((2, 3, 9), 2), ((3, 8, 5), 1)]
)
def test_a_register_along_another_axis_is_a_delay_line(
    order: str, shape: tuple[int, ...], axis: int, rng: np.random.Generator
) -> None:
    row = tuple(extent for k, extent in enumerate(shape) if k != axis)

    def given(length: int) -> dict[str, np.ndarray]:
        made = {"x": (length, *row), "none": shape, "taps": shape}
        return {name: rng.uniform(-1, 1, size).astype(np.float32) for name, size in made.items()}

    text = columns(order, shape, axis)
    check(text, *map(given, (1, 2, shape[axis], 3 * shape[axis] + 1)))
    session = InferenceSession(HEAD + text, engines=("jit", "interp"))
    session.run(None, given(9))
    (made,) = session.plan.main.regions[0].runnable.cache.compiled.values()
    assert isinstance(made, CompiledKernel)
    assert dict(made.code.counts)["delay_lines"] > 0
    assert dict(made.code.counts)["copied"] == 0


NUMBERS = """<ir_version: 9, opset_import: ["": 20]>
g ({0}[T] x, {0}[16] none) => ({0}[16] last, {0}[T, 16] rows) {{
  first = Constant <value = int64[1] {{1}}> ()
  end = Constant <value = int64[1] {{16}}> ()
  axis = Constant <value = int64[1] {{0}}> ()
  last, rows = Scan <num_scan_inputs = 1, body = b ({0}[16] line, {0} item)
    => ({0}[16] moved, {0}[16] row) {{
    kept = Slice (line, first, end, axis)
    new = Unsqueeze (item, axis)
    moved = Concat <axis = 0> (kept, new)
    row = Identity (moved)
  }}> (none, x)
}}"""


@pytest.mark.parametrize("dtype", ["float", "double", "float16", "int64", "uint8", "bool"])
def test_a_line_is_made_of_any_number_of_items(dtype, rng):
    text = NUMBERS.format(dtype)
    native = InferenceSession(text, engines=["jit", "interp"])
    interp = InferenceSession(text, engines=["interp"])
    plain = {"float": "float32", "double": "float64"}.get(dtype, dtype)
    none = rng.integers(0, 2, 16).astype(plain)
    for count in (5, 0, 1, 100, 2):
        feed = {"x": rng.integers(0, 9, count).astype(plain), "none": none}
        for found, wanted in zip(native.run(None, feed), interp.run(None, feed), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
