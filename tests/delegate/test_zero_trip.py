"""A stacked result of zero iterations has the same shape on every engine."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.delegate import Onnxruntime
from treadle.delegate.export import export_region
from treadle.delegate.opset_selection import target_versions
from treadle.infer import infer
from treadle.ir import operator_of
from treadle.plan import plan

ENGINES = (None, ("interp",), ("onnxruntime", "interp"), ("jit", "interp"))
ONES = np.ones((3, 2), np.float32)
PAIR = np.array([2, 3])
FORMS = {  # inputs, feeds, how the element is made, what the body declares, the shape
    "numbers": ("float[3] x", [ONES[:, 0]], "e = Neg(x)", "float e", (0, 3)),
    "symbol": ("float[n] x", [ONES[:, 0]], "e = Neg(x)", "float[k] e", (0, 3)),
    "symbol of 0": ("float[n] x", [ONES[:0, 0]], "e = Neg(x)", "float[k] e", (0, 0)),
    "axes": ("float[n, m] x", [ONES], "e = Transpose(x)", "float[k, j] e", (0, 2, 3)),
    "sum": ("float[n, m] x", [ONES], "e = Concat <axis = 1> (x, x)", "float[k, j] e", (0, 3, 4)),
    "difference": (
        "float[n, m] x",
        [ONES],
        "a = Constant <value_ints = [1]> () b = Constant <value_ints = [-1]> ()"
        " c0 = Constant <value_ints = [0]> () e = Slice (x, a, b, c0)",
        "float[k, j] e",
        (0, 0, 2),
    ),
    "two extents": (
        "float[n] x, float[n] w",
        [ONES[:, 0], ONES[0]],
        "u = Neg (w) e = Neg (x)",
        "float[k] e",
        (0, 0),
    ),
    "declared": ("float[] x", [ONES[:, 0]], "e = Neg(x)", "float[3] e", (0, 3)),
    "declared wrongly": ("float[] x", [ONES[:, 0]], "e = Neg(x)", "float[4, 4] e", (0, 4, 4)),
    "nothing known": ("float[] x", [ONES[:, 0]], "e = Neg(x)", "float e", (0,)),
    "by values": ("float[n] x", [ONES[:, 0]], "e = NonZero (x)", "int64[1, k] e", (0, 1, 0)),
    "rank by values": (
        "float[6] x, int64[r] s",
        [np.ones(6, np.float32), PAIR],
        "e = Reshape (x, s)",
        "float[2, 3] e",
        (0, 2, 3),
    ),
    "of a sequence": (
        "seq(float[n]) q",
        [[ONES[:, 0]]],
        "z = Constant <value_int = 0> () e = SequenceAt (q, z)",
        "float[k] e",
        (0, 0),
    ),
}


def text(form, trip, opset):
    inputs, _, made, element, _ = FORMS[form]
    dtype = "int64" if "int64[1" in element else "float"
    return f"""<ir_version: 8, opset_import: ["" : {opset}]>
        g ({inputs}, int64 M, bool C) => ({dtype}[] y) {{
        y = Loop <body = b (int64 i, bool c) => (bool d, {element}) {{ d = Identity(c) {made} }}>
            {trip} }}"""


def feeds(form, trips, condition):
    inputs, given, *_ = FORMS[form]
    names = [part.split()[-1] for part in inputs.replace(", m", "").split(",")]
    return dict(zip(names, given, strict=True)) | {
        "M": np.array(trips, np.int64),
        "C": np.array(condition),
    }


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("trip", "condition"), [('(M, "")', True), ("(M, C)", False)])
def test_one_shape_from_every_engine(form, trip, condition):
    trips = 0 if condition else 4
    for engines in ENGINES:
        session = treadle.InferenceSession(text(form, trip, 17), engines=engines)
        (found,) = session.run(None, feeds(form, trips, condition))
        assert (engines, found.shape) == (engines, FORMS[form][-1])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("opset", [11, 17])
def test_iterations_are_not_touched(form, opset):
    answers = []
    for engines in (("interp",), ("onnxruntime", "interp")):
        session = treadle.InferenceSession(text(form, "(M, C)", opset), engines=engines)
        answers.append([session.run(None, feeds(form, n, condition=True))[0] for n in (1, 2)])
    for wanted, found in zip(*answers, strict=True):
        assert wanted.shape == found.shape
        np.testing.assert_array_equal(wanted, found)


def operators(text):
    model = infer(treadle.load(text))
    (region,) = plan(model, [Onnxruntime()]).main.regions
    stamp = target_versions(region.steps, region.constants)
    written, _ = export_region(region, model, stamp)
    return [operator_of(step) for step in written.main.steps]


def test_a_loop_that_runs_says_no_shape():
    head = '<ir_version: 8, opset_import: ["" : 17]> g (float[n] x) => (float[t, n] y)'
    loop = 'Loop <body = b (int64 i, bool c) => (bool c, float[n] e) { e = Neg (x) }> (M, "")'
    trips = "M = Constant <value_int = {}> ()"
    assert operators(f"{head} {{ {trips.format(3)} y = {loop} }}") == ["Constant", "Loop"]
    assert "Reshape" in operators(f"{head} {{ {trips.format(0)} y = {loop} }}")
