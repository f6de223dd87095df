"""Items of dense arrays are read where they are: reshaped, transposed, as matrices of products."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import check_uncalled
from tests.jit.schedule.test_schedule import TARGET
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule


def scan(body: str, shape: str, result: str, *, options: str = "", dtype: str = "float") -> str:
    return f"""g ({dtype}[N, {shape}] x) => ({dtype}[N, {result}] y) {{
      y = Scan <num_scan_inputs = 1{options}, body = f ({dtype}[{shape}] a)
        => ({dtype}[{result}] b) {{
        {body}
      }}> (x)
    }}"""


@pytest.mark.parametrize("reverse", ["", ", scan_input_directions = [1]"])
@pytest.mark.parametrize("shape", [(4, 4), (7, 5), (16, 16), (40, 33), (64, 128)])
def test_transposed(shape: tuple[int, int], reverse: str, rng: np.random.Generator) -> None:
    rows, columns = shape
    body = "b = Transpose <perm = [1, 0]> (a)"
    text = scan(body, f"{rows}, {columns}", f"{columns}, {rows}", options=reverse)
    check_uncalled(text, {"x": rng.random((3, rows, columns), np.float32)})


@pytest.mark.parametrize("dtype", ["double", "int32", "bool", "float16"])
def test_transposed_in_the_middle(dtype: str, rng: np.random.Generator) -> None:
    text = scan("b = Transpose <perm = [0, 2, 1]> (a)", "3, 20, 24", "3, 24, 20", dtype=dtype)
    names = {"double": np.float64, "float16": np.float16, "int32": np.int32, "bool": np.bool_}
    check_uncalled(text, {"x": rng.integers(0, 2, (4, 3, 20, 24)).astype(names[dtype])})


def test_a_transposition_of_an_item_has_tiles() -> None:
    text = """kernel
  %x: float32[5,64,32] = input 0
  %1 = loop length 5 extent 5
    %item: float32[64,32] = scan slice along 0 of %x
    %t: float32[32,64] = view (i1, i0) of %item
    %p: float32[64,64] = matmul %item, %t
    stack %p along 0
  %y: float32[5,64,64] = result 0 of %1
  return %y"""
    assert "copy: view: float32[32,64], in tiles" in show_schedule(
        schedule_kernel(kernel_of(text), TARGET)
    )


@pytest.mark.parametrize("axis", [0, 1])
def test_pointwise_convolutions(axis: int, rng: np.random.Generator) -> None:
    """The right matrix is an item, reshaped; along axis 1 its rows are apart."""
    shape = "1, N, 8, 6, 10" if axis else "N, 1, 8, 6, 10"
    text = f"""g (float[{shape}] x, float[16, 8, 1, 1] w) => (float[N, 1, 16, 6, 10] y) {{
      y = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], body = f (float[1, 8, 6, 10] a)
        => (float[1, 16, 6, 10] b) {{
        b = Conv <kernel_shape = [1, 1]> (a, w)
      }}> (x)
    }}"""
    x = rng.random((1, 3, 8, 6, 10) if axis else (3, 1, 8, 6, 10), np.float32)
    check_uncalled(text, {"x": x, "w": rng.random((16, 8, 1, 1), np.float32)})


TURNS = {
    "turned, reshaped": ("Transpose <perm = [1, 0]> (u)", "Reshape (q, shape)"),
    "reshaped, turned": ("Reshape (u, turned)", "Transpose <perm = [1, 0]> (q)"),
    "reshaped": ("Identity (u)", "Reshape (q, shape)"),
    "a step of two, reshaped": ("Slice (u, from, to, axis, step)", "Reshape (q, shape)"),
}


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("shape", [(2, 64), (16, 33), (33, 64)])
def test_left_operands_of_large_products(
    turn: str, shape: tuple[int, int], axis: int, rng: np.random.Generator
) -> None:
    """Products that are made for many iterations at once read what the program says."""
    rows, columns = shape
    first, second = TURNS[turn]
    given = (rows, 2 * columns) if "step" in turn else shape
    extents = [*given]
    extents.insert(axis, 5)
    text = f"""g (float[{rows}, {columns}] s, float[{", ".join(map(str, extents))}] us,
      float[{columns}, {columns}] w) => (float[{rows}, {columns}] z) {{
      shape = Constant <value = int64[2] {{{rows}, {columns}}}> ()
      turned = Constant <value = int64[2] {{{columns}, {rows}}}> ()
      from = Constant <value = int64[1] {{0}}> ()
      to = Constant <value = int64[1] {{9999}}> ()
      axis = Constant <value = int64[1] {{1}}> ()
      step = Constant <value = int64[1] {{2}}> ()
      z = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], body = f
        (float[{rows}, {columns}] a, float[{given[0]}, {given[1]}] u)
        => (float[{rows}, {columns}] b) {{
        q = {first}
        r = {second}
        p = MatMul (r, w)
        b = Add (a, p)
      }}> (s, us)
    }}"""
    feeds = {
        "s": rng.integers(-3, 4, shape).astype(np.float32),
        "us": rng.integers(-3, 4, extents).astype(np.float32),
        "w": rng.integers(-1, 2, (columns, columns)).astype(np.float32),
    }
    check_uncalled(text, feeds)
