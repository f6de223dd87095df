"""Passes on values that loops append to or fill: they become stacked outputs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.simplify.models import cleaned, load, operators, run, same
from treadle.errors import TreadleError
from treadle.ir import Loop, ports, show_model, walk
from treadle.passes.simplify.concat_to_stack import concats_to_stacks
from treadle.passes.simplify.scatter_to_stack import scatters_to_stacks

TRIPS = (0, 1, 2, 5)
APPENDED = "growing concats converted to stacked outputs"
WRITTEN = "scatters of rows converted to stacked outputs"
X = np.float32([[1, 2, 3], [4, 5, 6]])


def carried(model):
    (loop,) = (visit.step for visit in walk(model) if isinstance(visit.step, Loop))
    return [port.param.name for port in ports(loop).carried]


GROWING = """g (int64 n, float[{first}] x, float[{row}] r, float s0)
    => (float[{last}] y, float s) {{
    z = Constant <value_ints = [0]> () total = ReduceSum <keepdims = 1> (x, z)
    y, s = Loop (n, "", x, s0) <body = b (int64 i, bool c, float[{last}] v, float k)
        => (bool d, float[{last}] v2, float k2) {{
        f = Cast <to = 1> (i) k2 = Add (k, f) e = Add ({of}, k2)
        v2 = Concat <axis = {axis}> ({operands}) {goes} }}> }}"""


def growing(
    first="2,3", row="1,3", axis=0, operands="v, e", goes="d = Identity (c)", last="a,b", of="r"
):
    return GROWING.format(
        first=first, row=row, axis=axis, operands=operands, goes=goes, last=last, of=of
    )


@pytest.mark.parametrize("trip", TRIPS)
@pytest.mark.parametrize("operands", ["v, e", "e, v"])
@pytest.mark.parametrize(
    ("first", "row", "axis"),
    [
        ((2, 3), (1, 3), 0),
        ((2, 3), (2, 1), 1),
        ((2, 3), (2, 2), -1),
        ((0, 3), (2, 3), 0),
        ((1, 2, 0), (1, 2, 2), 2),
    ],
)
def test_values_that_are_only_appended_to_become_stacks(first, row, axis, operands, trip):
    last = ",".join("abc"[: len(first)])
    sizes = [",".join(map(str, shape)) for shape in (first, row)]
    text = growing(*sizes, axis, operands, last=last)
    model, report = cleaned(text)
    assert report.counts[APPENDED] == 1
    assert carried(model) == ["k"]
    feeds = (np.int64(trip), np.ones(first, np.float32), np.ones(row, np.float32), np.float32(2))
    same(load(text), model, *feeds)


@pytest.mark.parametrize("operands", ["v, e", "e, v"])
@pytest.mark.parametrize("length", [0, 3])
def test_rows_whose_length_the_input_says_are_stacked_too(length, operands):
    text = growing(first="k,L", row="1", operands=operands, of="total")
    model, report = cleaned(text)
    assert report.counts[APPENDED] == 1
    x = np.ones((2, length), np.float32)
    for trip in TRIPS:
        same(load(text), model, np.int64(trip), x, np.ones(1, np.float32), np.float32(1))


INNER = """g (int64 n, float[2,1] x) => (float[2,a] y) {
    y = Loop (n, "", x) <body = b (int64 i, bool c, float[2,p] v) => (bool d, float[2,q] w) {
        d = Identity (c) two = Constant <value_int = 2> ()
        e = Loop (two, "", x) <body = b2 (int64 j, bool c2, float[2,1] u)
            => (bool d2, float[2,1] u2) { d2 = Identity (c2) u2 = Add (u, u) }>
        w = Concat <axis = 1> (v, e) }> }"""


@pytest.mark.parametrize("trip", TRIPS)
def test_rows_whose_rank_onnxruntime_does_not_know_are_stacked_too(trip):
    model, report = cleaned(INNER)
    assert report.counts[APPENDED] == 1
    same(load(INNER), model, np.int64(trip), X[:, :1])


CARRIED = {
    "strings": """g (int64 n, string[1] x) => (string[a] y) {
        y = Loop (n, "", x) <body = b (int64 i, bool c, string[p] v) => (bool d, string[q] w) {
            d = Identity (c) w = Concat <axis = 0> (v, x) }> }""",
    "the state of a scan": """g (float[0,3] x, float[2,1,3] r) => (float[a,b] y) {
        y = Scan <num_scan_inputs = 1, body = b (float[a,3] v, float[1,3] e) => (float[c,3] w) {
            w = Concat <axis = 0> (v, e) }> (x, r) }""",
}


@pytest.mark.parametrize("case", CARRIED)
def test_values_that_stay_carried(case):
    assert cleaned(CARRIED[case], concats_to_stacks)[1].done == ()


@pytest.mark.parametrize(
    ("opset", "axis", "stacked"), [(13, 0, False), (14, 0, True), (14, 1, False)]
)
def test_rows_of_any_length_need_a_reshape_that_keeps_zeros_and_a_rank(opset, axis, stacked):
    text = growing(first="k,L", row="1", axis=axis, of="total").replace("(x, z)", "(x, at)")
    text = text.replace("total =", f"at = Constant <value_ints = [{axis}]> () total =", 1)
    done = cleaned(text, concats_to_stacks, opset=opset)[1].done
    assert bool(done) == stacked


def test_a_loop_that_stops_early_has_appended_as_much():
    text = growing(goes="most = ReduceMax <keepdims = 0> (r) d = Less (k2, most)")
    model, report = cleaned(text)
    assert report.counts[APPENDED] == 1
    for most in (0, 3, 9):
        same(load(text), model, np.int64(9), X, np.full((1, 3), most, np.float32), np.float32(0))


@pytest.mark.parametrize(
    "changed",
    [
        {"operands": "v, v"},
        {"operands": "v, e, e"},
        {"row": "1,m"},
        {"row": ""},
        {"first": ""},
        {"row": "1,1,3"},
        {"row": "m,3"},
        {"row": "0,3"},
        {"goes": "d = Identity (c) u = Size (v)"},
        {"goes": "d = Identity (c) u = Size (v2)"},
        {"row": "3", "of": "r"},
        {"first": "2", "row": "1", "operands": "v, z"},
        {"first": "k,L", "row": "1,L"},
    ],
)
def test_tables_not_filled_in_order_stay_carried(changed):
    assert cleaned(growing(**changed), concats_to_stacks)[1].done == ()


def test_a_row_that_does_not_fit_still_fails():
    text = growing(row="1,2")
    model, report = cleaned(text)
    assert report.counts.get(APPENDED) is None
    with pytest.raises(TreadleError):
        run(model, {"n": 1, "x": X, "r": X[:1, :2], "s0": np.float32(1)})


TABLE = """g (int64 n, float[{table}] x, float[{row}] r, float most) => (float[{table}] y) {{
    four = Constant <value_int = 4> () two = Constant <value_int = 2> ()
    z = Constant <value_ints = [0]> () ones = Constant <value_ints = [1, 1]> ()
    y = Loop ({trip}, "", x) <body = b (int64 i, bool c, float[{table}] v)
        => (bool d, float[{table}] v2) {{
        f = Cast <to = 1> (i) e = Add (r, f)
        {index} v2 = ScatterND {how} ({operands}) {goes} }}> }}"""


def table(
    rows="4,3",
    row="1,3",
    trip="four",
    goes="d = Identity (c)",
    index="at = Reshape (i, ones)",
    how="",
    operands="v, at, e",
):
    return TABLE.format(
        table=rows, row=row, trip=trip, goes=goes, index=index, how=how, operands=operands
    )


@pytest.mark.parametrize("goes", ["d = Identity (c)", "d = Less (f, most)"])
@pytest.mark.parametrize(
    ("rows", "row", "index"),
    [
        ((4, 3), (1, 3), "at = Reshape (i, ones)"),
        ((4,), (1,), "at = Reshape (i, ones)"),
        ((4, 3), (3,), "at = Unsqueeze (i, z)"),
        ((4,), (), "at = Unsqueeze (i, z)"),
        ((6, 2, 3), (1, 2, 3), "j = Add (i, two) at = Reshape (j, ones)"),
        ((7, 1), (1, 1), "j = Sub (i, two) k = Add (four, j) at = Reshape (k, ones)"),
    ],
)
def test_a_table_that_is_only_written_is_stacked(rows, row, index, goes):
    sizes = [",".join(map(str, shape)) for shape in (rows, row)]
    text = table(*sizes, index=index, goes=goes).replace("float[]", "float")
    model, report = cleaned(text)
    assert report.counts[WRITTEN] == 1
    assert "ScatterND" not in show_model(model)
    x = np.arange(np.prod(rows), dtype=np.float32).reshape(rows)
    for most in (-1, 0, 2, 9):
        same(load(text), model, np.int64(0), x, np.ones(row, np.float32), np.float32(most))


def test_a_table_that_is_written_as_a_whole_is_its_rows():
    assert operators(cleaned(table())[0])[-2:] == ["Loop", "Reshape"]


def test_a_scan_that_counts_writes_a_table_too():
    text = """g (float[4,3] x, float[3,1,3] r) => (int64 k, float[4,3] y) {
        one = Constant <value_int = 1> () ones = Constant <value_ints = [1, 1]> ()
        k, y = Scan <num_scan_inputs = 1, body = b (int64 i, float[4,3] v, float[1,3] e)
            => (int64 j, float[4,3] w) {
            j = Add (i, one) at = Reshape (i, ones) w = ScatterND (v, at, e) }> (one, x, r) }"""
    model, report = cleaned(text, scatters_to_stacks)
    assert report.counts[WRITTEN] == 1
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    same(load(text), model, x, -x[1:].reshape(3, 1, 3))


def test_a_table_of_a_loop_that_may_not_begin_keeps_its_rows():
    text = (
        table()
        .replace('(four, "", x)', "(four, go, x)")
        .replace("ones =", "go = Less (most, r0) ones =", 1)
        .replace("two = C", "r0 = ReduceMax <keepdims = 0> (r) two = C", 1)
    )
    model, report = cleaned(text)
    assert report.counts[WRITTEN] == 1
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    for most in (0, 9):
        same(load(text), model, np.int64(0), x, np.ones((1, 3), np.float32), np.float32(most))


@pytest.mark.parametrize(
    "changed",
    [
        {"trip": "n"},
        {"rows": "3,3"},
        {"rows": "t,3"},
        {"row": "1,k"},
        {"row": "1,1"},
        {"operands": "x, at, e"},
        {"rows": "4,1", "row": "1,1", "operands": "v, at, at"},
        {"how": '<reduction = "add">'},
        {"goes": "d = Identity (c) u = Size (v)"},
        {"goes": "d = Identity (c) u = Size (v2)"},
        {"index": "j = Sub (two, i) at = Reshape (j, ones)"},
        {"index": "j = Sub (i, two) at = Reshape (j, ones)"},
        {"index": "j = Add (i, two) at = Reshape (j, ones)"},
        {"index": "j = Mul (i, i) at = Reshape (j, ones)"},
    ],
)
def test_a_table_that_is_more_than_rows_in_order_is_carried(changed):
    assert cleaned(table(**changed), scatters_to_stacks)[1].done == ()
