"""Unrolled loops: equal outputs, masked iterations past the end, and every refusal."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import treadle
from tests.passes.simplify.models import operators, run, run_by_onnxruntime, saved
from treadle.formats import onnx as onnx_files
from treadle.ir import Loop, walk

HEAD = '<ir_version: 10, opset_import: ["" : {opset}]>'
COUNTED = """
g (float[3] x) => (float[3] y, float[N,3] rows) {{
  n = Constant <value = int64 {{{trips}}}> ()
  y, rows = Loop (n, "", x) <body = b (int64 i, bool go, float[3] s)
      => (bool go2, float[3] o, float[3] r) {{
    go2 = Identity (go)
    f = Cast <to = 1> (i)
    t = Add (s, x)
    o = Add (t, f)
    r = Mul (o, o)
  }}>
}}"""
WHILE = """
g (float[2] x, bool go, int64 m, bool[2] flags)
    => (float[2] y, bool[2] z, float[N] rows, int64[M] k) {
  y, z, rows, k = Loop (m, go, x, flags) <body = b (int64 i, bool c, float[2] s, bool[2] g)
      => (bool on, float[2] o, bool[2] h, float r, int64 j) {
    two = Constant <value = float {2.0}> ()
    o = Mul (s, two)
    h = Not (g)
    r = ReduceSum <keepdims = 0> (s)
    limit = Constant <value = float {20.0}> ()
    on = Less (r, limit)
    j = Identity (i)
  }>
}"""
NESTED = """
g (float[2] x) => (float[2] y) {
  n = Constant <value = int64 {3}> ()
  y = Loop (n, "", x) <body = b (int64 i, bool go, float[2] s) => (bool on, float[2] o) {
    on = Identity (go)
    o = Loop (i, "", s) <body = c (int64 j, bool h, float[2] t) => (bool p, float[2] u) {
      p = Identity (h)
      u = Add (t, x)
    }>
  }>
}"""
SCAN = """
g (float[4,2] x, float[2] s) => (float[2] t, float[2,4] rows) {
  t, rows = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_axes = [1],
                  scan_output_directions = [1], body = b (float[2] h, float[2] e)
      => (float[2] k, float[2] r) { k = Add (h, e) r = Mul (k, h) }> (s, x)
}"""
CALLED = """
g (float[3] x) => (float[3] y) { y = local.f (x) }
<domain: "local", opset_import: ["" : 17]> f (a) => (b) {
  n = Constant <value = int64 {2}> ()
  b = Loop (n, "", a) <body = b (int64 i, bool go, s) => (bool on, o) {
    on = Identity (go) o = Add (s, a) }>
}"""
ROWS = COUNTED.replace("t = Add (s, x)", "t = Identity (s)").replace("Mul (o, o)", "Neg (x)")
ROWS = ROWS.replace("float[3] y", "float[K] y").replace("float[3] s", "float[A] s")
ROWS = ROWS.replace("float[3] o", "float[B] o")
X = np.array([1, 2, 3], np.float32)


def model(text: str, opset: int = 17, **words: object):
    text = text.format(**words) if words else text
    imports = HEAD.replace("]", ', "local" : 1]') if "local" in text else HEAD
    return treadle.load(imports.format(opset=opset) + text)


def same(before, after, feeds, engines: bool = True) -> list:
    """The results, which both models give in treadle and in onnxruntime."""
    wanted = run(before, feeds)
    onnx.checker.check_model(onnx_files.write_model(after), full_check=True)
    for found in (run(after, feeds), run_by_onnxruntime(saved(after), feeds)):
        for one, other in zip(found, wanted, strict=False):
            assert np.asarray(one).dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    return wanted


def loops(found) -> int:
    return sum(isinstance(visit.step, Loop) for visit in walk(found))


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_a_counted_loop_is_a_straight_line(trips, opset):
    before = model(COUNTED, opset, trips=trips)
    after = treadle.unroll(before)
    assert loops(after) == 0
    same(before, after, {"x": X})


def test_names_and_metadata_say_source_and_iteration():
    after = treadle.unroll(model(COUNTED, trips=2))
    steps = [step for step in after.main.steps if step.op == "Add"]
    said = [dict(step.info.metadata) for step in steps]
    assert [each["treadle.iteration"] for each in said] == ["0", "0", "1", "1"]
    assert {each["treadle.source_path"] for each in said} == {
        "main/loop_1.body/add_2", "main/loop_1.body/add_3",
    }  # fmt: skip
    assert steps[0].results[0].name == "loop_1/0/t"
    assert steps[-1].results[0].name == "y"


@pytest.mark.parametrize("start", [0.5, 3.0, 9.0, 100.0])
@pytest.mark.parametrize("trips", [-1, 0, 1, 2, 5])
@pytest.mark.parametrize("go", [True, False])
def test_a_loop_that_may_end_earlier_is_frozen_at_its_end(start, trips, go):
    before = model(WHILE)
    after = straight()
    assert loops(after) == 0
    flags = np.array([True, False])
    feeds = {"x": np.array([start, 1], np.float32), "go": np.array(go), "flags": flags}
    same(before, after, {**feeds, "m": np.array(trips)})


def straight(cache=[]):  # noqa: B006
    if not cache:
        cache.append(treadle.unroll(model(WHILE), most=5))
    return cache[0]


def test_without_a_proven_bound_a_run_that_needs_more_fails():
    feeds = {"x": np.array([0.01, 0], np.float32), "go": np.array(True), "m": np.array(9)}
    feeds["flags"] = np.array([True, False])
    with pytest.raises(treadle.RunError, match="out of bounds"):
        run(straight(), feeds)


@pytest.mark.parametrize(("trips", "unfinished"), [(2, False), (3, False), (4, True)])
def test_a_truncated_loop_says_whether_it_is_unfinished(trips, unfinished):
    before = model(WHILE)
    after = treadle.unroll(before, most=3, truncate=True, padded=True)
    names = [value.name for value in after.main.results]
    assert names[4:] == ["main/loop_0@trips", "main/loop_0@unfinished"]
    feeds = {"x": np.array([1, 1], np.float32), "go": np.array(True), "m": np.array(trips)}
    feeds["flags"] = np.array([True, False])
    found = dict(zip(names, run(after, feeds), strict=True))
    assert found["main/loop_0@unfinished"] == unfinished
    assert found["main/loop_0@trips"] == min(trips, 3)
    assert found["rows"].shape == (3,)
    ran = run(before, {**feeds, "m": np.array(min(trips, 3))})
    np.testing.assert_array_equal(found["y"], ran[0])
    np.testing.assert_array_equal(found["rows"][: min(trips, 3)], ran[2])


def test_an_inner_loop_whose_count_the_outer_one_gives():
    before = model(NESTED)
    after = treadle.unroll(before)
    assert loops(after) == 0
    same(before, after, {"x": X[:2]})
    inner = [s for s in after.main.steps if "add" in s.results[0].name or s.op == "Add"]
    said = [dict(step.info.metadata)["treadle.iteration"] for step in inner]
    assert said == ["1,0", "2,0", "2,1"]


@pytest.mark.parametrize("by", [None, 2, 3, 9])
def test_a_scan_in_reverse_along_another_axis(by):
    before = model(SCAN)
    after = treadle.unroll(before, by=by)
    same(before, after, {"x": np.arange(8, dtype=np.float32).reshape(4, 2), "s": X[:2]})


def test_a_loop_in_a_function():
    before = model(CALLED)
    after, report = treadle.unroll(before, with_report=True)
    assert loops(after) == 0
    assert [str(each) for each in report.done] == ["main/f_0/loop_1: 2 iterations"]
    same(before, after, {"x": X})


@pytest.mark.parametrize("trips", [-1, 0, 1, 2, 5, 6])
@pytest.mark.parametrize("go", [True, False])
def test_several_iterations_each_time(trips, go):
    text = WHILE.replace("on = Less (r, limit)", "on = Identity (c)")
    before = model(text)
    after = treadle.unroll(before, by=3)
    assert operators(after).count("Loop") == 2
    feeds = {"x": X[:2], "go": np.array(go), "m": np.array(trips)}
    same(before, after, {**feeds, "flags": np.array([True, False])})


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_several_iterations_each_time_of_a_known_number(trips):
    before = model(COUNTED, trips=trips)
    after = treadle.unroll(before, by=2)
    assert loops(after) == (trips > 1)
    same(before, after, {"x": X})


def test_a_carried_value_that_grows_by_a_known_amount():
    before = model(ROWS.replace("o = Add (t, f)", "o = Concat <axis = 0> (t, x)"), trips=3)
    same(before, treadle.unroll(before), {"x": X})


def refused(text: str, opset: int = 17, words: dict | None = None, **options: object) -> list[str]:
    with pytest.raises(treadle.Unsupported) as caught:
        treadle.unroll(model(text, opset, **(words or {})), **options)
    assert all(found.path for found in caught.value.findings)
    return [found.message for found in caught.value.findings]


def test_all_obstacles_are_reported_at_once():
    two = WHILE.replace("r = ReduceSum", "q = RandomNormalLike (s) r = ReduceSum")
    told = refused(two)
    assert "RandomNormalLike gives a different result in each iteration" in told
    assert "the number of its iterations is not known" in told


def test_a_bound_that_is_proven_is_not_undercut():
    assert refused(COUNTED, words={"trips": 5}, most=3) == [
        "it may run 5 times, which is more than most=3"
    ]


def test_a_body_that_may_fail_does_not_run_where_the_loop_does_not():
    text = WHILE.replace("h = Not (g)", "h = Reshape (g, w)")
    text = text.replace("bool[2] flags)", "bool[2] flags, int64[1] w)")
    told = refused(text, most=3)
    assert any("where this step would run and could fail" in each for each in told)


def test_a_carried_value_of_unknown_shape():
    found = "z = NonZero (t) w = Cast <to = 1> (z) o = Squeeze (w)"
    told = refused(ROWS.replace("o = Add (t, f)", found), words={"trips": 2})
    assert "is not known" in told[0]


def test_a_carried_list():
    text = """
g (float[3] x) => (seq(float[3]) y) {
  n = Constant <value = int64 {2}> ()
  e = SequenceEmpty ()
  y = Loop (n, "", e) <body = b (int64 i, bool go, seq(float[3]) s) => (bool on, seq(float[3]) o) {
    on = Identity (go) o = SequenceInsert (s, x) }>
}"""
    assert refused(text) == ["the carried value s is no tensor"]


def test_more_nodes_than_wanted():
    assert "nodes of the model" in refused(COUNTED, words={"trips": 500}, max_nodes=1000)[0]
    assert loops(treadle.unroll(model(COUNTED, trips=500), max_nodes=6000)) == 0


def test_a_condition_with_several_iterations_each_time():
    assert refused(WHILE, by=2) == ["its condition may end the loop between two iterations"]


def test_loops_are_chosen_by_path():
    before = model(NESTED)
    assert loops(treadle.unroll(before, loops="main/loop_1")) == 3
    with pytest.raises(treadle.InputError, match="no loop at"):
        treadle.unroll(before, loops="main/loop_2")
    with pytest.raises(treadle.InputError, match="most is 0"):
        treadle.unroll(before, most=0)
    with pytest.raises(treadle.InputError, match="by goes without"):
        treadle.unroll(before, most=2, by=2)


def test_types_and_names_of_the_border_stay():
    before = treadle.infer(model(WHILE))
    after = treadle.infer(straight())
    for one, other in zip(before.main.params, after.main.params, strict=True):
        assert (one.name, one.declared) == (other.name, other.declared)
    for one, other in zip(before.main.results, after.main.results, strict=True):
        assert (one.name, one.declared) == (other.name, other.declared)
