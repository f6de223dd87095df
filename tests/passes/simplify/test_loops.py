"""Passes on loops: LICM, carried values, trip counts, stacks, trivial loops."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.simplify.models import (
    ITS_ERRORS,
    cleaned,
    load,
    operators,
    run,
    run_by_onnxruntime,
    same,
    saved,
)
from treadle.errors import TreadleError
from treadle.ir import Branch, Loop, Sequence, ports, show_model, walk
from treadle.passes.simplify.dce import eliminate_dead_steps
from treadle.passes.simplify.invariant_carries import carried_to_invariant
from treadle.passes.simplify.licm import hoist_loop_invariants
from treadle.passes.simplify.sequence_to_stack import sequences_to_stacks
from treadle.passes.simplify.trip_count import infer_trip_counts
from treadle.passes.simplify.trivial_loops import unroll_trivial_loops

TRIPS = (0, 1, 2, 5)
X = np.float32([[1, 2, 3], [4, 5, 6]])


def path_of(model, depth=0):
    """The path of the only loop at a depth."""
    (path,) = (v.path for v in walk(model) if isinstance(v.step, Loop) and v.depth == depth)
    return path


def loops(model):
    return [visit.step for visit in walk(model) if isinstance(visit.step, Loop)]


PASSED_ON = """g (int64 n, float[2,3] x, float s0) => (float s, float[2,3] z) {
    s, z = Loop (n, "", s0, x) <body = b (int64 i, bool c, float v, float[2,3] w)
        => (bool d, float t, float[2,3] w2) {
        d = Identity (c) w2 = Identity (w) m = ReduceMax <keepdims = 0> (w) t = Add (v, m) }> }"""


@pytest.mark.parametrize("trip", TRIPS)
def test_a_carried_value_that_never_changes_is_read_from_outside(trip):
    model, report = cleaned(PASSED_ON)
    assert report.counts["invariant carried values"] == 1
    assert [port.param.name for port in ports(*loops(model)).carried] == ["v"]
    same(load(PASSED_ON), model, np.int64(trip), X, np.float32(1))


def test_values_that_swap_places_do_change():
    text = """g (int64 n, float a, float b) => (float c, float d) {
        c, d = Loop (n, "", a, b) <body = b (int64 i, bool c0, float v, float w)
            => (bool c1, float w2, float v2) {
            c1 = Identity (c0) w2 = Identity (w) v2 = Identity (v) }> }"""
    assert cleaned(text, carried_to_invariant)[1].done == ()


DEAD = """g (int64 n, float s0, float[k] x) => (float s) {
    z = Constant <value_float = 0.0> ()
    s, t, all = Loop (n, "", s0, z) <body = b (int64 i, bool c, float v, float w)
        => (bool d, float v2, float w2, float e) {
        d = Identity (c) v2 = Add (v, v) w2 = LINE e = Neg (w) }> }"""


@pytest.mark.parametrize("trip", TRIPS)
def test_carried_values_that_only_feed_themselves_are_removed_with_unread_stacks(trip):
    text = DEAD.replace("LINE", "Sub (w, v)")
    model, report = cleaned(text, eliminate_dead_steps)
    assert report.counts["carried values and stacks nothing reads"] == 2
    assert operators(model, "main/loop_0.body") == ["Identity", "Add"]
    same(load(text), model, np.int64(trip), np.float32(1), X[0])


@pytest.mark.parametrize("line", ["ReduceMax <keepdims = 0> (x)", "Squeeze (x)"])
def test_steps_that_may_fail_are_not_hoisted(line):
    model, _ = cleaned(DEAD.replace("LINE", f"{line} u = Mul (w, w2)").replace("e =", "e ="))
    assert line.split()[0] in operators(model, f"{path_of(model)}.body")


def test_a_loop_keeps_one_result_and_the_steps_that_it_needs():
    text = """g (bool c0, float x) => (float y) {
        a, b = Loop ("", c0, x, x) <body = b (int64 i, bool c, float v, float w)
            => (bool d, float v2, float w2) {
            k = Constant <value_int = 3> () d = Less (i, k) v2 = Add (w, x) w2 = Neg (v) }>
        y = Neg (x) }"""
    model, _ = cleaned(text, eliminate_dead_steps)
    assert len(loops(model)) == 1
    assert run(model, {"c0": True, "x": np.float32(2)})[0] == -2


INVARIANT = """g (int64 n, float[2,3] x, float[{rows},2] w, float s0) => (float s) {{
    {trip}
    s = Loop (t, "", s0) <body = b (int64 i, bool c, float v) => (bool d, float v2) {{
        d = Identity (c) p = MatMul (x, w) q = Exp (p) m = ReduceSum <keepdims = 0> (q)
        v2 = Add (v, m) }}> }}"""
ANY, FIVE = "t = Identity (n)", "t = Constant <value_int = 5> ()"


@pytest.mark.parametrize(
    ("rows", "trip", "inside"),
    [
        ("3", ANY, ["Add"]),
        ("k", FIVE, ["Add"]),
        ("k", ANY, ["MatMul", "Exp", "ReduceSum", "Add"]),
    ],
)
def test_a_step_leaves_a_loop_that_may_not_run_only_if_it_cannot_fail(rows, trip, inside):
    text = INVARIANT.format(rows=rows, trip=trip)
    model, _ = cleaned(text)
    assert operators(model, f"{path_of(model)}.body") == inside
    for count in TRIPS:
        same(load(text), model, np.int64(count), X, np.ones((3, 2), np.float32), np.float32(0))
    feeds = {"n": 0, "x": X, "w": np.ones((2, 2), np.float32), "s0": np.float32(1)}
    if rows == "k" and trip == ANY:
        assert run(model, feeds)[0] == 1
    if rows == "k" and trip == FIVE:
        with pytest.raises(TreadleError):
            run(model, feeds)


@pytest.mark.parametrize(("names", "moves"), [("nn", True), ("nm", False)])
def test_extents_of_inputs_that_have_one_name_are_equal_for_hoisting_alone(names, moves):
    text = f"""g (int64 n, float[{names[0]}] a, float[{names[1]}] b, int64 s0)
        => (int64 s, bool e) {{{{
        s = Loop (n, "", s0) <body = b (int64 i, bool c, int64 v) => (bool d, int64 w) {{{{
            d = Identity (c) p = Add (a, b) q = Exp (p) z = Size (q) w = Add (v, z) }}}}>
        k = Shape (a) l = Shape (b) f = Equal (k, l) e = Squeeze (f) }}}}"""
    text = text.replace("{{", "{").replace("}}", "}")
    model, _ = cleaned(text)
    assert ("Exp" in operators(model)) == moves
    assert "Equal" in operators(model)
    for count in TRIPS:
        same(load(text), model, np.int64(count), X[0], X[1], np.int64(0))


EMPTY = """g (int64 n, float[A] p) => (float[N,B] all) {{
    all = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float[C] e) {{
        on = Identity (go) e = {} }}> }}"""


@pytest.mark.parametrize(
    ("line", "stays"), [("Concat <axis = 0> (p, p)", True), ("Exp (p)", False)]
)
def test_empty_stacks_keep_the_extents_that_the_body_reads_show(line, stays):
    text = EMPTY.format(line)
    model, _ = cleaned(text)
    assert (len(operators(model)) == 1) == stays
    for count in TRIPS:
        feeds = {"n": np.int64(count), "p": X[0]}
        assert run(model, feeds)[0].shape == run(load(text), feeds)[0].shape


def test_values_read_by_dead_steps_only_do_not_prove_an_extent():
    text = """g (int64 n, float[A] p) => (float[N,B] all, float[D] last) {
        last, all = Loop (n, "", p) <body = f (int64 i, bool go, float[G] v)
            => (bool on, float[H] w, float[C] e) {
            on = Identity (go) w = Identity (v) q = Neg (p) e = Concat <axis = 0> (p, v) }> }"""
    model, _ = cleaned(text)
    for count in TRIPS:
        feeds = {"n": np.int64(count), "p": X[0]}
        assert run(model, feeds)[0].shape == run(load(text), feeds)[0].shape == (count, 6)


def test_work_leaves_several_loops_at_once_but_no_branch_and_no_random_number():
    text = """g (int64 n, bool go, float[3] x, float s0) => (float s) {
        s = Loop (n, "", s0) <body = a (int64 i, bool c, float v) => (bool d, float v3) {
            d = Identity (c)
            v2 = Loop (n, "", v) <body = b (int64 j, bool e, float w) => (bool f, float w4) {
                f = Identity (e) k = Constant <value = float {2.0}> ()
                q = Mul (x, k) p = Exp (q) r = RandomUniformLike (x)
                m = ReduceSum <keepdims = 0> (p) o = Sub (r, r) o2 = ReduceSum <keepdims = 0> (o)
                w2 = Add (w, m) w3 = Add (w2, o2)
                w4 = If (go) <then_branch = t () => (float u) { u = Add (w3, w3) },
                    else_branch = e () => (float u) { u2 = Exp (x)
                        u = ReduceSum <keepdims = 0> (u2) }> }>
            v3 = Neg (v2) }> }"""
    model, _ = cleaned(text, hoist_loop_invariants)
    assert operators(model)[:-1] == ["Constant", "Mul", "Exp", "ReduceSum"]
    inner = f"{path_of(model, 1)}.body"
    (choice,) = (v.path for v in walk(model) if isinstance(v.step, Branch))
    assert operators(model, f"{choice}.else_branch") == ["Exp", "ReduceSum"]
    assert "RandomUniformLike" in operators(model, inner)
    for count in TRIPS:
        same(load(text), model, np.int64(count), False, X[0], np.float32(1))


LIST = """g (int64 n, float[2,3] x, int64 k) => (float{shape} y) {{
    s0 = SequenceEmpty ()
    s = Loop ({trip}, "", s0) <body = b (int64 i, bool c, seq(float[2,3]) l)
        => (bool d, seq(float[2,3]) l2) {{
        d = Identity (c) f = Cast <to = 1> (i) e = Add (x, f) l2 = SequenceInsert (l, e) }}>
    {last} }}"""


@pytest.mark.parametrize(
    ("shape", "last"),
    [
        ("[a,b,c]", "y = ConcatFromSequence <axis = 0, new_axis = 1> (s)"),
        ("[a,b,c]", "y = ConcatFromSequence <axis = 1, new_axis = 1> (s)"),
        ("[a,b,c]", "y = ConcatFromSequence <axis = -1, new_axis = 1> (s)"),
        ("[a,b]", "y = ConcatFromSequence <axis = 0> (s)"),
        ("[a,b]", "y = ConcatFromSequence <axis = -1> (s)"),
        ("[a,b]", "y = SequenceAt (s, k)"),
        ("", "m = SequenceLength (s) y = Cast <to = 1> (m)"),
    ],
)
def test_a_list_that_only_grows_becomes_a_stack(shape, last):
    text = LIST.format(shape=shape, last=last, trip="n")
    model, report = cleaned(text)
    assert report.counts["sequences converted to stacked outputs"] == 1
    assert not any(
        isinstance(value.declared, Sequence) for v in walk(model) for value in v.step.results
    )
    for count in (1, 2, 5):
        same(load(text), model, np.int64(count), X, np.int64(-1))
    feeds = {"n": np.int64(0), "x": X, "k": np.int64(0)}
    if "SequenceLength" in last:
        same(load(text), model, *feeds.values())
        return
    with pytest.raises(TreadleError):
        run(load(text), feeds)
    with pytest.raises(TreadleError):
        run(model, feeds)
    with pytest.raises(ITS_ERRORS):
        run_by_onnxruntime(saved(model), feeds)


@pytest.mark.parametrize(("length", "opset"), [(3, 21), (0, 21), (3, 13)])
def test_a_list_of_rows_that_may_be_empty_is_guarded_too(length, opset):
    last = "y = ConcatFromSequence <axis = 1, new_axis = 1> (s)"
    text = LIST.format(shape="[a,b,c]", last=last, trip="n").replace("[2,3]", "[2,L]")
    model, report = cleaned(text, opset=opset)
    assert report.counts["sequences converted to stacked outputs"] == 1
    x = np.ones((2, length), np.float32)
    same(load(text, opset), model, np.int64(2), x, np.int64(0))
    with pytest.raises(TreadleError):
        run(model, {"n": np.int64(0), "x": x, "k": np.int64(0)})


def test_a_list_of_a_loop_that_certainly_runs_needs_no_guard():
    last = "y = ConcatFromSequence <axis = 0, new_axis = 1> (s)"
    text = LIST.format(shape="[a,b,c]", last=last, trip="five").replace(
        "s0 =", "five = Constant <value_int = 5> () s0 ="
    )
    model, _ = cleaned(text)
    assert operators(model)[-1] == "Loop"
    same(load(text), model, np.int64(0), X, np.int64(0))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SequenceInsert (l, e)", "SequenceInsert (l, e, z)"),
        ("d = Identity (c)", "d = Identity (c) q = SequenceLength (l)"),
        ("s0 = SequenceEmpty ()", "s0 = SequenceConstruct (x)"),
        ("y = ConcatFromSequence <axis = 0> (s)", "y = ConcatFromSequence <axis = 0> (t) t = S"),
        ("e = Add (x, f)", "r = Range (z, i, o) r2 = Cast <to = 1> (r) e = Expand (f, r)"),
    ],
)  # fmt: skip
def test_a_sequence_read_otherwise_than_appended_stays(old, new):
    if new.endswith("t = S"):
        new = "t = SequenceInsert (s, x) y = ConcatFromSequence <axis = 0> (t)"
    text = LIST.format(shape="[a,b]", last="y = ConcatFromSequence <axis = 0> (s)", trip="n")
    zeros = "z = Constant <value_int = 0> () o = Constant <value_int = 1> () s0 ="
    assert old in text
    text = text.replace(old, new).replace("s0 =", zeros, 1)
    assert cleaned(text, sequences_to_stacks)[1].done == ()


COUNTED = """g ({dtype} n, float s0, bool go, int64 most) => (float s) {{
    zero = Constant <value = {dtype} {{{start}}}> () one = Constant <value = {dtype} {{1}}> ()
    k, s = Loop ({trip}, {first}, zero, s0) <body = b (int64 i, bool c, {dtype} k0, float v)
        => (bool d, {dtype} k1, float v2) {{
        k1 = Add (k0, one) f = Cast <to = 1> (k0) v2 = Add (v, f) d = {condition} }}> }}"""


@pytest.mark.parametrize("condition", ["Less (k1, n)", "Greater (n, k1)"])
@pytest.mark.parametrize(("dtype", "start"), [("int64", 0), ("int32", 0), ("int64", 3)])
@pytest.mark.parametrize("trip", ['""', "most"])
@pytest.mark.parametrize("first", ['""', "go"])
def test_a_loop_that_counts_gets_a_trip_count(condition, dtype, start, trip, first):
    text = COUNTED.format(condition=condition, dtype=dtype, start=start, trip=trip, first=first)
    model, _ = cleaned(text)
    assert "Less" not in show_model(model)
    assert "Greater" not in show_model(model)
    assert ports(*loops(model)).next_condition is None
    for limit in (-(2**31), 0, 1, 4):
        for most in (0, 3) if trip == "most" else (0,):
            for go in (True, False) if first == "go" else (True,):
                same(
                    load(text),
                    model,
                    np.dtype(dtype).type(limit),
                    np.float32(0),
                    go,
                    np.int64(most),
                )


@pytest.mark.parametrize(
    "condition",
    ["Less (k1, i)", "LessOrEqual (k1, n)", "Less (k0, n)", "Less (n, k1)", "Not (go)"],
)
def test_a_loop_with_another_condition_stays(condition):
    text = COUNTED.format(condition=condition, dtype="int64", start=0, trip="most", first='""')
    report = cleaned(text, infer_trip_counts)[1]
    assert all("as far as" not in each.done for each in report.done)


@pytest.mark.parametrize("step", ["Mul (k0, one)", "Sub (k0, one)", "Add (k0, k0)"])
def test_a_counter_with_another_step_stays(step):
    text = COUNTED.format(
        condition="Less (k1, n)", dtype="int64", start=0, trip="most", first='""'
    ).replace("Add (k0, one)", step)
    assert cleaned(text, infer_trip_counts)[1].done == ()


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_certain_limit_gives_a_certain_trip_count(limit):
    text = f"""g (float s0) => (float s) {{
        s = Loop ("", "", s0) <body = b (int64 i, bool c, float v) => (bool d, float v2) {{
            k = Constant <value_int = {limit}> () d = Less (i, k)
            f = Cast <to = 1> (i) v2 = Add (v, f) }}> }}"""
    model, report = cleaned(text)
    assert report.counts["while loops with a trip count"] == 1
    same(load(text), model, np.float32(1))


ONCE = """g (float[2,3] x, float s0, bool go) => (float s, float[a,b] z, int64[m] at) {{
    n = Constant <value_int = {trip}> ()
    s, z, at = Loop (n, {first}, s0) <body = b (int64 i, bool c, float v)
        => (bool d, float t, float[3] e, int64 j) {{
        d = Greater (v, v) row = Gather (x, i) e = Exp (row) j = Add (i, i)
        m = ReduceMax <keepdims = 0> (row) t = Add (v, m) }}> }}"""


@pytest.mark.parametrize(
    ("trip", "why"), [(1, "it runs once"), (0, "it never runs"), (-2, "it never runs")]
)
def test_a_loop_of_one_iteration_is_inlined(trip, why):
    text = ONCE.format(trip=trip, first='""')
    model, report = cleaned(text, unroll_trivial_loops)
    assert [each.done for each in report.done] == [why]
    assert not loops(model)
    same(load(text), model, X, np.float32(2), True)


@pytest.mark.parametrize(("trip", "first"), [(1, "go"), (2, '""')])
def test_a_loop_that_may_run_more_or_less_than_once_stays(trip, first):
    assert cleaned(ONCE.format(trip=trip, first=first), unroll_trivial_loops)[1].done == ()


def test_a_scan_over_one_item_is_put_in_its_place():
    text = """g (float[2,1,3] x, float[3] s0) => (float[3] s, float[a,b,c] z) {
        s, z = Scan (s0, x) <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
            body = b (float[3] v, float[2,3] r) => (float[3] v2, float[2,3] e) {
            m = ReduceMax <axes = [0], keepdims = 0> (r) v2 = Add (v, m) e = Neg (r) }> }"""
    model, _ = cleaned(text, unroll_trivial_loops, opset=13)
    assert not loops(model)
    same(load(text, 13), model, X.reshape(2, 1, 3), X[0])


def test_moved_names_do_not_shadow_others():
    text = """g (int64 n, float[3] x, float s0) => (float q) {
        a = Loop (n, "", s0) <body = b (int64 i, bool c, float v) => (bool d, float w) {
            d = Identity (c) p = Exp (x) q = ReduceSum <keepdims = 0> (p) w = Add (v, q) }>
        b = Loop (n, "", a) <body = b (int64 i, bool c, float v) => (bool d, float w) {
            d = Identity (c) f = Cast <to = 1> (i) p = Add (v, f) w = Neg (p) }>
        q = Sub (a, b) }"""
    model, _ = cleaned(text)
    outer = {value.name for visit in walk(model) if not visit.depth for value in visit.step.results}
    inner = {value.name for visit in walk(model) if visit.depth for value in visit.step.results}
    assert not outer & inner
    for count in TRIPS:
        same(load(text), model, np.int64(count), X[0], np.float32(1))
