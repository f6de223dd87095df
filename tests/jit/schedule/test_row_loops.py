"""Operators between two loops as a loop over their rows: the same numbers, and what declines."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.ir import Loop
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.row_loops import with_row_loops
from treadle.jit.schedule.stacked_loops import with_fused_loops

HEAD = """kernel
  %x: float32[9,1,40] = input 0
  %a: float32[1,40] = input 1
  %w: float32[40,40] = input 2
  %b: float32[40] = input 3
  %1 = loop length 9 extent 9 carries %h = %a
    %h: float32[1,40] = carried 0
    %item: float32[1,40] = scan slice along 0 of %x
    %hw: float32[1,40] = matmul %h, %w
    %sum: float32[1,40] = add %item, %hw
    %h1: float32[1,40] = tanh %sum
    yield %h1
    stack %h1 along 0
  %h_last: float32[1,40] = result 0 of %1
  %y: float32[9,1,40] = result 1 of %1
"""
TAIL = """
  %2 = loop length 9 extent 9 carries %g = %a
    %g: float32[1,40] = carried 0
    %in: float32[1,40] = scan slice along 0 of %between
    %gw: float32[1,40] = matmul %g, %w
    %both: float32[1,40] = add %in, %gw
    %g1: float32[1,40] = tanh %both
    yield %g1
    stack %g1 along 0
  %g_last: float32[1,40] = result 0 of %2
  %z: float32[9,1,40] = result 1 of %2
  return %z"""
LINEAR = """  %flat: float32[9,40] = view (i0, 0, i1) of %y
  %linear: float32[9,40] = matmul %flat, %w
  %tall: float32[9,1,40] = view (i0, i2) of %linear
"""
BETWEEN = {
    "an activation": "  %between: float32[9,1,40] = tanh %y",
    "a residual": "  %between: float32[9,1,40] = add %y, %x",
    "a bias": "  %between: float32[9,1,40] = add %y, %b",
    "a linear layer": LINEAR.replace("%tall", "%between"),
    "all of them": LINEAR + "  %r: float32[9,1,40] = max %tall, %y\n"
    "  %more: float32[9,1,40] = add %r, %b\n  %between: float32[9,1,40] = mul %more, %x",
    "a mean": "  %m: float32[9,1,1] = reduce add over (2) of %y\n"
    "  %between: float32[9,1,40] = sub %y, %m",
}


def loops(text: str) -> int:
    """The number of loops once operators between them are loops, and loops that can be are one."""
    made = with_fused_loops(with_row_loops(kernel_of(text)))
    verify_kernel(made)
    return sum(isinstance(node.op, Loop) for node in all_nodes(made.main))


def of_batch(text: str, batch: int) -> str:
    """The text for another batch: a linear layer has the rows of all steps in one axis."""
    text = text.replace("view (i0, 0, i1) of %y", "reshape %y")
    text = text.replace("view (i0, i2) of %linear", "reshape %linear")
    text = text.replace("float32[9,40]", f"float32[{9 * batch},40]")
    text = text.replace("float32[9,1,", f"float32[9,{batch},")
    return text.replace("float32[1,40]", f"float32[{batch},40]")


def feeds(rng, batch: int = 1) -> list[np.ndarray]:
    shapes = [(9, batch, 40), (batch, 40), (40, 40), (40,)]
    return [rng.uniform(-1, 1, shape).astype(np.float32) / 4 for shape in shapes]


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", BETWEEN)
def test_rows_are_the_same_numbers(name, batch, rng):
    text = HEAD + BETWEEN[name] + TAIL
    text = text if batch == 1 else of_batch(text, batch)
    changed = with_fused_loops(with_row_loops(kernel_of(text)))
    verify_kernel(changed)
    assert loops(text) == (3 if "matmul" in BETWEEN[name] else 2)
    given = feeds(rng, batch)
    (found,), (wanted,) = run_kernel(show_kernel(changed, whole=True), *given), numpy(name, *given)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def numpy(name: str, x: np.ndarray, a: np.ndarray, w: np.ndarray, b: np.ndarray) -> list:
    """The model in numpy."""
    y, z, h, g = np.empty_like(x), np.empty_like(x), a, a
    for t in range(len(x)):
        h = y[t] = np.tanh(x[t] + h @ w)
    between = {
        "an activation": np.tanh(y), "a residual": y + x, "a bias": y + b,
        "a linear layer": y @ w, "all of them": (np.maximum(y @ w, y) + b) * x,
        "a mean": y - y.sum(2, keepdims=True),
    }[name]  # fmt: skip
    for t in range(len(x)):
        g = z[t] = np.tanh(between[t] + g @ w)
    return [z]


def test_what_others_read_is_stacked(rng):
    text = (HEAD + BETWEEN["all of them"] + TAIL).replace("return %z", "return %z, %r, %h_last")
    assert loops(text) == 3
    given = feeds(rng)
    made = show_kernel(with_row_loops(kernel_of(text)), whole=True)
    for one, other in zip(run_kernel(made, *given), run_kernel(text, *given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)  # sums near 0, reordered


def test_what_the_second_loop_does_not_need_comes_after_it():
    text = HEAD + "  %turned: float32[1,40] = neg %h_last\n" + BETWEEN["an activation"] + TAIL
    text = text.replace("return %z", "return %z, %turned")
    assert loops(text) == 2
    shown = show_kernel(with_fused_loops(with_row_loops(kernel_of(text))))
    assert shown.rindex(" = loop") < shown.index("neg")


DECLINED = {
    "a sum over the rows": "  %s: float32[1,1,40] = reduce add over (0) of %y\n"
    "  %between: float32[9,1,40] = add %y, %s",
    "the last state": "  %between: float32[9,1,40] = add %y, %h_last",
    "other rows": "  %between: float32[9,1,40] = view (8 - i0, i1, i2) of %y",
    "a running sum": "  %between: float32[9,1,40] = cumulative add along 0 of %y",
}


@pytest.mark.parametrize("name", DECLINED)
def test_operators_that_need_other_rows(name):
    text = HEAD + DECLINED[name] + TAIL
    kernel = kernel_of(text)
    assert with_row_loops(kernel) is kernel


def test_loops_without_products_stay_as_they_are():
    text = (HEAD + BETWEEN["an activation"] + TAIL).replace("matmul %g, %w", "add %g, %b")
    kernel = kernel_of(text)
    assert with_row_loops(kernel) is kernel
