"""Loops that read outer tensors item by item become Scans where this is safe."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.simplify.models import cleaned, load, operators, same
from treadle.ir import Loop, Sliced, ports, walk
from treadle.passes.simplify.loop_to_scan import loops_to_scans

NAME = "loops converted to Scan"

READING = """g (int64 n, float[{shape}] x, float s0, bool go) => (float s, float[a,b,c] z) {{
    trip = Constant <value_int = {trip}> () one = Constant <value_ints = [1]> ()
    yes = Constant <value = bool {{1}}> () back = Constant <value_ints = [-1]> ()
    five = Constant <value_int = 5> () two = Constant <value_int = 2> ()
    axes = Constant <value_ints = [{axis}]> ()
    s, z = Loop ({count}, {first}, s0) <body = b (int64 i, bool c, float v)
        => (bool d, float t, float[p,q] e) {{
        {line} e = Exp (row) m = ReduceMax <keepdims = 0> (row) t = Add (v, m) {more} }}> }}"""
NEXT = "d = Constant <value = bool {1}> ()"


def reading(line, shape="5,2,3", axis=0, trip=5, count="trip", first='""', more=NEXT):
    return READING.format(
        line=line, shape=shape, axis=axis, trip=trip, count=count, first=first, more=more
    )


def only_loop(model):
    (loop,) = (visit.step for visit in walk(model) if isinstance(visit.step, Loop))
    return loop


X = np.arange(30, dtype=np.float32).reshape(5, 2, 3) / 10


@pytest.mark.parametrize(
    ("line", "trip", "role"),
    [
        ("row = Gather (x, i)", 5, Sliced(0)),
        ("row = Gather (x, i)", 3, Sliced(0)),
        ("j = Add (two, i) row = Gather (x, j)", 3, Sliced(0)),
        ("j = Sub (i, two) k = Add (j, five) row = Gather (x, k)", 2, Sliced(0)),
        ("k = Sub (five, i) l = Sub (k, two) row = Gather (x, l)", 4, Sliced(0, reverse=True)),
        ("k = Cast <to = 6> (i) row = Gather <axis = -3> (x, k)", 5, Sliced(0)),
        ("j = Unsqueeze (i, axes) k = Squeeze (j, axes) row = Gather (x, k)", 5, Sliced(0)),
    ],
)  # fmt: skip
def test_items_read_in_order_are_sliced(line, trip, role):
    text = reading(line, trip=trip)
    model, report = cleaned(text)
    assert report.counts[NAME] == 1
    assert [port.role for port in ports(only_loop(model)).sliced] == [role]
    assert "Gather" not in operators(model, "main/loop_6.body")
    same(load(text), model, np.int64(0), X, np.float32(1), True)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("ends", ["i + 1", "1 + i"])
def test_a_slice_of_one_item_is_an_item(axis, ends):
    order = "(j, one)" if ends == "i + 1" else "(one, j)"
    line = f"z0 = Constant <value_ints = [0]> () j = Unsqueeze (i, z0) k = Add {order}"
    line += " part = Slice (x, j, k, axes) row = Squeeze (part, axes)"
    text = reading(line, axis=axis, trip=2)
    model, report = cleaned(text)
    assert report.counts[NAME] == 1
    assert [port.role.axis for port in ports(only_loop(model)).sliced] == [axis % 3]
    same(load(text), model, np.int64(0), X, np.float32(1), True)


@pytest.mark.parametrize("trip", [5, 2000])
def test_a_body_that_reads_the_iteration_number_slices_a_range(trip):
    line = "f = Cast <to = 1> (i) raw = Gather (x, i) row = Mul (raw, f)"
    text = reading(line, shape=f"{trip},2,3", trip=trip)
    model, report = cleaned(text)
    assert report.counts[NAME] == 1
    assert len(ports(only_loop(model)).sliced) == 2
    x = np.full((trip, 2, 3), 1 / 2048, np.float32)
    same(load(text), model, np.int64(0), x, np.float32(1), True)


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("row = Gather (x, i)", {"count": "n"}),
        ("row = Gather (x, i)", {"trip": 6}),
        ("row = Gather (x, i)", {"shape": "L,2,3"}),
        ("row = Gather (x, i)", {"first": "go"}),
        ("row = Gather (x, i)", {"more": "d = Less (t, v)"}),
        ("row = Gather (x, i)", {"shape": "5,2,2049"}),
        ("j = Add (i, two) row = Gather (x, j)", {"trip": 4}),
        ("j = Sub (i, two) row = Gather (x, j)", {"trip": 3}),
        ("j = Sub (two, i) row = Gather (x, j)", {"trip": 4}),
        ("j = Mul (i, i) row = Gather (x, j)", {"trip": 2}),
        ("j = Mul (i, two) row = Gather (x, j)", {"trip": 2}),
        ("j = Max (two, i) row = Gather (x, j)", {"trip": 2}),
        ("y = Neg (x) y2 = Mul (y, v) row = Gather (y2, i)", {}),
        ("row = Gather (x, two)", {}),
        ("j = Unsqueeze (i, axes) r = Gather (x, j) row = Squeeze (r, axes)", {}),
        ("j = Unsqueeze (i, axes) r = Slice (x, j, five1, axes) row = Squeeze (r, axes)", {}),
        ("w = SequenceEmpty () w2 = SequenceInsert (w, x) row = SequenceAt (w2, i)", {}),
    ],
)  # fmt: skip
def test_items_that_may_be_missing_stay_read_by_index(line, changed):
    if "five1" in line:
        line = line.replace("j =", "five1 = Unsqueeze (five, axes) j =")
    model, report = cleaned(reading(line, **changed))
    assert NAME not in report.counts
    assert not ports(only_loop(model)).sliced


def test_a_loop_that_certainly_begins_becomes_a_scan():
    text = reading("row = Gather (x, i)", first="yes")
    model, report = cleaned(text)
    assert report.counts[NAME] == 1
    same(load(text), model, np.int64(0), X, np.float32(1), True)


@pytest.mark.parametrize(
    "line",
    [
        "f = Cast <to = 1> (c) raw = Gather (x, i) row = Mul (raw, f)",
        "j = Unsqueeze (i, axes) k = Add (j, one) p = Slice (x, j, k, axes, back)"
        " row = Squeeze (p, axes)",
    ],
)
def test_loops_that_scan_cannot_express_stay(line):
    assert cleaned(reading(line), loops_to_scans)[1].done == ()


def test_an_iteration_number_that_is_no_scalar_stays():
    text = reading("row0 = Gather (x, i) row = Squeeze (row0, axes)")
    text = text.replace("(int64 i, bool c", "(int64[1] i, bool c")
    assert cleaned(text, loops_to_scans)[1].done == ()


OLD = """g (float[3,2] x, float[2] s0) => (float[2] s, float[a,b] z) {
    n = Constant <value = int64 {3}> () one = Constant <value = int64[1] {1}> ()
    s, z = Loop (n, "", s0) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w,
        float[2] e) { d = Constant <value = bool {1}> () LINE w = Add (v, r) e = Neg (w) }> }"""
PART = """j = Unsqueeze <axes = [0]> (i) k = Add (j, one) p = Slice (x, j, k)
    r = Squeeze <axes = [0]> (p)"""


WITH_AXES = """at = Constant <value = int64[1] {0}> () j = Unsqueeze (i, at) k = Add (j, one)
    p = Slice (x, j, k) r = Squeeze (p, at)"""


@pytest.mark.parametrize(
    ("line", "opset", "sliced"),
    [("r = Gather (x, i)", 10, 0), ("r = Gather (x, i)", 11, 1), (PART, 12, 0), (WITH_AXES, 13, 1)],
)
def test_opsets_in_which_a_loop_becomes_a_scan(line, opset, sliced):
    text = OLD.replace("LINE", line)
    model, _ = cleaned(text, opset=opset)
    assert len(ports(only_loop(model)).sliced) == sliced
    same(load(text, opset), model, X[:3, 0, :2], X[0, 0, :2])


def test_stacked_elements_of_unlike_shapes_keep_the_loop():
    text = OLD.replace("LINE", "r = Gather (x, i)").replace("e = Neg (w)", "e = Range (o, i, u)")
    text = text.replace("float[2] e)", "int64[k] e)").replace("float[a,b] z", "int64[a,b] z")
    numbers = "o = Constant <value = int64 {0}> () u = Constant <value = int64 {1}> ()"
    text = text.replace("one =", f"{numbers} one =")
    assert cleaned(text, loops_to_scans)[1].done == ()


def test_a_state_that_changes_its_shape_stays_in_a_loop():
    text = """g (float[3] x, float[1] s0) => (float[a] s) {
        n = Constant <value_int = 3> ()
        s = Loop (n, "", s0) <body = b (int64 i, bool c, float[k] v) => (bool d, float[l] w) {
            d = Constant <value = bool {1}> () r = Gather (x, i) u = Add (v, r)
            w = Concat <axis = 0> (u, u) }> }"""
    assert NAME not in cleaned(text)[1].counts


def test_other_passes_come_first():
    text = reading("row = Gather (x, i)", more="o = Neg (v) " + NEXT)
    assert cleaned(text, loops_to_scans)[1].counts == {NAME: 1}
    names = [each.name for each in cleaned(text)[1].done]
    assert names.index(NAME) > names.index("dead steps eliminated")
