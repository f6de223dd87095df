"""A maximum beside the position of the maximum: one reduction, and the same answers."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD

MODEL = """g (int64 n, float[{rows},{columns}] x, float[{rows},{columns}] d)
    => (float[{rows},{columns}] last, float[N,{value}] m, int64[N,{index}] k) {{
  last, m, k = Loop (n, "", x) <body = f (int64 i, bool go, float[{rows},{columns}] a)
    => (bool on, float[{rows},{columns}] b, float[{value}] v, int64[{index}] p) {{
    on = Identity (go)
    b = Mul (a, d)
    axes = Constant <value = int64[1] {{{axis}}}> ()
    {lines}
  }}>
}}"""


def model(
    axis: int,
    function: str = "Max",
    *,
    keep: int = 0,
    kept: int = 0,
    more: str = "",
    turn: bool = False,
) -> str:
    """A loop with both in its body, in either order."""
    rows, columns = 30, 40
    shapes = [
        (1 if axis == 0 else rows, 1 if axis == 1 else columns) if k else (rows, columns)[1 - axis]
        for k in (keep, kept)
    ]
    value, index = (",".join(map(str, s)) if isinstance(s, tuple) else str(s) for s in shapes)
    lines = [
        f"v = Reduce{function} <keepdims = {keep}> (b, axes)",
        f"p = Arg{function} <axis = {axis}, keepdims = {kept}{more}> (b)",
    ]
    text = "\n    ".join(lines[::-1] if turn else lines)
    return HEAD + MODEL.format(
        rows=rows, columns=columns, value=value, index=index, axis=axis, lines=text
    )


def answers(text: str, x: np.ndarray, d: np.ndarray) -> tuple[list[np.ndarray], str]:
    """The native answers, compared with interp's, and the kernel."""
    feed = {"n": np.array(3), "x": x, "d": d}
    native = treadle.InferenceSession(text, engines=("jit", "interp"))
    wanted = treadle.InferenceSession(text, engines=("interp",)).run(None, feed)
    found = native.run(None, feed)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    return found, str(native.explain("kernel"))


@pytest.mark.parametrize(("axis", "turn"), [(0, False), (1, True)])
@pytest.mark.parametrize(
    ("function", "keep", "kept", "more"),
    [("Max", 0, 0, ""), ("Min", 1, 0, ""), ("Max", 0, 1, ", select_last_index = 1")],
)
def test_both_come_from_one_reduction(
    axis: int, turn: bool, function: str, keep: int, kept: int, more: str, rng: np.random.Generator
):
    x = rng.integers(-4, 5, (30, 40)).astype(np.float32)
    x[3, 7], x[5] = np.nan, np.inf
    x[:, 9] = -np.inf
    d = rng.choice(np.array([1, -1, 0.5], np.float32), (30, 40))
    text = model(axis, function, keep=keep, kept=kept, more=more, turn=turn)
    _, kernel = answers(text, x, d)
    assert kernel.count("= reduce") == 1


def test_extremes_along_other_axes_are_reduced_apart(rng: np.random.Generator):
    text = model(1).replace("int64[1] {1}", "int64[1] {0}").replace("float[30] v", "float[40] v")
    text = text.replace("float[N,30] m", "float[N,40] m")
    x, d = rng.standard_normal((2, 30, 40), np.float32)
    _, kernel = answers(text, x, d)
    assert kernel.count("= reduce") == 2
