"""Rewrites by name: equal outputs with trip counts 0, 1, 2 and 5, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.passes.rewrites.models import border, every_operator, loops, model, same

LOOP = """
g (float[5,3] x, float[3] s, float[3] w) => (float[3] y, float[N,3] rows) {
  n = Constant <value = int64 {TRIPS}> ()
  y, rows = Loop (n, "", s) <body = b (int64 i, bool go, float[3] h)
      => (bool on, float[3] k, float[3] r) {
    on = Identity (go)
    e = Gather (x, i)
    t = Mul (h, w)
    k = Add (t, e)
    r = Neg (k)
  }>
}"""
SCAN = """
g (float[TRIPS,3] x, float[3] s, float[3] w) => (float[3] y, float[3,N] rows) {
  y, rows = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_axes = [1],
                  body = b (float[3] h, float[3] e) => (float[3] k, float[3] r) {
    t = Mul (h, w) k = Add (t, e) r = Neg (k) }> (s, x)
}"""
IF = """
g (bool c, float[3] x, bool[2] p, float16[2] q) => (float[3] y, bool[2] z, float16[2] u) {
  y, z, u = If (c) <then_branch = t () => (float[3] a, bool[2] b, float16[2] h) {
    a = Add (x, x) b = Not (p) h = Identity (q)
  }, else_branch = e () => (float[3] d, bool[2] f, float16[2] k) {
    d = Neg (x) f = Identity (p) k = Neg (q)
  }>
}"""
LIST = """
g (float[3] x) => (float[M] y) {
  n = Constant <value = int64 {4}> ()
  l0 = SequenceEmpty ()
  l = Loop (n, "", l0) <body = b (int64 i, bool go, seq(float[3]) s)
      => (bool on, seq(float[3]) o) {
    on = Identity (go) f = Cast <to = 1> (i) e = Add (x, f) o = SequenceInsert (s, e)
  }>
  y = ConcatFromSequence <axis = 0> (l)
}"""
S, W = np.array([1, 2, 3], np.float32), np.array([0.5, -1, 2], np.float32)


def refused(before, name: str, **options: object) -> list[str]:
    with pytest.raises(treadle.Unsupported) as caught:
        treadle.rewrite(before, name, **options)
    assert all(found.path for found in caught.value.findings)
    return [found.message for found in caught.value.findings]


def items(trips: int) -> np.ndarray:
    return np.arange(trips * 3, dtype=np.float32).reshape(trips, 3)


@pytest.mark.parametrize("trips", [1, 2, 5])
def test_loop_to_scan(trips):
    before = model(LOOP.replace("TRIPS", str(trips)))
    after = treadle.rewrite(before, "loop-to-scan")
    assert "Scan" in every_operator(after)
    assert border(after) == border(before)
    same(before, after, {"x": items(5), "s": S, "w": W})


def test_loop_to_scan_over_numbers():
    text = LOOP.replace("TRIPS", "3").replace("e = Gather (x, i)", "e = Cast <to = 1> (i)")
    before = model(text)
    same(before, treadle.rewrite(before, "loop-to-scan"), {"x": items(5), "s": S, "w": W})


def test_loop_to_scan_refuses_uncertain_loops():
    assert refused(model(LOOP.replace("TRIPS", "0")), "loop-to-scan") == [
        "the number of its iterations is not certain to be one above 0"
    ]
    text = LOOP.replace("TRIPS", "3").replace(
        "on = Identity (go)", "f = Cast <to = 9> (i) on = Not (f)"
    )
    assert refused(model(text), "loop-to-scan") == ["its condition may end the loop"]


@pytest.mark.parametrize("trips", [1, 2, 5])
def test_scan_to_loop_and_back(trips):
    before = model(SCAN.replace("TRIPS", str(trips)))
    after = treadle.rewrite(before, "scan-to-loop")
    assert [name for name in every_operator(after) if name in ("Loop", "Scan")] == ["Loop"]
    feeds = {"x": items(trips), "s": S, "w": W}
    same(before, after, feeds)
    same(before, treadle.rewrite(after, "loop-to-scan"), feeds)


def test_scan_to_loop_refuses_a_state_that_may_change_its_shape():
    before = model(SCAN.replace("TRIPS", "T").replace("float[3] s", "float[K] s"))
    assert "which only a Scan forbids" in refused(before, "scan-to-loop")[0]


@pytest.mark.parametrize("condition", [True, False])
def test_if_to_where(condition):
    before = model(IF)
    after = treadle.rewrite(before, "if-to-where")
    assert "If" not in every_operator(after)
    feeds = {"c": np.array(condition), "x": S, "p": np.array([True, False])}
    same(before, after, {**feeds, "q": np.array([1, 2], np.float16)})


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("d = Neg (x)", "n = Constant <value = int64[1] {3}> () d = Reshape (x, w)", "could fail"),
        ("d = Neg (x)", "d = RandomNormalLike (x)", "could fail"),
        ("float[3] x,", "float[N] x,", "not certain to be equal"),
    ],
)
def test_if_to_where_refuses(old, new, why):
    text = IF.replace(old, new).replace("bool c", "bool c, int64[1] w")
    if "[N]" in new:
        text = text.replace("d = Neg (x)", "d = Constant <value = float[3] {1.0, 2.0, 3.0}> ()")
    assert any(why in each for each in refused(model(text), "if-to-where"))


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_captures_to_inputs_and_back(trips):
    before = model(LOOP.replace("TRIPS", str(trips)))
    after, report = treadle.rewrite(before, "captures-to-inputs", with_report=True)
    assert set(report.done[0].done.split(", ")) == {"x", "w"}
    (loop,) = [step for step in after.main.steps if step.results[0].name == "y"]
    assert len(loop.operands) == 3
    feeds = {"x": items(5), "s": S, "w": W}
    same(before, after, feeds)
    back = treadle.rewrite(after, "inputs-to-captures")
    same(before, back, feeds)


def test_captures_to_inputs_refuses_branches_in_bodies():
    text = LOOP.replace("TRIPS", "2").replace(
        "r = Neg (k)",
        "r = If (go) <then_branch = t () => (float[3] a) { a = Neg (k) }, "
        "else_branch = e () => (float[3] b) { b = Abs (k) }>",
    )
    assert "an If has no inputs" in refused(model(text), "captures-to-inputs")[0]


def test_sequence_to_tensor():
    before = model(LIST)
    after = treadle.rewrite(before, "sequence-to-tensor")
    assert not [name for name in every_operator(after) if "Sequence" in name]
    same(before, after, {"x": S})


def test_sequence_to_tensor_of_erased_elements():
    text = LIST.replace(
        "o = SequenceInsert (s, e)", "q = SequenceInsert (s, e) o = SequenceErase (q)"
    )
    before = model(text.replace("l0 = SequenceEmpty ()", "l0 = SequenceConstruct (x)"))
    after = treadle.rewrite(before, "sequence-to-tensor")
    assert not [name for name in every_operator(after) if "Sequence" in name]
    same(before, after, {"x": S})


def test_rewrites_one_after_the_other_at_paths():
    before = model(SCAN.replace("TRIPS", "4"))
    after, report = treadle.rewrite(
        before, "scan-to-loop", "loop-to-scan", paths="main/*", with_report=True
    )
    assert list(report.counts) == ["scan-to-loop", "loop-to-scan"]
    assert loops(after) == 1
    with pytest.raises(treadle.InputError, match="no Scan at"):
        treadle.rewrite(before, "scan-to-loop", paths="main/scan_7")


def test_names_that_are_not_known():
    with pytest.raises(treadle.InputError, match='did you mean "loop-to-scan"'):
        treadle.rewrite(model(LIST), "loop-to-scans")
    with pytest.raises(treadle.InputError, match="name a rewrite"):
        treadle.rewrite(model(LIST))


SCAN_8 = """<ir_version: 3, opset_import: ["" : 8]>
g (int64[2] lens, float[2,3] s, float[2,4,3] x) => (float[2,3] y, float[2,4,3] rows) {
  y, rows = Scan <num_scan_inputs = 1, body = b (float[3] h, float[3] e)
      => (float[3] k, float[3] r) { k = Add (h, e) r = Neg (k) }> (lens, s, x)
}"""


def test_scan_8_to_9(rng: np.random.Generator):
    text = SCAN_8.replace("int64[2] lens, ", "").replace("(lens, ", '("", ')
    before = treadle.load(text)
    after = treadle.rewrite(before, "scan-8-to-9")
    assert after.opsets == {"": 9}
    feeds = {"s": rng.standard_normal((2, 3)), "x": rng.standard_normal((2, 4, 3))}
    same(before, after, {name: value.astype(np.float32) for name, value in feeds.items()})
    assert treadle.rewrite(after, "scan-8-to-9") is after


@pytest.mark.parametrize("lengths", [(2, 4), (1, 3), (4, 4)])
def test_scan_8_to_9_keeps_lengths(lengths: tuple[int, int], rng: np.random.Generator) -> None:
    before = treadle.load(SCAN_8)
    after = treadle.rewrite(before, "scan-8-to-9")
    feeds = {"s": rng.standard_normal((2, 3)), "x": rng.standard_normal((2, 4, 3))}
    given = {name: value.astype(np.float32) for name, value in feeds.items()}
    same(before, after, {"lens": np.array(lengths), **given})


def test_names_of_nested_scans_are_unique():
    text = """
g (float[2,3,2] x, float[2] s) => (float[2] y) {
  y = Scan <num_scan_inputs = 1, body = b (float[2] h, float[3,2] e) => (float[2] k) {
    k = Scan <num_scan_inputs = 1, body = c (float[2] p, float[2] q) => (float[2] r)
      { r = Add (p, q) }> (h, e) }> (s, x)
}"""
    before = model(text)
    after = treadle.rewrite(before, "scan-to-loop")
    assert every_operator(after).count("Loop") == 2
    same(before, after, {"x": np.arange(12, dtype=np.float32).reshape(2, 3, 2), "s": S[:2]})


TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (string[T] x, string s, bool c, float[2] v) => (string y, float[2] z) {
  y = Scan <num_scan_inputs = 1, body = b (string h, string a) => (string e) {
    e = Identity (a)
  }> (s, x)
  z = If (c) <then_branch = t () => (float[2] p) { p = Relu (v) },
              else_branch = o () => (float[2] q) { q = Neg (v) }>
}"""


def test_a_runtime_that_is_known_to_refuse_the_result():
    assert treadle.rewrite(TEXT, "if-to-where") is not None
    with pytest.raises(treadle.Unsupported, match="CF851") as why:
        treadle.rewrite(TEXT, "if-to-where", portable=["openvino"])
    assert {found.path for found in why.value.findings} == {"main/scan_0"}
