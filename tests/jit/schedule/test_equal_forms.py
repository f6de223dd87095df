"""Forms of one body that have one kernel, and steps beside a loop that join its region."""

from __future__ import annotations

import re

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, natives
from treadle.jit.kernel.dce import remove_dead_nodes
from treadle.jit.kernel.printer import show_kernel

LOOP = """g (int64 n, float[1,40] h0, float[40,40] w, float[9,1,40] x) => (float[1,40] h) {{
  one = Constant <value = int64[1] {{1}}> ()
  first = Constant <value = int64[1] {{0}}> ()
  two = Constant <value = float {{2.0}}> ()
  three = Constant <value = float {{3.0}}> ()
  none = Constant <value = float {{0.0}}> ()
  half = Constant <value = float {{0.5}}> ()
  h = Loop (n, , h0) <body = f (int64 i, bool go, float[1,40] s) => (bool on, float[1,40] t) {{
    on = Identity (go)
    {body}
  }}>
}}"""
FORMS = {
    "a square": ("t = Mul (s, s)", "t = Pow (s, two)"),
    "Einsum": ("t = MatMul (s, w)", 't = Einsum <equation = "ij,jk->ik"> (s, w)'),
    "transposed products": (
        "t = MatMul (s, w)",
        """a = Transpose <perm = [1, 0]> (s)  b = Transpose <perm = [1, 0]> (w)
        c = MatMul (b, a)  t = Transpose <perm = [1, 0]> (c)""",
    ),
    "a sum of products": (
        "t = MatMul (s, w)",
        """a = Transpose <perm = [1, 0]> (s)  b = Mul (a, w)
        t = ReduceSum <keepdims = 1> (b, first)""",
    ),
    "casts of a truth": (
        "m = Less (s, none)  t = Where (m, none, s)",
        """a = Less (s, none)  b = Cast <to = 7> (a)  c = Cast <to = 1> (b)  m = Cast <to = 9> (c)
        t = Where (m, none, s)""",
    ),
    "a truth as a number": (
        "m = Less (s, none)  t = Where (m, none, s)",
        """a = Less (s, none)  b = Cast <to = 1> (a)  m = Greater (b, half)
        t = Where (m, none, s)""",
    ),
    "a Slice of a row": (
        "a = Gather (x, i)  t = Add (s, a)",
        """from = Unsqueeze (i, first)  to = Add (from, one)  b = Slice (x, from, to, first)
        a = Squeeze (b, first)  t = Add (s, a)""",
    ),
    "GatherND of a row": (
        "a = Gather (x, i)  t = Add (s, a)",
        "k = Unsqueeze (i, first)  a = GatherND (x, k)  t = Add (s, a)",
    ),
}


def feed_of(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """What the loop is fed."""
    return {
        "n": np.array(n), "h0": rng.standard_normal((1, 40), np.float32),
        "w": rng.standard_normal((40, 40), np.float32) / 8,
        "x": rng.standard_normal((9, 1, 40), np.float32),
    }  # fmt: skip


def kernel_text(body: str, feed: dict[str, np.ndarray]) -> tuple[str, np.ndarray]:
    """The loop of a body's kernel, without constants and names, and what it gives."""
    session = treadle.InferenceSession(HEAD + LOOP.format(body=body), engines=("jit", "interp"))
    (found,) = session.run(None, feed)
    (native,) = natives(session)
    (compiled,) = native.cache.compiled.values()
    text = show_kernel(remove_dead_nodes(compiled.kernel))
    lines = (line for line in text.splitlines() if " constant" not in line and "guard" not in line)
    plain = re.sub(r"%\w+|\be\d+|at \"[^\"]*\"", "", "\n".join(lines))
    return plain[plain.index("loop") : plain.index("return")], found


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("n", [1, 5])
def test_forms_have_one_kernel(name, n, rng):
    feed = feed_of(rng, n)
    (text, one), (other_text, other) = (kernel_text(body, feed) for body in FORMS[name])
    assert other_text == text
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_cubes_are_rounded_once(rng):
    feed = feed_of(rng, 1)
    _, found = kernel_text("t = Pow (s, three)", feed)
    wanted = (feed["h0"].astype(np.float64) ** 3).astype(np.float32)
    np.testing.assert_array_equal(found, wanted)


BESIDE = """g (float[1,4] h0, float[{kind}] x) => (float[1,4] h, float[N,1,4] y) {{
  front = Constant <value = int64[1] {{0}}> ()
  axis = Constant <value = int64[1] {{1}}> ()
  last = Constant <value = int64[1] {{-1}}> ()
  far = Constant <value = int64[1] {{-9223372036854775807}}> ()
  two = Constant <value = int64[1] {{2}}> ()
  end = Constant <value = int64[1] {{9223372036854775807}}> ()
  unread = Constant <value = int64 {{3}}> ()
  rows = {step}
  h, y = Scan <num_scan_inputs = 1, body = b (float[1,4] s, float[1,4] r)
    => (float[1,4] t, float[1,4] o) {{
    u = Tanh (s)
    t = Add (u, r)
    o = Identity (t)
  }}> (h0, rows)
}}"""
STEPS = {
    "Unsqueeze": ("T,4", "Unsqueeze (x, axis)", lambda x: x[:, None]),
    "Transpose": ("1,T,4", "Transpose <perm = [1, 0, 2]> (x)", lambda x: x.swapaxes(0, 1)),
    "reversed": ("T,1,4", "Slice (x, last, far, front, last)", lambda x: x[::-1]),
    "cut": ("T,1,4", "Slice (x, two, end, front)", lambda x: x[2:]),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_turns_or_cuts_what_a_loop_slices_joins_its_region(name, rng):
    kind, step, reference = STEPS[name]
    session = treadle.InferenceSession(
        HEAD + BESIDE.format(kind=kind, step=step), engines=("jit", "onnxruntime", "interp")
    )
    h0 = rng.standard_normal((1, 4), np.float32)
    for length in (3, 5, 8, 4, 9):
        x = rng.standard_normal([length if k == "T" else int(k) for k in kind.split(",")])
        x = x.astype(np.float32)
        h, ys = h0, []
        for row in reference(x):
            h = np.tanh(h) + row
            ys.append(h)
        last, found = session.run(None, {"h0": h0, "x": x})
        np.testing.assert_allclose(found, np.stack(ys), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(last, h, rtol=1e-4, atol=1e-5)
    assert session.explain().startswith("1 region by jit")
    (native,) = natives(session)
    assert len(native.cache.compiled) == 1


def test_a_list_of_many_rows_joins_the_region_of_its_loop():
    text = """g (float[T,100] x, float[100] h0) => (float[100] h) {
      zero = Constant <value = int64 {0}> ()
      shape = Shape <start = 0, end = 1> (x)
      n = Squeeze (shape)
      rows = SplitToSequence <keepdims = 0, axis = 0> (x)
      h = Loop (n, , h0) <body = f (int64 i, bool go, float[100] s) => (bool on, float[100] t) {
        on = Identity (go)
        r = SequenceAt (rows, i)
        u = Tanh (s)
        t = Add (u, r)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "onnxruntime", "interp"))
    x = np.ones((700, 100), np.float32)
    session.run(None, {"x": x, "h0": x[0]})
    assert session.explain().startswith("1 region by jit")
