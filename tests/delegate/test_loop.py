"""Known faults of onnxruntime with loops are worked around, or refused at run time."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.delegate import Onnxruntime
from treadle.delegate.export import export_region
from treadle.delegate.opset_selection import target_versions
from treadle.errors import RunError
from treadle.infer import infer
from treadle.ir import operator_of
from treadle.plan import FallbackRequired, RunContext, plan

HEAD = '<ir_version: 10, opset_import: ["" : 17]>\n'
TRIPS = [0, 1, 2, 5]


def f32(*values):
    return np.array(values, np.float32)


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


def test_the_iteration_number_returned_directly(whole, same):
    run = whole("""g (int64 M) => (int64[n] ys) {
        ys = Loop <body = b (int64 i, bool c) => (bool c, int64 i) {}> (M, "") }""")
    for trip in TRIPS:
        same(run(scalar(trip, np.int64))[0], np.arange(trip))


def test_the_iteration_number_carried(whole, same):
    run = whole("""g (int64 M, int64 a) => (int64 z, int64[n] ys) {
        z, ys = Loop <body = b (int64 i, bool c, int64 s) => (bool c, int64 i, int64 t)
            { t = Add(s, s) }> (M, "", a) }""")
    for trip in TRIPS:
        states = [7, *range(trip)]
        z, ys = run(scalar(trip, np.int64), scalar(7, np.int64))
        same(z, np.int64(states[-1]))
        same(ys, np.array([2 * s for s in states[:trip]], np.int64))


@pytest.mark.parametrize("opset", [9, 11, 17, 21])
def test_scan_that_passes_its_parameters_through(whole, same, opset):
    run = whole("""g (float a, float[3] x) => (float z, float[3] ys) {
        z, ys = Scan <num_scan_inputs = 1, body = b (float s, float v) => (float s, float v) {}>
            (a, x) }""", opset)  # fmt: skip
    z, ys = run(scalar(4), f32(1, 2, 3))
    same(z, np.float32(4))
    same(ys, f32(1, 2, 3))


SCANS = {
    "its state from the slice": (4, "(float v, float s) {}", 3, (4, 1, 2)),
    "one value as state and output": (4, "(float t, float t) { t = Add(s, v) }", 10, (5, 7, 10)),
    "a state that is a constant of the body":
        (7, "(float k, float t) <float k = {5}> { t = Add(s, v) }", 5, (8, 7, 8)),
}  # fmt: skip
"""The initial state, the results of the body, the final state and the stacked output."""


@pytest.mark.parametrize("case", SCANS)
def test_a_scan_takes(case, whole, same):
    start, results, last, stacked = SCANS[case]
    run = whole(f"""g (float a, float[3] x) => (float z, float[3] ys) {{
        z, ys = Scan <num_scan_inputs = 1, body = b (float s, float v) => {results}> (a, x) }}""")
    z, ys = run(scalar(start), f32(1, 2, 3))
    same(z, np.float32(last))
    same(ys, f32(*stacked))


def test_if_that_lists_one_value_twice(whole, same):
    run = whole("""g (bool c, float a) => (float y, float z) {
        y, z = If (c) <then_branch = t () => (float p, float p) { p = Add(a, a) },
                       else_branch = e () => (float q, float r) { q = Neg(a) r = Abs(a) }> }""")
    same(run(scalar(True, bool), scalar(7))[0], np.float32(14))
    same(run(scalar(True, bool), scalar(7))[1], np.float32(14))
    same(run(scalar(False, bool), scalar(7))[0], np.float32(-7))


def test_an_outer_value_returned_by_branches_and_bodies(whole, same):
    run = whole("""g (bool c, int64 M, float a, float b) => (float y, float[n] ys) {
        y = If (c) <then_branch = t () => (float a) {}, else_branch = e () => (float b) {}>
        ys = Loop <body = d (int64 i, bool k) => (bool k, float a) {}> (M, "") }""")
    y, ys = run(scalar(False, bool), scalar(2, np.int64), scalar(1), scalar(2))
    same(y, np.float32(2))
    same(ys, f32(1, 1))


@pytest.mark.parametrize(
    ("outputs", "declared", "wanted"),
    [
        ('"", ys', "float[n] ys", [f32(2, 4, 8)]),
        ('s, ""', "float s", [np.float32(8)]),
        ('"", ""', "float r", [np.float32(-1)]),
    ],
)
def test_results_left_out(whole, same, outputs, declared, wanted):
    run = whole(f"""g (int64 M, float a) => ({declared}) {{
        {outputs} = Loop <body = b (int64 i, bool c, float v) => (bool c, float w, float w)
            {{ w = Add(v, v) }}> (M, "", a)
        r = Neg(a) }}""")
    for found, value in zip(run(scalar(3, np.int64), scalar(1)), wanted, strict=True):
        same(found, value)


def test_scan_state_left_out(whole, same):
    run = whole("""g (float a, float[3] x) => (float[3] ys) {
        "", ys = Scan <num_scan_inputs = 1, body = b (float s, float v) => (float t, float t)
            { t = Add(s, v) }> (a, x) }""")
    same(run(scalar(0), f32(1, 2, 3))[0], f32(1, 3, 6))


def test_trip_and_condition_of_one_element(whole, same):
    run = whole("""g (int64[1] M, bool[1] k, float a) => (float s) {
        s = Loop <body = b (int64 i, bool c, float v) => (bool c, float w) { w = Add(v, v) }>
            (M, k, a) }""")
    same(run(np.array([3]), np.array([True]), scalar(1))[0], np.float32(8))
    same(run(np.array([3]), np.array([False]), scalar(1))[0], np.float32(1))


def test_a_condition_that_the_body_declares_with_an_axis(whole, same):
    run = whole("""g (int64 M) => (bool[n, 1] y) {
        y = Loop <body = b (int64 i, bool[1] c) => (bool[1] c, bool[1] e) { e = Not(c) }>
            (M, "") }""")
    same(run(scalar(2, np.int64))[0], np.array([[False], [False]]))


def test_trips_of_several_elements_are_refused(whole):
    run = whole("""g (int64[n] M, float a) => (float s) {
        s = Loop <body = b (int64 i, bool c, float v) => (bool c, float w) { w = Add(v, v) }>
            (M, "", a) }""")
    with pytest.raises(FallbackRequired):
        run(np.array([3, 4]), scalar(1))


def test_a_next_condition_of_two_elements_is_refused(whole):
    run = whole("""g (int64 M, bool[n] k) => (int64[m] ys) {
        ys = Loop <body = b (int64 i, bool c) => (bool[p] d, int64 y)
            { d = Identity(k) y = Identity(i) }> (M, "") }""")
    with pytest.raises(FallbackRequired):
        run(scalar(2, np.int64), np.array([True, True]))
    assert run(scalar(2, np.int64), np.array([True]))[0].tolist() == [0, 1]


_TURNS = """g (int64 M, float[p, q] x) => (float[n, r, s] ys) {
    z, ys = Loop <body = b (int64 i, bool c, float[p, q] v)
        => (bool c, float[u, w] t, float[p, q] e)
        { t = Transpose(v) e = Identity(v) }> (M, "", x) }"""


@pytest.mark.parametrize("opset", [8, 13, 17, 21])
def test_stacked_elements_that_change_shape_but_not_size_are_refused(whole, same, opset):
    run = whole(_TURNS, opset)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    with pytest.raises(FallbackRequired):
        run(scalar(2, np.int64), x)
    same(run(scalar(1, np.int64), x)[0], x[np.newaxis])
    square = x[:, :2]
    same(run(scalar(2, np.int64), square)[0], np.stack([square, square.T]))
    assert run(scalar(0, np.int64), x)[0].shape[0] == 0


def test_inferred_types_do_not_hide_that_elements_change():
    """Inference tells the rank and no extent of what is turned in every iteration."""
    session = treadle.InferenceSession(HEAD + _TURNS, engines=("onnxruntime", "interp"))
    assert [region.engine for region in session.plan.main.regions] == ["onnxruntime"]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    with pytest.raises(RunError, match=r"is float32\[3,2\], but was float32\[2,3\]"):
        session.run(None, {"M": np.array(2), "x": x})


def test_a_scan_along_an_axis_of_no_length_that_the_file_declares():
    text = """g (float[2] a, float[2,0] x) => (float[2] z, float[n,2] ys) {
        z, ys = Scan <num_scan_inputs = 1, scan_input_axes = [1],
            body = b (float[2] s, float[2] v) => (float[2] t, float[2] u)
            { t = Add(s, v) u = Neg(t) }> (a, x) }"""
    feed = {"a": f32(1, 2), "x": np.zeros((2, 0), np.float32)}
    session = treadle.InferenceSession(HEAD + text, engines=("onnxruntime", "interp"))
    z, ys = session.run(None, feed)
    assert (z.tolist(), ys.shape) == ([1, 2], (0, 2))


def test_nested_stacks_are_guarded_too(whole, same):
    run = whole("""g (int64 M, float[p, q] x) => (float[n, m, r, s] zs) {
        zs = Loop <body = o (int64 j, bool d) => (bool d, float[m, r, s] ys) {
            z, ys = Loop <body = b (int64 i, bool c, float[p, q] v)
                => (bool c, float[u, w] t, float[p, q] e)
                { t = Transpose(v) e = Identity(v) }> (M, "", x) }> (M, "") }""")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    with pytest.raises(FallbackRequired):
        run(scalar(2, np.int64), x)
    same(run(scalar(1, np.int64), x)[0], x[np.newaxis, np.newaxis])


def test_zero_trips(whole, same):
    run = whole("""g (int64 M, float[2, 3] x) => (float[2, 3] s, float[n, 2, 3] ys) {
        s, ys = Loop <body = b (int64 i, bool c, float[2, 3] v) => (bool c, float[2, 3] w,
            float[2, 3] y) { w = Neg(v) y = Add(x, x) }> (M, "", x) }""")
    x = np.ones((2, 3), np.float32)
    for trip in (0, -1, -3):
        s, ys = run(scalar(trip, np.int64), x)
        same(s, x)
        same(ys, np.zeros((0, 2, 3), np.float32))


def test_a_scan_of_length_zero_is_refused_and_left_to_interp(whole):
    run = whole("""g (float a, float[n] x) => (float z, float[n] ys) {
        z, ys = Scan <num_scan_inputs = 1, body = b (float s, float v) => (float t, float u)
            { t = Add(s, v) u = Neg(t) }> (a, x) }""")
    with pytest.raises(FallbackRequired, match="scan_0"):
        run(scalar(5), f32())
    instead = run.region.otherwise()
    assert [region.engine for region in instead.regions] == ["interp"]
    assert instead.block.params == run.region.inputs
    assert instead.block.results == run.region.outputs


def test_names_that_shadow_outer_ones(whole, same):
    run = whole("""g (int64 M, float x) => (float y) {
        y = Loop <body = b (int64 i, bool c, float x) => (bool c, float z)
            { z = Loop <body = d (int64 i, bool c, float x) => (bool c, float w)
                { w = Add(x, x) }> (M, "", x) }> (M, "", x) }""")
    same(run(scalar(2, np.int64), scalar(1))[0], np.float32(16))


def test_a_carried_value_that_outgrows_its_declared_shape(whole, same):
    run = whole("""g (int64 M, float[1] x) => (float[n] y) {
        y = Loop <body = b (int64 i, bool c, float[1] v) => (bool c, float[1] w)
            { w = Concat <axis = 0> (v, v) }> (M, "", x) }""")
    same(run(scalar(3, np.int64), f32(1))[0], np.ones(8, np.float32))


def test_swapped_states(whole, same):
    run = whole("""g (int64 M, float a, float b) => (float y, float z) {
        y, z = Loop <body = d (int64 i, bool c, float p, float q) => (bool c, float q, float p) {}>
            (M, "", a, b) }""")
    for trip in TRIPS:
        wanted = (1, 2) if trip % 2 == 0 else (2, 1)
        for found, value in zip(
            run(scalar(trip, np.int64), scalar(1), scalar(2)), wanted, strict=True
        ):
            same(found, np.float32(value))


def test_int64_max_trips_do_not_allocate(whole, same):
    run = whole("""g (int64 M, int64 k) => (int64[n] ys) {
        ys = Loop <body = b (int64 i, bool c) => (bool d, int64 y)
            { d = Less(i, k) y = Identity(i) }> (M, "") }""")
    found = run(scalar(2**63 - 1, np.int64), scalar(2, np.int64), context=RunContext())[0]
    same(found, np.arange(3))


@pytest.mark.parametrize("opset", [9, 13, 21])
def test_a_scan_state_that_changes_shape_but_not_size_is_refused(whole, same, opset):
    run = whole("""g (float[a, b] x, float[n] v) => (float[r, s] z) {
        k = Constant <value = int64[2] {3, 2}> ()
        z = Scan <num_scan_inputs = 1, body = b (float[a, b] s, float e) => (float[c, d] t)
            { u = Reshape(s, k) t = Abs(u) }> (x, v) }""", opset)  # fmt: skip
    with pytest.raises(FallbackRequired):
        run(np.ones((2, 3), np.float32), f32(1))
    same(run(np.ones((3, 2), np.float32), f32(1, 2))[0], np.ones((3, 2), np.float32))


def test_types_that_inference_found_spare_the_guards(model_of):
    model = infer(
        model_of("""g (float[N] x, float[N, 4] y)
        => (float[n, N] ys, float[N] z) {
        M = Constant <value_int = 3> ()
        ys = Loop <body = b (int64 i, bool c) => (bool c, float[N] e) { e = Neg(x) }> (M, "")
        z = Scan <num_scan_inputs = 1, scan_input_axes = [1],
            body = d (float[N] s, float[N] v) => (float[N] t) { t = Add(s, v) }> (x, y) }""")
    )
    (region,) = plan(model, [Onnxruntime()]).main.regions
    written, _ = export_region(region, model, target_versions(region.steps, region.constants))
    assert [operator_of(step) for step in written.main.steps] == ["Constant", "Loop", "Scan"]
    assert [operator_of(step) for step in written.main.steps[1].body.steps] == ["Neg"]
