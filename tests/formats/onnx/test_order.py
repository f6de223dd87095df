"""Unsorted nodes: sorted when read, reported by a check, written sorted by a repair."""

import numpy as np
import onnx
import pytest

import treadle
from treadle.formats.onnx.order import sorted_positions

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
SWAPPED = "g (float[2] x) => (float[2] y) { y = Relu(t) t = Neg(x) }"
IN_A_BODY = """g (int64 n, float x) => (float y) {
    y = Loop (n, "", x) <body = b (int64 i, bool c, float a) => (bool d, float f) {
        f = Add(e, a) e = Neg(a) d = Identity(c) }> }"""
IN_A_FUNCTION = """g (float[2] x) => (float[2] y) { y = local.f(x) }
    <opset_import: ["" : 21], domain: "local"> f (a) => (b) { b = Relu(t) t = Neg(a) }"""
WITH_A_BODY_MOVED = """g (bool c, float x) => (float y) {
    y = Relu(z)
    z = If (c) <then_branch = a () => (float p) { p = Neg(t) },
                else_branch = b () => (float q) { q = Abs(t) }>
    t = Mul(x, x) }"""
FEEDS = {"x": np.float32([1, -2]), "n": 2, "c": True}


def fed(session):
    wanted = {arg.name: arg for arg in session.get_inputs()}
    feeds = {name: FEEDS[name] for name in wanted}
    if "x" in wanted and not wanted["x"].shape:
        feeds["x"] = np.float32(-3)
    return feeds


@pytest.mark.parametrize("engines", [None, ("interp",)])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [(SWAPPED, [0, 2]), (IN_A_BODY, 0), (IN_A_FUNCTION, [0, 2]), (WITH_A_BODY_MOVED, 0)],
)
def test_a_session_sorts_them(text, wanted, engines):
    if "domain:" in text:
        text = text.replace("<opset_import", "\n<opset_import")
    head = HEAD.replace("]>", ', "local" : 1]>') if "local" in text else HEAD
    session = treadle.InferenceSession(head + text, engines=engines)
    np.testing.assert_array_equal(session.run(None, fed(session))[0], np.float32(wanted))


@pytest.mark.parametrize("text", [SWAPPED, IN_A_BODY, WITH_A_BODY_MOVED])
def test_a_check_says_so_and_a_repair_writes_them_in_order(text, tmp_path):
    assert {f.code for f in treadle.check(HEAD + text) if f.severity == "error"} == {"CF105"}
    model, mended = treadle.repair(HEAD + text)
    assert {each.code for each in mended} == {"CF105"}
    treadle.save(model, tmp_path / "sorted.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "sorted.onnx"), full_check=True)
    assert not [f for f in treadle.check(tmp_path / "sorted.onnx") if f.severity == "error"]


@pytest.mark.parametrize(
    "text",
    [
        "g (float x) => (float y) { y = Add(x, z) z = Neg(y) }",
        "g (float x) => (float y) { w = Neg(v) v = Abs(x) y = Add(w, z) z = Neg(y) }",
        """g (bool c, float x) => (float y) {
            y = If (c) <then_branch = a () => (float p) { p = Neg(late) },
                        else_branch = b () => (float q) { q = Neg(x) }>
            late = Abs(x) }""",
    ],
    ids=["a cycle", "a cycle beside what can be sorted", "a body reads what is made later"],
)
def test_a_cycle_stops_a_session(text):
    with pytest.raises(treadle.LoadError, match="CF105"):
        treadle.InferenceSession(HEAD + text)


def test_a_name_of_outside_is_read_where_the_inner_one_is_not_made_yet():
    text = """g (bool c, float x) => (float y) {
        y = If (c) <then_branch = a () => (float p) { p = Neg(x) x = Abs(p) },
                    else_branch = b () => (float q) { q = Neg(x) }> }"""
    assert "CF105" not in {f.code for f in treadle.check(HEAD + text)}


def test_steps_keep_the_files_order_where_possible():
    graph = onnx.parser.parse_graph(
        "g (float x) => (float y) { a = Neg(x) y = Add(d, a) c = Neg(x) d = Neg(c) }"
    )
    assert sorted_positions(graph.node, lambda name: name == "x") == [0, 2, 3, 1]


def test_the_last_of_two_initializers_of_one_name_is_used(tmp_path):
    model = onnx.parser.parse_model(
        HEAD + "g (float[2] x) => (float[2] y) <float[2] w = {1, 1}> { y = Add(x, w) }"
    )
    model.graph.initializer.append(onnx.helper.make_tensor("w", 1, [2], [5, 5]))
    session = treadle.InferenceSession(model)
    assert session.run(None, {"x": np.float32([1, 2])})[0].tolist() == [6, 7]
    assert [f.code for f in treadle.check(model)] == ["CF102"]
    assert [each.code for each in treadle.repair(model)[1]] == ["CF102"]
