"""Extents below 0 that onnxruntime infers: it ends the process at a Slice of such a value.

A mistake here ends the test process, which is a failure as well.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import treadle
from treadle.errors import TreadleError, Unsupported

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
SLICE = "s = Constant <value_ints = [0, 0]> () e = Constant <value_ints = [1, 9]> ()"
NODES = {
    "padding": "p = Constant <value_ints = [-5, 0, 0, 0]> () r = Pad (x, p)",
    "sizes": "p = Constant <value_ints = [-5, 2, 3]> () r = Expand (x, p)",
    "parts": "p = Constant <value_ints = [-5, 7]> () r, q = Split (x, p)",
    "scales": "p = Constant <value_floats = [-5.0, 7.0]> () r = Resize (x, , p)",
    "middle": "p = Constant <value_ints = [-5, 7]> () r = CenterCropPad (x, p)",
    "count": "p = Constant <value_ints = [-5]> () r, q = TopK <axis = 0> (x, p)",
    "pool": "r = MaxPool <kernel_shape = [9, 9]> (im)",
    "window": "k = ConstantOfShape (four) r = Conv <kernel_shape = [9, 9]> (im, k)",
    "sum": "r = Concat <axis = 0> (far, far)",
    "folded sum": "p = Constant <value_ints = [-5, 0, 0, 0]> () q = Add (p, p) r = Pad (x, q)",
    "folded floats": "p = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> () q = Cos (p)"
    " o = Mul (q, p) n = Cast <to = 7> (o) m = Add (n, n) l = Add (m, m) r = Pad (x, l)",
    "extents of another": "p = Shape (x) n = Neg (p) c = Cast <to = 1> (n) a = Sin (c)"
    " f = Floor (a) i = Cast <to = 7> (f) l = Concat <axis = 0> (i, i) r = Pad (x, l)",
}


def model(nodes, axes, in_branch):
    nodes = f"{nodes} {SLICE} a0 = Constant <value_ints = [{axes}]> () y0 = Slice (r, s, e, a0)"
    ports = "float[2, 3] x, float[1, 1, 4, 4] im, float[4611686018427387904] far"
    head = f"{HEAD}g ({ports}) => (float[] y)\n<int64[4] four = {{1, 1, 9, 9}}>\n"
    if not in_branch:
        return f"{head}{{ {nodes} y = Neg (y0) }}"
    bodies = (
        f"then_branch = t () => (float[] y1) {{ {nodes} y1 = Neg (y0) }},"
        " else_branch = o () => (float[] y2) { y2 = Neg (x) }"
    )
    return f"{head}{{ c = ReduceSum (x) k = Cast <to = 9> (c) y = If (k) <{bodies}> }}"


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
@pytest.mark.parametrize("axes", ["0, 1", "2, 3", "0"])
@pytest.mark.parametrize("in_branch", [False, True])
def test_steps_with_extents_below_0_do_not_reach_onnxruntime(nodes, axes, in_branch):
    with suppress(TreadleError):
        made = treadle.InferenceSession(model(nodes, axes, in_branch))
        feeds = {"x": np.ones((2, 3), np.float32), "im": np.ones((1, 1, 4, 4), np.float32)}
        made.run(None, feeds)


def test_sizes_that_are_fed_stay_with_onnxruntime():
    text = "g (float[n, 3] x, int64[2] p) => (float[a, b] y) { r = Expand (x, p) y = Neg (r) }"
    treadle.InferenceSession(HEAD + text, engines=("onnxruntime",))


def test_windows_of_open_extents_stay_with_onnxruntime():
    ports = "(float[1, 1, h, w] x) => (float[a, b, c, d] y)"
    text = f"g {ports} {{ y = MaxPool <kernel_shape = [9, 9]> (x) }}"
    treadle.InferenceSession(HEAD + text, engines=("onnxruntime",))


def test_constants_that_extend_stay_with_onnxruntime():
    nodes = "p = Constant <value_ints = [1, 0, 0, 0]> () y = Pad (x, p)"
    text = f"g (float[n, 3] x) => (float[a, b] y) {{ {nodes} }}"
    treadle.InferenceSession(HEAD + text, engines=("onnxruntime",))


@pytest.mark.parametrize("attributes", ["", "<value_float = 1.0, value_int = 3>"])
def test_a_constant_of_no_or_two_values_is_refused(attributes):
    text = f"g (float[2] x) => (float[2] y) {{ c = Constant {attributes} () y = Add (x, c) }}"
    with pytest.raises(Unsupported, match="exactly one"):
        treadle.InferenceSession(HEAD + text).run(None, {"x": np.ones(2, np.float32)})


@pytest.mark.parametrize(
    "nodes",
    [
        "h = Constant <value_float = 0.5> () o = Constant <value_ints = [0]> ()"
        " u = Unsqueeze (h, o) e = Constant <value_floats = [1.0, 1.0]> ()"
        " p = Concat <axis = 0> (e, u, u) y = Resize (x, , p)",
        "n = Constant <value_ints = [2]> () m = Mul (n, n)"
        " o = Constant <value_ints = [1]> () p = Concat <axis = 0> (o, m) y = Expand (x, p)",
        "n = Constant <value_ints = [2]> () m = Mul (n, n)"
        " o = Constant <value_ints = [1]> () p = Concat <axis = 0> (o, o, m, o) y = Tile (x, p)",
    ],
)
def test_sizes_that_exact_steps_compute_from_constants_stay_with_onnxruntime(nodes):
    text = f"{HEAD}g (float[a, b, c, d] x) => (float[] y) {{ {nodes} }}"
    session = treadle.InferenceSession(text)
    assert [region.engine for region in session.plan.main.regions] == ["onnxruntime"]
