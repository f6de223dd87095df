"""Extracting, merging, renaming, inlining, outlining, replacing, with scopes at every depth."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import treadle
from tests.passes.rewrites.models import every_operator, model, same
from tests.passes.simplify.models import run, run_by_onnxruntime, saved
from treadle import surgery
from treadle.formats import onnx as onnx_files
from treadle.ir import block_values

LOOP = """
g (float[3] x, float[3] w, int64 n) => (float[3] y, float[M,3] rows) {
  v = Mul (w, w)
  y, rows = Loop (n, "", x) <body = b (int64 i, bool go, float[3] s)
      => (bool on, float[3] o, float[3] r) {
    on = Identity (go)
    t = Add (s, v)
    o = If (go) <then_branch = p () => (float[3] a) { a = Add (t, w) },
                 else_branch = q () => (float[3] c) { c = Neg (t) }>
    r = Mul (o, t)
  }>
}"""
CALLED = """
g (float[3] x) => (float[3] y) { y = local.f (x) }
<domain: "local", opset_import: ["" : 17]> f (a) => (b) { b = Add (a, a) }"""
FIRST = (
    "g (float[3] x) => (float[3] y, float[3] side) { t = Add (x, x) y = Neg (t) side = Abs (t) }"
)
SECOND = """
h (float[3] a, bool c) => (float[3] z) {
  t = Mul (a, a)
  z = If (c) <then_branch = p () => (float[3] u) { u = Add (t, a) },
              else_branch = q () => (float[3] v) { v = Sub (t, a) }>
}"""
X, W = np.array([1, 2, 3], np.float32), np.array([0.5, -1, 2], np.float32)


def is_file(found) -> None:
    onnx.checker.check_model(onnx_files.write_model(found), full_check=True)


def names(found) -> tuple[list[str], list[str]]:
    return [v.name for v in found.main.params], [v.name for v in found.main.results]


@pytest.mark.parametrize("path", ["main/loop_1", "main/loop_1.body"])
def test_a_body_is_a_model_with_captures_as_inputs(path):
    part = surgery.extract(model(LOOP), path)
    inputs, outputs = names(part)
    assert set(inputs) == {"i", "go", "s", "v", "w"}
    assert outputs == ["on", "o", "r"]
    is_file(part)
    feeds = {"i": np.array(0), "go": np.array(True), "s": X, "v": W * W, "w": W}
    feeds = {name: value for name, value in feeds.items() if name in inputs}
    found = run(part, feeds)
    np.testing.assert_array_equal(found[1], X + W * W + W)
    np.testing.assert_array_equal(run_by_onnxruntime(saved(part), feeds)[1], found[1])


def test_a_body_with_recorded_values_as_inputs():
    whole = model(LOOP)
    recorder = treadle.Recorder()
    session = treadle.InferenceSession(whole, engines=("interp",))
    session.run(None, {"x": X, "w": W, "n": np.array(3)}, listener=recorder)
    part, given, wanted = surgery.extract(
        whole, "main/loop_1.body", recorder=recorder, iteration=(2,)
    )
    for name, found in zip(wanted, run(part, given), strict=True):
        np.testing.assert_array_equal(found, wanted[name])
    with pytest.raises(treadle.InputError, match="no value of"):
        surgery.extract(whole, "main/loop_1.body", recorder=recorder, iteration=(3,))


def test_extracted_steps_of_a_body_take_captures_as_inputs():
    part = surgery.extract(model(LOOP), inputs=["s", "go", "w"], outputs=["o", "r"])
    assert names(part) == (["s", "go", "w"], ["o", "r"])
    assert "Mul" in every_operator(part)
    is_file(part)
    found = run(part, {"s": X, "go": np.array(False), "w": W})
    np.testing.assert_array_equal(found[0], -(X + W * W))


def test_extracted_steps_keep_captures_of_their_bodies():
    part = surgery.extract(model(LOOP), inputs=["v", "x", "w", "n"], outputs=["y"])
    is_file(part)
    feeds = {"x": X, "w": W, "n": np.array(2), "v": W * W}
    whole = run(model(LOOP), {"x": X, "w": W, "n": np.array(2)})
    np.testing.assert_array_equal(run(part, feeds)[0], whole[0])


def test_a_cut_across_iterations_is_refused_with_all_that_is_missing():
    with pytest.raises(treadle.Unsupported) as caught:
        surgery.extract(model(LOOP), inputs=["w"], outputs=["o"])
    told = [found.message for found in caught.value.findings]
    assert "s is needed, and comes from another iteration" in told
    assert len(told) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "main/loop_2"}, "no body at"),
        ({"outputs": ["nothing"]}, "no value 'nothing'"),
        ({"outputs": ["v", "t"]}, "of one block"),
        ({}, "give the path"),
    ],
)
def test_invalid_arguments_of_extract(options, words):
    with pytest.raises(treadle.InputError, match=words):
        surgery.extract(model(LOOP), **options)


@pytest.mark.parametrize("condition", [True, False])
def test_merged_models_run_one_after_the_other(condition):
    first, second = model(FIRST), model(SECOND)
    both = surgery.merge(first, second, {"y": "a"})
    assert names(both) == (["x", "c"], ["side", "z"])
    is_file(both)
    y, side = run(first, {"x": X})
    (z,) = run(second, {"a": y, "c": np.array(condition)})
    feeds = {"x": X, "c": np.array(condition)}
    for found in (run(both, feeds), run_by_onnxruntime(saved(both), feeds)):
        np.testing.assert_array_equal(found[0], side)
        np.testing.assert_array_equal(found[1], z)


def test_merge_refuses_models_that_disagree():
    with pytest.raises(treadle.Unsupported, match="opsets 17 and 13"):
        surgery.merge(model(FIRST), model(SECOND, opset=13), {"y": "a"})
    with pytest.raises(treadle.Unsupported, match="float32"):
        surgery.merge(model(FIRST), model(SECOND.replace("float[3] a", "float[4] a")), {"y": "a"})
    with pytest.raises(treadle.InputError, match="no output 'q'"):
        surgery.merge(model(FIRST), model(SECOND), {"q": "a"})
    with pytest.raises(treadle.InputError, match="both models have inputs or outputs called x"):
        surgery.merge(
            model(FIRST),
            model(SECOND.replace("bool c", "bool x").replace("(c)", "(x)")),
            {"y": "a"},
        )


def test_renamed_values_are_renamed_where_bodies_read_them():
    after = surgery.rename(model(LOOP), {"w": "weight", "r*": "out/*"}, prefix="a/")
    assert names(after) == (["a/x", "weight", "a/n"], ["a/y", "out/ows"])
    is_file(after)
    found = run(after, {"a/x": X, "weight": W, "a/n": np.array(2)})
    np.testing.assert_array_equal(found[0], run(model(LOOP), {"x": X, "w": W, "n": np.array(2)})[0])


def test_renaming_two_values_to_one_name_is_an_error():
    with pytest.raises(treadle.InputError, match="would both be called"):
        surgery.rename(model(LOOP), {"s": "v"})
    with pytest.raises(treadle.InputError, match="no value is called 'nothing'"):
        surgery.rename(model(LOOP), {"nothing": "v"})


def test_functions_are_inlined_by_glob():
    before = model(CALLED)
    after = surgery.inline(before, "local::*")
    assert every_operator(after) == ["Add"]
    assert not after.functions
    same(before, after, {"x": X})
    with pytest.raises(treadle.InputError, match="no function is called"):
        surgery.inline(before, "other::*")


def test_a_body_becomes_a_function_and_comes_back():
    before = model(LOOP)
    after = surgery.outline(before, "main/loop_1.body", "own::step")
    (loop,) = [step for step in after.main.steps if step.info.op == "Loop"]
    assert [step.info.op for step in loop.body.steps] == ["step"]
    feeds = {"x": X, "w": W, "n": np.array(3)}
    same(before, after, feeds)
    same(before, surgery.inline(after), feeds)
    with pytest.raises(treadle.InputError, match="has a function"):
        surgery.outline(after, "main/loop_1.body", "own::step")


def test_an_extracted_body_is_put_back():
    before = model(LOOP)
    part = surgery.extract(before, "main/loop_1.body")
    same(
        before,
        surgery.replace(before, "main/loop_1.body", part),
        {"x": X, "w": W, "n": np.array(3)},
    )


def test_a_step_is_replaced_by_a_model():
    part = model("p (float[3] a, float[3] b) => (float[3] c) { t = Mul (a, b) c = Neg (t) }")
    after = surgery.replace(model(LOOP), "main/mul_0", part)
    is_file(after)
    found = run(after, {"x": X, "w": W, "n": np.array(0)})
    np.testing.assert_array_equal(found[0], X)
    assert "Neg" in every_operator(after)
    inner = surgery.replace(model(LOOP), "main/loop_1.body/add_1", part)
    assert every_operator(inner).count("Neg") == 2
    with pytest.raises(treadle.Unsupported, match="the part has 1 inputs, wanted are 2"):
        surgery.replace(
            model(LOOP), "main/mul_0", model("p (float[3] a) => (float[3] c) { c = Neg (a) }")
        )


def test_every_name_is_defined_once():
    both = surgery.merge(model(FIRST), model(SECOND), {"y": "a"})
    found = [value.name for value in block_values(both.main)]
    assert len(found) == len(set(found))
