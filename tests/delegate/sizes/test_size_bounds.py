"""Bounds of sizes without inference: no value is larger, and what they do not know has none."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import treadle
from treadle import Recorder
from treadle.delegate.workarounds import growth as prediction
from treadle.delegate.workarounds.growth import Growth
from treadle.delegate.workarounds.size_bounds import bound_of_bytes

BOUNDED = {
    "Add": "z = Add (x, y)",
    "products": "t = Transpose (y) z = MatMul (x, t)",
    "Gemm": "a = Gemm <transB = 1> (x, y) z = Add (a, a)",
    "Concat": "a = Concat <axis = 0> (x, x, x) z = Concat <axis = 1> (a, a)",
    "Reshape": "s = Constant <value_ints = [-1]> () r = Reshape (x, s) z = Add (r, r)",
    "Flatten": "r = Flatten <axis = 0> (x) z = Mul (r, r)",
    "NonZero": "i = NonZero (x) z = Cast <to = 1> (i)",
    "Compress": "b = Cast <to = 9> (y) s = Constant <value_ints = [-1]> () c = Reshape (b, s)"
    " z = Compress (x, c)",
    "Gather": "n = Sub (y, y) i = Cast <to = 7> (n) z = Gather (x, i)",
    "Slice": "o = Constant <value_ints = [0]> () e = Constant <value_ints = [2]> ()"
    " z = Slice (x, o, e)",
    "reductions": "b = Cast <to = 9> (y) m = ReduceSum <keepdims = 1> (x) z = Where (b, m, y)",
    "Expand": "s = Shape (x) p = Constant <value_ints = [2]> () u = Concat <axis = 0> (p, s)"
    " e = Expand (y, u) z = Neg (e)",
    "ConstantOfShape": "s = Shape (x) o = Constant <value_ints = [1]> () e = Constant <value_ints ="
    " [2]> () u = Slice (s, o, e) r = ConstantOfShape (u) z = Add (r, r)",
    "Range": "s = Shape <start = 0, end = 1> (x) n = Squeeze (s) o = Constant <value_int = 0> ()"
    " d = Constant <value_int = 1> () r = Range (o, n, d) f = Cast <to = 1> (r) z = Neg (f)",
    "unknown ranks": "c = Constant <value = bool {1}> () a = If (c) <then_branch = a () =>"
    " (float[*] s) { s = Squeeze (x) }, else_branch = e () => (float[*] o) { o = Identity (x) }>"
    " z = Add (a, y)".replace("[*]", ""),
    "If": "c = Constant <value = bool {1}> () z = If (c) <then_branch = a () => (float[?,?] s)"
    " { s = Concat <axis = 0> (x, x) }, else_branch = e () => (float[?,?] o)"
    " { o = Identity (x) }>",
}  # fmt: skip
UNBOUNDED = {
    "an operator whose values give the size": "s = Cast <to = 7> (y) o = Constant <value_ints ="
    " [-1]> () t = Reshape (s, o) z = ConstantOfShape (t)",
    "a shape that is computed": "s = Shape (x) t = Mul (s, s) z = ConstantOfShape (t)",
    "a Range backwards": "s = Shape <start = 0, end = 1> (x) n = Squeeze (s) o = Constant"
    " <value_int = 0> () d = Constant <value_int = -1> () r = Range (n, o, d) z = Neg (r)",
    "padding": "s = Constant <value_ints = [1, 1, 1, 1]> () z = Pad (x, s)",
    "an unknown rank": "s = Cast <to = 7> (y) o = Constant <value_ints = [-1]> ()"
    " t = Reshape (s, o) z = Expand (x, t)",
    "a loop": "n = Constant <value = int64 {3}> () c = Constant <value = bool {1}> ()"
    " z = Loop (n, c, x) <body = b (int64 i, bool c0, float[?,?] v0) => (bool c1, float[?,?] v1)"
    " { c1 = Identity (c0) v1 = Concat <axis = 0> (v0, v0) }>",
    "a loop in a branch": "c = Constant <value = bool {1}> () n = Constant <value = int64 {3}> ()"
    " z = If (c) <then_branch = a () => (float[?,?] s) { s = Loop (n, c, x) <body ="
    " b (int64 i, bool c0, float[?,?] v0) => (bool c1, float[?,?] v1)"
    " { c1 = Identity (c0) v1 = Concat <axis = 0> (v0, v0) }> },"
    " else_branch = e () => (float[?,?] o) { o = Identity (x) }>",
}


def session(body):
    return treadle.InferenceSession(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[?,?] x, float[?,?] y) => (float last) {{
            {body} last = ReduceSum <keepdims = 0> (z) }}""",
        engines=("interp",),
    )


def block(made):
    return made._plain.plan.model.main


@pytest.mark.parametrize("body", BOUNDED.values(), ids=BOUNDED)
@pytest.mark.parametrize("shapes", [((1, 1), (1, 1)), ((3, 4), (3, 4)), ((0, 4), (0, 4))])
def test_no_value_is_larger(body, shapes):
    made = session(body)
    bound = bound_of_bytes(block(made), shapes)
    recorder = Recorder()
    feeds = {n: np.ones(s, np.float32) for n, s in zip("xy", shapes, strict=True)}
    (result,) = made.run(None, feeds, listener=recorder)
    assert result.nbytes <= bound < inf
    found = [value for each in recorder.values.values() for value in each.values()]
    assert found
    assert all(np.asarray(value).nbytes <= bound for value in found)


@pytest.mark.parametrize("body", UNBOUNDED.values(), ids=UNBOUNDED)
def test_what_has_no_bound(body):
    assert bound_of_bytes(block(session(body)), ((3, 4), (3, 4))) == inf


def test_types_are_inferred_where_the_bound_may_be_too_large(monkeypatch):
    made = session(BOUNDED["products"])
    growth = Growth(block(made), made._model, ("x", "y"))
    asked, real = [], prediction.block_facts
    monkeypatch.setattr(
        prediction, "block_facts", lambda *given: asked.append(given) or real(*given)
    )
    feed = {"x": np.ones((10, 20)), "y": np.ones((30, 20))}
    assert not growth.exceeds(feed, 4 * 10**6)
    assert not growth.exceeds(feed, 4 * 10**6)
    assert not asked
    assert not growth.exceeds(feed, 4 * 10 * 30 * 20)
    assert growth.exceeds(feed, 1000)
    assert len(asked) == 1
