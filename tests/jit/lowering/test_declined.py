"""Forbidden operands are errors on every engine: negative lengths, a bias that is too short."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.errors import TreadleError

HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'
ENGINES = [(), ("interp",), ("jit", "interp"), ("onnxruntime", "interp")]
SPLIT = "u, v = Split <axis = 0> (s, k)"
CONV = "u = Conv (s, k, w) v = Identity (u)"
PARTS = "u, x, y, v = Split <num_outputs = 4> (s)"
LOOP = """g (int64 n, {types}) => (float[...] a, float[...] b) {{ a, b = Loop <
    body = f (int64 i, bool c) => (bool d, float[...] p, float[...] q)
    {{ d = Identity (c) {step} p = Identity (u) q = Identity (v) }}> (n, "") }}"""
PLAIN = "g (int64 n, {types}) => (float[...] u, float[...] v) {{ {step} }}"
KEPT = {
    "split": (SPLIT, "float[N] s, int64[2] k", {"s": np.arange(4.0), "k": np.array([1, 3])}),
    "bias": (
        CONV,
        "float[1,1,4] s, float[2,1,1] k, float[B] w",
        {"s": np.ones((1, 1, 4)), "k": np.ones((2, 1, 1)), "w": np.ones(2)},
    ),
    "parts": (
        PARTS,
        "float[N] s",
        {"s": np.arange(7.0)},
    ),
}
BROKEN = {
    "split": {"k": np.array([5, -1])},
    "bias": {"w": np.ones(1)},
    "parts": {"s": np.arange(5.0)},
}


def fed(values):
    kept = {"n": np.array(1)}
    return kept | {k: v.astype(np.float32) if v.dtype.kind == "f" else v for k, v in values.items()}


@pytest.mark.parametrize("engines", ENGINES)
@pytest.mark.parametrize("form", [LOOP, PLAIN])
@pytest.mark.parametrize("case", KEPT)
def test_forbidden_operands_are_errors_on_every_engine(case, form, engines):
    step, types, feeds = KEPT[case]
    text = HEAD + form.format(step=step, types=types).replace("float[...]", "float[]")
    text = text.replace("float[] ", "")
    given = {"engines": engines} if engines else {}
    session = treadle.InferenceSession(text, **given)
    for broken in (BROKEN[case], {}, BROKEN[case]):
        if broken:
            with pytest.raises(TreadleError):
                session.run(None, fed(feeds | broken))
        else:
            session.run(None, fed(feeds))


@pytest.mark.parametrize("opset", [11, 13])
def test_parts_without_sizes_are_equal(opset):
    text = f"""<ir_version: 8, opset_import: ["" : {opset}]>
        g (float[n] x) => (float[a] u, float[b] v) {{ u, v = Split (x) }}"""
    for engines in (None, ("interp",)):
        session = treadle.InferenceSession(text, engines=engines)
        assert [part.shape for part in session.run(None, {"x": np.ones(4, np.float32)})] == [
            (2,)
        ] * 2
        with pytest.raises(TreadleError, match="5"):
            session.run(None, {"x": np.ones(5, np.float32)})
