"""Elements are interleaved where chains of functions have a long latency."""

from __future__ import annotations

import re

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, check, natives
from treadle.jit.runtime.compilation import generate_code

HINT = re.compile(r'!\{ !"llvm\.loop\.interleave\.count", i32 4 \}')


def text(function: str, count: int, *shape: int, word: str = "float") -> str:
    chain = "\n".join(f"t{k + 1} = {function} (t{k})" for k in range(count))
    kind = f"{word}[{','.join(map(str, shape))}]"
    return f"""g (int64 n, {kind} x) => ({kind} y) {{
      y = Loop (n, "", x) <body = f (int64 i, bool go, {kind} t0)
          => (bool on, {kind} t{count}) {{
        on = Identity (go)
        {chain}
      }}>
    }}"""


def written(model: str, x: np.ndarray) -> str:
    """What the kernel is before LLVM's passes."""
    session = treadle.InferenceSession(HEAD + model, engines=("jit", "interp"))
    session.run(None, {"n": np.array(2), "x": x})
    (native,) = natives(session)
    (made,) = native.cache.compiled.values()
    return generate_code(made.kernel, made.exact).text


@pytest.mark.parametrize("extent", [64, 128, 192, 200, 1000, 1024, 1060, 5000])
@pytest.mark.parametrize("function", ["Tanh", "Erf"])
def test_interleaved_elements_equal_interp(function, extent, rng):
    x = rng.uniform(-3, 3, extent).astype(np.float32)
    check(text(function, 6, extent), {"n": np.array(3), "x": x})


def test_rows_with_a_broadcast_operand_are_interleaved(rng: np.random.Generator):
    model = """g (int64 n, float[6,192] x, float[192] row) => (float[6,192] y) {
      y = Loop (n, "", x) <body = f (int64 i, bool go, float[6,192] a)
          => (bool on, float[6,192] d) {
        on = Identity (go)
        b = Add (a, row)
        c = Sigmoid (b)
        e = Mul (c, row)
        f = Tanh (e)
        d = Exp (f)
      }>
    }"""
    x, row = (rng.uniform(-2, 2, shape).astype(np.float32) for shape in ((6, 192), 192))
    check(model, {"n": np.array(3), "x": x, "row": row})


@pytest.mark.parametrize(
    ("model", "shape", "is_abreast"),
    [
        (text("Tanh", 6, 4096), (4096,), True),
        (text("Tanh", 6, 128), (128,), True),
        (text("Tanh", 1, 128), (128,), True),
        (text("Tanh", 6, 100), (100,), False),
        (text("Neg", 1, 4096), (4096,), False),
    ],
)
def test_only_long_latency_chains_are_interleaved(model, shape, is_abreast, rng):
    found = HINT.findall(written(model, rng.uniform(-1, 1, shape).astype(np.float32)))
    assert len(found) == is_abreast


def test_library_functions_are_unrolled_by_two(rng: np.random.Generator):
    """Functions without a form of their own for vectors are called one by one."""
    x = rng.uniform(-1, 1, 4096)
    library, own = (written(text(each, 6, 4096, word="double"), x) for each in ("Sin", "Tanh"))
    assert library.count("llvm.loop.unroll.disable") >= 1
    assert len(re.findall(r"!llvm\.loop", library)) > len(re.findall(r"!llvm\.loop", own))
