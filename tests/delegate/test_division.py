"""The least integer divided by -1: onnxruntime ends the process, treadle's kernels wrap around.

A mistake here ends the test process, which is a failure as well.
"""

from __future__ import annotations

import numpy as np
import pytest

import treadle

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17)
DTYPES = ("int8", "int16", "int32", "int64")
HEAD = '<ir_version: 10, opset_import: ["" : {}]>\n'


def wrapped(op, a, b):
    """Div truncates, Mod has the divisor's sign; by Python's own numbers, wrapped to the dtype."""
    bits = a.dtype.itemsize * 8

    def one(x, y):
        exact = (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1) if op == "Div" else x % y
        return (exact + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)

    pairs = zip(*(each.reshape(-1).tolist() for each in np.broadcast_arrays(a, b)), strict=True)
    shape = np.broadcast_shapes(a.shape, b.shape)
    return np.array([one(x, y) for x, y in pairs], a.dtype).reshape(shape)


def edges(dtype, count, first):
    info = np.iinfo(dtype)
    numbers = (info.min, 7, -7, info.max, info.min + 1, info.min)
    return np.array([numbers[(first + k) % len(numbers)] for k in range(count)], dtype)


@pytest.mark.parametrize("opset", [7, 13, 21])
@pytest.mark.parametrize("op", ["Div", "Mod"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_extent_and_broadcast(op, dtype, opset):
    if op == "Mod":
        opset = max(opset, 10)
    if dtype in ("int8", "int16"):
        opset = max(opset, 14)
    ports = f"{dtype}[n] a, {dtype}[m] b) => ({dtype}[k] c"
    text = f"{HEAD.format(opset)}g ({ports}) {{ c = {op} (a, b) }}"
    session = treadle.InferenceSession(text, engines=("onnxruntime", "interp"))
    assert [region.engine for region in session.plan.main.regions] == ["onnxruntime"]
    for count in EXTENTS:
        ones = np.full(count, -1, dtype)
        mixed = np.array([(-1, 3, -3, 1)[k % 4] for k in range(count)], dtype)
        for a, b in (
            (edges(dtype, count, 0), ones),
            (edges(dtype, count, 1), mixed),
            (edges(dtype, count, 0), ones[:1]),
            (edges(dtype, 1, 0), mixed),
        ):
            (found,) = session.run(None, {"a": a, "b": b})
            np.testing.assert_array_equal(found, wrapped(op, a, b), strict=True)


BODIES = {
    "Loop": """y = Loop <body = b (int64 i, bool c, {t}[n] s) => (bool d, {t}[n] z)
        {{ d = Identity (c) z = {op} (s, b) }}> (two, yes, a)""",
    "Scan": """y, all = Scan <num_scan_inputs = 1,
        body = b ({t}[n] s, {t} r) => ({t}[n] z, {t}[n] o)
        {{ z = {op} (s, r) o = Identity (z) }}> (a, b)""",
    "If": """y = If <then_branch = t () => ({t}[n] p) {{ p = {op} (a, b) }},
        else_branch = e () => ({t}[n] q) {{ q = Identity (a) }}> (yes)""",
}


@pytest.mark.parametrize("engines", [None, ("onnxruntime", "interp")])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("op", ["Div", "Mod"])
@pytest.mark.parametrize("kind", BODIES)
def test_inside_bodies(kind, op, dtype, engines):
    body = BODIES[kind].format(op=op, t=dtype)
    text = f"""{HEAD.format(17)}g ({dtype}[n] a, {dtype}[m] b) => ({dtype}[n] y)
        <int64 two = {{2}}, bool yes = {{1}}> {{ {body} }}"""
    given = {} if engines is None else {"engines": engines}
    a, b = edges(dtype, 3, 0), np.full(1 if kind != "Scan" else 2, -1, dtype)
    found = treadle.InferenceSession(text, **given).run(["y"], {"a": a, "b": b})[0]
    wanted = treadle.InferenceSession(text, engines=("interp",)).run(["y"], {"a": a, "b": b})[0]
    np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("op", ["Div", "Mod"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_constants_that_the_runtime_folds_as_it_loads(op, dtype):
    least = np.iinfo(dtype).min
    text = f"""{HEAD.format(17)}g ({dtype}[3] x) => ({dtype}[3] y)
        <{dtype}[1] a = {{{least}}}, {dtype}[1] b = {{-1}}> {{ c = {op} (a, b) y = Add (x, c) }}"""
    session = treadle.InferenceSession(text, engines=("onnxruntime", "interp"))
    x = np.array([0, 1, 2], dtype)
    c = wrapped(op, np.array([least], dtype), np.array([-1], dtype))
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], x + c)


PLAIN = {
    "by a constant": "c = Div (a, two)",
    "of an extent": "s = Shape (a) c = Div (s, b)",
    "of a part of a shape": "s = Shape (a) p = Gather (s, zero) c = Mod (p, b)",
    "of a smaller dtype": "s = Cast <to = 2> (a) p = Cast <to = 7> (s) c = Div (p, b)",
    "by a positive number": "p = Abs (zero) q = Add (p, two) c = Div (a, q)",
    "by a sum of extents": "s = Size (a) c = Div (two, s)",
}
GUARDED = {
    "anything": "c = Div (a, b)",
    "by a constant -1": "c = Div (a, minus)",
    "by a difference of extents": "s = Shape (a) t = Sub (s, b) c = Div (a, t)",
    "by one of several constants": "q = Concat <axis = 0> (two, minus) c = Div (b, q)",
}


def written(model_of, monkeypatch, steps):
    """The operators of the model that onnxruntime is handed."""
    import onnx

    from treadle.delegate import Onnxruntime, exported
    from treadle.infer import infer
    from treadle.plan import plan

    kept = []

    def keep(model):
        kept.append(engine_write(model))
        return kept[-1]

    engine_write = exported.write_model
    monkeypatch.setattr(exported, "write_model", keep)
    text = f"""g (int64[n] a, int64[1] b) => (int64[m] c)
        <int64[1] two = {{2}}, int64[1] minus = {{-1}}, int64[1] zero = {{0}}> {{ {steps} }}"""
    plan(infer(model_of(text)), [Onnxruntime()])
    (model,) = kept
    assert isinstance(model, onnx.ModelProto)
    return [node.op_type for node in model.graph.node]


@pytest.mark.parametrize("case", PLAIN)
def test_a_division_that_cannot_trap_is_not_rewritten(model_of, monkeypatch, case):
    assert "Equal" not in written(model_of, monkeypatch, PLAIN[case])


@pytest.mark.parametrize("case", GUARDED)
def test_a_division_that_may_trap_is_rewritten(model_of, monkeypatch, case):
    assert "Equal" in written(model_of, monkeypatch, GUARDED[case])
