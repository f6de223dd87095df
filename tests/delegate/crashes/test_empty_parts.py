"""Concat of an empty array that does not fit: onnxruntime's result has elements nothing wrote."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.delegate.workarounds import concat
from treadle.errors import TreadleError

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
PORTS = {
    "of one symbol": "float[n, 2] a, float[n, 3] b",
    "of two symbols": "float[n, 2] a, float[m, 3] b",
    "of no rank": "float[] a, float[] b",
}
JOINED = "y = Concat <axis = 1> (a, b)"
LATER = "c = Abs (a) d = NonZero (b) e = Cast <to = 1> (d) y = Concat <axis = 0> (c, e)"
SEQUENCE = "s = SequenceConstruct (a, b) y = ConcatFromSequence <axis = 1> (s)"


def session(ports, nodes, **options):
    return treadle.InferenceSession(
        f"{HEAD}g ({ports}) => (float[o, p] y) {{ {nodes} }}", **options
    )


@pytest.mark.parametrize("nodes", [JOINED, SEQUENCE])
@pytest.mark.parametrize("ports", PORTS.values(), ids=PORTS)
@pytest.mark.parametrize("shapes", [((2, 2), (0, 3)), ((0, 2), (2, 3))])
def test_empty_parts_that_do_not_fit_are_refused(nodes, ports, shapes):
    made = session(ports, nodes)
    a, b = (np.ones(shape, np.float32) for shape in shapes)
    with pytest.raises(TreadleError):
        made.run(None, {"a": a, "b": b})


@pytest.mark.parametrize("nodes", [JOINED, SEQUENCE])
@pytest.mark.parametrize("ports", PORTS.values(), ids=PORTS)
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_parts_that_fit_are_joined(nodes, ports, rows):
    made = session(ports, nodes)
    a, b = np.zeros((rows, 2), np.float32), np.ones((rows, 3), np.float32)
    assert made.run(None, {"a": a, "b": b})[0].tolist() == [[0, 0, 1, 1, 1]] * rows


def test_an_empty_part_of_another_rank():
    made = session(PORTS["of no rank"], JOINED)
    with pytest.raises(TreadleError):
        made.run(None, {"a": np.ones((2, 2), np.float32), "b": np.ones((1, 2, 0), np.float32)})


def test_an_empty_part_that_is_computed():
    made = session("float[n, m] a, float[k] b", LATER)
    feeds = {"a": np.ones((2, 2), np.float32), "b": np.zeros(3, np.float32)}
    with pytest.raises(TreadleError):
        made.run(None, feeds)
    assert made.run(None, feeds | {"a": np.ones((2, 0), np.float32)})[0].shape == (3, 0)


def test_parts_of_known_extents_are_not_looked_at(monkeypatch):
    def look(*arguments):
        raise AssertionError

    monkeypatch.setattr(concat, "_checked", look)
    monkeypatch.setattr("treadle.delegate.engine.while_inputs_agree", look)
    for ports in ("float[2, 2] a, float[2, 3] b", "float[2, n] a, float[2, m] b"):
        session(ports, JOINED, engines=("onnxruntime",))


def test_parts_of_one_symbol_are_not_compared_in_the_graph(monkeypatch):
    def look(*arguments):
        raise AssertionError

    monkeypatch.setattr(concat, "_checked", look)
    session("float[n, 2] a, float[n, 3] b", JOINED, engines=("onnxruntime",))


@pytest.mark.parametrize("dtype", [10, 16])
def test_narrow_parts_stay_with_onnxruntime(dtype):
    cast = f"c = Cast <to = {dtype}> (a) d = Cast <to = {dtype}> (b)"
    nodes = f"{cast} e = Concat <axis = 0> (c, d) y = Cast <to = 1> (e)"
    made = session("float[n, k] a, float[m, l] b", nodes)
    assert "interp" not in str(made.explain())
    a = np.ones((2, 2), np.float32)
    assert made.run(None, {"a": a, "b": a[:0]})[0].tolist() == a.tolist()
    with pytest.raises(TreadleError):
        made.run(None, {"a": a, "b": np.ones((1, 0), np.float32)})


FED = "y = ConcatFromSequence <axis = 0, new_axis = 1> (s)"


@pytest.mark.parametrize("declared", ["seq(float[2]) s", "seq(float[n]) s"])
def test_elements_that_are_fed_may_be_empty(declared):
    made = session(declared, FED)
    a = np.ones(2, np.float32)
    with pytest.raises(TreadleError):
        made.run(None, {"s": [a, a[:0]]})
    assert made.run(None, {"s": [a, a]})[0].tolist() == [[1, 1], [1, 1]]


STACKED = """
    e = SequenceEmpty ()
    k = Shape <end = 1> (a)
    r = Squeeze (k)
    s = Loop (r, , e) <body = b (int64 i, bool c, seq(float[n]) t) => (bool d, seq(float[n]) u) {
      d = Identity (c)
      x = PICKED
      u = SequenceInsert (t, x)
    }>
    y = ConcatFromSequence <axis = AXIS, new_axis = NEW> (s)"""


def stacked(picked, axis, new_axis):
    return STACKED.replace("PICKED", picked).replace("AXIS", axis).replace("NEW", new_axis)


@pytest.mark.parametrize("shape", [(3, 2), (2, 0), (1, 4)])
@pytest.mark.parametrize(("axis", "new_axis"), [("0", "1"), ("1", "1"), ("-1", "1"), ("0", "0")])
def test_rows_of_an_input_stay_with_onnxruntime(axis, new_axis, shape, rng):
    engines = ("onnxruntime", "interp")
    made = session("float[n, m] a", stacked("Gather (a, i)", axis, new_axis), engines=engines)
    (region,) = made.plan.main.regions
    assert region.engine == "onnxruntime"
    a = rng.standard_normal(shape).astype(np.float32)
    wanted = (np.stack if new_axis == "1" else np.concatenate)([*a], int(axis))
    assert made.run(None, {"a": a})[0].tolist() == wanted.tolist()


CUT = "Slice (a, zero, stop)"
UNEVEN = "zero = Constant <value_ints = [0]> () stop = Unsqueeze (i, zero) "


@pytest.mark.parametrize("new_axis", ["0", "1"])
def test_slices_of_other_lengths_do_not(new_axis):
    """The first is empty; as rows of a matrix they fit along axis 0, but not as its layers."""
    nodes = stacked(CUT, "1", new_axis).replace("x = Slice", UNEVEN + "x = Slice")
    made = session("float[n, m] a", nodes, engines=("onnxruntime", "interp"))
    assert "interp" in [region.engine for region in made.plan.main.regions]
    with pytest.raises(TreadleError):
        made.run(None, {"a": np.ones((2, 3), np.float32)})


def test_lists_of_matrices_declared_as_rows_are_joined_by_interp():
    made = session("seq(float[n]) s", "y = ConcatFromSequence <axis = 0> (s)")
    a = np.ones((3, 2), np.float32)
    assert made.run(None, {"s": [a, a[:0]]})[0].shape == (3, 2)
    with pytest.raises(TreadleError):
        made.run(None, {"s": [a, np.ones((0, 5), np.float32)]})
