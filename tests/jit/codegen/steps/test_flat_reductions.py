"""Reductions of several axes as one, and sums of which several vectors are made side by side."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.ir import Reduce
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.toolchain.llvm import host_target

TEXT = """kernel
  %x: float32[3,20,16] = input 0
  %y: float32[3,20,16] = input 1
  %z: float32[3,20,16] = mul %x, %y
  %r: float32[RESULT] = reduce FUNCTION over (AXES) of %z
  return %r"""


def text_of(axes: str, result: str, function: str = "add") -> str:
    """A kernel that reduces a product over some axes."""
    return TEXT.replace("AXES", axes).replace("RESULT", result).replace("FUNCTION", function)


def form_of(text: str):
    """The form of the kernel's only reduction."""
    kernel = kernel_of(text)
    (node,) = [node for node in all_nodes(kernel.main) if isinstance(node.op, Reduce)]
    return schedule_kernel(kernel, host_target()).form_of(node)


@pytest.mark.parametrize(
    ("axes", "result", "is_flat"),
    [
        ("0, 1, 2", "", True), ("1, 2", "3", True), ("1, 2", "3,1,1", True), ("2", "3,20", False),
        ("0, 2", "20", False), ("0, 1, 2", "1,1,1", True), ("0, 1", "16", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("function", ["add", "max", "min", "mul"])
def test_the_last_axes_are_one(axes, result, is_flat, function, rng):
    text = text_of(axes, result, function)
    assert form_of(text).joins_axes is is_flat
    x, y = (rng.uniform(0.9, 1.1, (3, 20, 16)).astype("f") for _ in range(2))
    over = tuple(map(int, axes.split(", ")))
    whole = {"add": np.sum, "max": np.max, "min": np.min, "mul": np.prod}[function]
    wanted = whole((x * y).astype("d"), axis=over, keepdims=len(result.split(",")) == 3)
    (found,) = run_kernel(text, x, y)
    np.testing.assert_allclose(found, wanted, rtol=2e-5)


@pytest.mark.parametrize("function", ["add", "max", "min"])
@pytest.mark.parametrize("place", [0, 500, 959])
def test_nan_and_infinities_reach_the_result(function, place):
    x, y = np.ones((3, 20, 16), "f"), np.ones((3, 20, 16), "f")
    for value in (np.nan, np.inf, -np.inf):
        x.reshape(-1)[place] = value
        (found,) = run_kernel(text_of("0, 1, 2", "", function), x, y)
        with np.errstate(invalid="ignore"):
            wanted = {"add": np.sum, "max": np.max, "min": np.min}[function](x)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("extent", "count"), [(64, 1), (128, 4), (200, 1), (1024, 4), (1030, 4)])
def test_long_sums_are_made_side_by_side(extent, count, rng):
    text = f"""kernel
  %x: float64[{extent}] = input 0
  %r: float64[] = reduce add over (0) of %x
  return %r"""
    assert form_of(text).interleaved == count
    x = rng.uniform(-1, 1, extent)
    (found,) = run_kernel(text, x)
    np.testing.assert_allclose(found, x.sum(), rtol=1e-12, atol=1e-12)
