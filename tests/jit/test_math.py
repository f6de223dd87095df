"""Inline functions against wider floats over their whole range: a bound in ULP, exact specials."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.jit.native import check, natives  # noqa: F401
from treadle import InferenceSession

BOUNDS = {
    "Exp": 1.0,
    "Log": 1.0,
    "Tanh": 1.5,
    "Sigmoid": 2.0,
    "Softplus": 2.0,
    "Sin": 0.6,
    "Cos": 0.6,
}
WIDE = {np.float32: np.float64, np.float64: np.longdouble}
WORD = {np.float32: "float", np.float64: "double"}
EXACT = {
    "Exp": np.exp, "Log": np.log, "Tanh": np.tanh, "Sin": np.sin, "Cos": np.cos,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Softplus": lambda x: np.logaddexp(x, np.zeros((), x.dtype)),
}  # fmt: skip


def sweep(dtype):
    """Numbers of every size, near every edge."""
    random, count = np.random.default_rng(5), 20_000
    least, most = (-44, 38) if dtype is np.float32 else (-320, 308)
    edge = 104 if dtype is np.float32 else 746
    parts = [random.uniform(-bound, bound, count) for bound in (1, 20, edge)]
    powers = 10.0 ** random.uniform(least, most, count)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, *np.arange(-20, 20, 0.25)]
    with np.errstate(over="ignore"):
        return np.concatenate([*parts, powers, -powers, special]).astype(dtype)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("op", BOUNDS)
def test_inline_functions(op, dtype):
    x = sweep(dtype)
    if op in ("Sin", "Cos"):
        x = x[np.abs(x) < 1e6]
    word = WORD[dtype]
    text = f"""<ir_version: 10, opset_import: ["" : 18]>
    g ({word}[T,N] x) => ({word}[T,N] y) {{
      y = Scan <num_scan_inputs = 1, body = b ({word}[N] a) => ({word}[N] c) {{ c = {op} (a) }}> (x)
    }}"""
    session = InferenceSession(text, engines=("jit", "interp"))
    found = session.run(None, {"x": x[None]})[0][0]
    with np.errstate(all="ignore"):
        exact = EXACT[op](x.astype(WIDE[dtype]))
        wanted = exact.astype(dtype)
        error = np.abs(found.astype(WIDE[dtype]) - exact) / np.spacing(np.abs(wanted))
    usual = np.isfinite(wanted)
    assert (np.isfinite(found) == usual).all()
    assert np.array_equal(found[~usual], wanted[~usual], equal_nan=True)
    assert (np.signbit(found) == np.signbit(wanted))[wanted == 0].all()
    worst = np.argmax(np.where(usual, error, 0))
    assert error[worst] <= BOUNDS[op], (
        f"{op}({x[worst]!r}) = {found[worst]!r}, not {exact[worst]!r}"
    )
