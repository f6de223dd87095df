"""Products in registers add the terms last that the previous iteration made last."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.native import HEAD, check
from treadle import InferenceSession, SessionOptions
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule


def text(joined: str, kept: str, product: str) -> str:
    """An all-pole filter of order 6, whose last samples are a shift register."""
    return f"""g (float[T] x, float[6] a, float[6] h0) => (float[T] y, float[6] h) {{
      zero = Constant <value_ints = [0]> ()
      one = Constant <value_ints = [1]> ()
      minus = Constant <value_ints = [-1]> ()
      end = Constant <value_ints = [6]> ()
      flat = Constant <value_ints = [-1]> ()
      row = Constant <value_ints = [1, 6]> ()
      column = Constant <value_ints = [6, 1]> ()
      h, y = Scan <num_scan_inputs = 1, body = b (float[6] s, float v) => (float[6] s1, float w) {{
        s_row = Reshape (s, row)
        a_row = Reshape (a, row)
        s_column = Reshape (s, column)
        a_column = Reshape (a, column)
        p = {product}
        p0 = Reshape (p, flat)
        new = Sub (v, p0)
        kept = Slice (s, {kept}, zero)
        s1 = Concat <axis = 0> ({joined})
        w = Squeeze (new, zero)
      }}> (h0, x)
    }}"""


TARGET = Target("x86_64-unknown-linux-gnu", "", "", 64, 32, has_fma=True)
BACKWARD, FORWARD = ("new, kept", "zero, minus"), ("kept, new", "one, end")


@pytest.mark.parametrize(
    ("joined", "kept", "product", "late"),
    [
        (*BACKWARD, "MatMul (s_row, a_column)", "terms 0 last"),
        (*BACKWARD, "MatMul (a_row, s_column)", "terms 0 last"),
        (*BACKWARD, "MatMul (a, s)", "terms 0 last"),
        (*FORWARD, "MatMul (s_row, a_column)", "terms 5 last"),
        (*FORWARD, "MatMul (s_row, s_column)", "terms 5 last"),
        ("new, new, new, new, new, new", "zero, end", "MatMul (a, s)", ""),
    ],
)
def test_terms_of_shift_registers(
    joined: str, kept: str, product: str, late: str, rng: np.random.Generator
) -> None:
    source = text(joined, kept, product)
    feeds = [
        {
            "x": rng.uniform(-1, 1, n).astype(np.float32),
            "a": rng.uniform(-0.2, 0.2, 6).astype(np.float32),
            "h0": rng.uniform(-1, 1, 6).astype(np.float32),
        }
        for n in (1, 2, 9)
    ]
    check(source, *feeds)
    session = InferenceSession(HEAD + source, engines=("jit", "interp"))
    session.run(None, feeds[-1])
    (made,) = session.plan.main.regions[0].runnable.cache.compiled.values()
    lines = show_schedule(schedule_kernel(made.kernel, TARGET)).splitlines()
    (words,) = [line for line in lines if "product:" in line]
    assert words.endswith(late) if late else "last" not in words


def test_a_register_of_parts_of_open_extents(rng: np.random.Generator) -> None:
    """The extents of the parts are known at run time; together they are as long as the register."""
    source = text(*BACKWARD, "MatMul (a, s)").replace("(float[T] x,", "(int64[1] cut, float[T] x,")
    source = source.replace(
        "kept = Slice (s, zero, minus, zero)",
        "k1 = Slice (s, zero, cut, zero)\n        k2 = Slice (s, cut, minus, zero)",
    )
    source = source.replace("(new, kept)", "(new, k1, k2)")
    feeds = [
        {
            "cut": np.array([cut]),
            "x": rng.uniform(-1, 1, 9).astype(np.float32),
            "a": rng.uniform(-0.2, 0.2, 6).astype(np.float32),
            "h0": rng.uniform(-1, 1, 6).astype(np.float32),
        }
        for cut in (0, 2, 4)
    ]
    session = InferenceSession(HEAD + source, engines=("jit", "interp"))
    interp = InferenceSession(HEAD + source, engines=("interp",))
    for feed in feeds:
        for found, wanted in zip(session.run(None, feed), interp.run(None, feed), strict=True):
            np.testing.assert_allclose(found, wanted, 1e-5, 1e-6)


def test_a_product_of_operands_whose_batch_is_open(rng: np.random.Generator) -> None:
    """The product's own shape is declared, those of its operands' batch axes are not."""
    source = """g (float[A,B,1,4] k, float[C,2,1,3] v, float[2,3,4] s) => (float[2,3,4] o) {
      o = Scan <num_scan_inputs = 2, body = b (float[2,3,4] m, float[2,1,4] ki, float[2,1,3] vi)
        => (float[2,3,4] next) {
        across = Transpose <perm = [0, 2, 1]> (m)
        read = MatMul (ki, across)
        gap = Sub (vi, read)
        column = Transpose <perm = [0, 2, 1]> (gap)
        outer = MatMul (column, ki)
        next = Sub (outer, m)
      }> (s, k, v)
    }"""
    feed = {
        "k": rng.uniform(-1, 1, (5, 2, 1, 4)).astype(np.float32),
        "v": rng.uniform(-1, 1, (5, 2, 1, 3)).astype(np.float32),
        "s": rng.uniform(-1, 1, (2, 3, 4)).astype(np.float32),
    }
    eager = SessionOptions(compile="eager")
    found = InferenceSession(HEAD + source, eager, engines=("jit", "interp")).run(None, feed)
    wanted = InferenceSession(HEAD + source, engines=("interp",)).run(None, feed)
    np.testing.assert_allclose(found[0], wanted[0], 1e-5, 1e-6)
