"""All simplifications on whole models: golden text and outputs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import treadle
from tests.conformance.data import exported
from tests.passes.simplify.models import cleaned, load, operators, run, same
from treadle.ir import Loop, show_model, walk
from treadle.passes import FOR_RUNTIMES, repair, simplify

MAMBA = """mamba (float[1,L,4] u, float[1,L,4] dt, float[1,L,2] B, float[1,L,2] C, float[4,2] A)
    => (float[1,m,4] y) {
  one = Constant <value_int = 1> () s = Shape (u) n = Gather (s, one)
  z = Constant <value_ints = [1, 4, 2]> () h0 = ConstantOfShape (z) l0 = SequenceEmpty ()
  h, l = Loop (n, "", h0, l0) <body = b (int64 t, bool c, float[1,4,2] hp, seq(float[1,4]) lp)
      => (bool d, float[1,4,2] hn, seq(float[1,4]) ln) {
    d = Identity (c)
    last = Constant <value_ints = [-1]> () two = Constant <value_ints = [2]> ()
    dtx = Unsqueeze (dt, last) da = Mul (dtx, A) ea = Exp (da)
    Bx = Unsqueeze (B, two) db = Mul (dtx, Bx) ux = Unsqueeze (u, last) dbu = Mul (db, ux)
    z0 = Constant <value_ints = [0]> () end = Constant <value_ints = [9223372036854775807]> ()
    o1 = Constant <value_ints = [1]> ()
    ea_s = Slice (ea, z0, end, z0, o1) ea_t = Gather <axis = 1> (ea_s, t)
    dbu_s = Slice (dbu, z0, end, z0, o1) dbu_t = Gather <axis = 1> (dbu_s, t)
    m = Mul (ea_t, hp) hn = Add (m, dbu_t)
    c_s = Slice (C, z0, end, z0, o1) c_t = Gather <axis = 1> (c_s, t) cx = Unsqueeze (c_t, o1)
    hc = Mul (hn, cx) y_t = ReduceSum <keepdims = 0> (hc, last) ln = SequenceInsert (lp, y_t) }>
  y = ConcatFromSequence <axis = 1, new_axis = 1> (l) }"""


def test_a_selective_scan_slices_outside_the_loop(rng: np.random.Generator):
    model, _ = cleaned(MAMBA, opset=17)
    (path,) = (visit.path for visit in walk(model) if isinstance(visit.step, Loop))
    assert sorted(operators(model, f"{path}.body")) == [
        "Add", "Constant", "Gather", "Gather", "Gather", "Mul", "Mul", "ReduceSum", "Unsqueeze",
    ]  # fmt: skip
    for length in (1, 2, 5):
        shapes = [(1, length, 4)] * 2 + [(1, length, 2)] * 2 + [(4, 2)]
        feeds = [rng.random(shape, np.float32) for shape in shapes]
        same(load(MAMBA, 17), model, *feeds)


def test_a_sequence_of_one_element_is_removed():
    text = """g (float[2] x) => (float[m,2] y) {
        n = Constant <value_int = 1> () l0 = SequenceEmpty ()
        l = Loop (n, "", l0) <body = b (int64 i, bool c, seq(float[2]) v)
            => (bool d, seq(float[2]) w) { d = Identity (c) e = Neg (x) w = SequenceInsert (v, e) }>
        y = ConcatFromSequence <axis = 0, new_axis = 1> (l) }"""
    model, _ = cleaned(text)
    assert operators(model) == ["Neg", "Unsqueeze"]
    same(load(text), model, np.ones(2, np.float32))


@pytest.mark.parametrize(
    "body",
    [
        ("seq(float[2]) v", "seq(float[2]) w", "w = SequenceInsert (v, x)"),
        ("seq(float[2]) v", "seq(float[2]) w", "e = Neg (x) w = SequenceInsert (v, e)"),
        ("float[p,2] v", "float[q,2] w", "r = Unsqueeze (x, k) w = Concat <axis = 0> (v, r)"),
        ("float[3,2] v", "float[3,2] w", "j = Reshape (i, one) w = ScatterND (v, j, x)"),
    ],
    ids=["captured elements", "elements", "rows", "a table"],
)
def test_onnxs_checker_infers_the_types_of_stacked_outputs(body, tmp_path):
    before, after, lines = body
    is_list = before.startswith("seq")
    joined = "ConcatFromSequence <axis = 0, new_axis = 1>" if is_list else "Identity"
    text = f"""g (float[2] x, float[3,2] t0) => (float[m,2] y) {{
        n = Constant <value_int = 3> () l0 = SequenceEmpty () k = Constant <value_ints = [0]> ()
        one = Constant <value_ints = [1]> ()
        l = Loop (n, "", {"l0" if is_list else "t0"})
            <body = b (int64 i, bool c, {before}) => (bool d, {after}) {{
            d = Identity (c) {lines} }}>
        y = {joined} (l) }}"""
    model, report = cleaned(text)
    assert any("stacked outputs" in name for name in report.counts)
    path = tmp_path / "better.onnx"
    treadle.save(repair(model, FOR_RUNTIMES)[0], path)
    onnx.checker.check_model(path, full_check=True)


@pytest.mark.parametrize(
    "name", ["torch_script_rg_lru", "torch_script_viterbi", "jax_mamba_ssm", "onnxscript_bubble"]
)
def test_an_exporters_model_simplified(name, golden):
    path, *_ = exported(name)
    model, report = simplify(treadle.load(path))
    golden(f"simplify/{name}.txt", f"{report}\n\n{show_model(treadle.infer(model))}")


def test_functions_are_inlined_and_simplified():
    text = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
        g (float[2,3] x) => (float[a,b] y) { t = local.twice (x) y = local.twice (t) }
        <domain: "local", opset_import: ["" : 21]>
        twice (v) => (w) { s = Shape (v) r = Reshape (v, s) w = Add (r, r) }"""
    model, _ = simplify(treadle.load(text))
    assert operators(model) == ["Add", "Add"]
    assert not model.functions
    assert run(model, {"x": np.ones((2, 3), np.float32)})[0][0, 0] == 4


def test_functions_of_another_opset_stay():
    text = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
        g (float[2,3] x) => (float[a,b] y) { t = Identity (x) y = local.twice (t) }
        <domain: "local", opset_import: ["" : 12]>
        twice (v) => (w) { w = Add (v, v) }"""
    model, _ = simplify(treadle.load(text))
    assert operators(model) == ["twice"]
    assert run(model, {"x": np.ones((2, 3), np.float32)})[0][0, 0] == 2


def test_an_input_with_a_default_is_no_constant():
    text = """g (float x, int64 k) => (float y) <int64 k = {1}> {
        f = Cast <to = 1> (k) y = Add (x, f) }"""
    assert simplify(load(text))[1].done == ()


def test_the_report_lists_each_change_with_its_place():
    report = cleaned(MAMBA, opset=17)[1]
    assert report.counts["identities eliminated"] == 3
    assert "  main/loop_6.body: Slice 3 times" in str(report).splitlines()


def test_a_simplified_model_is_returned_unchanged():
    model = load("g (float[n] x) => (float[n] y) { y = Neg (x) }")
    assert simplify(model)[0] is model
