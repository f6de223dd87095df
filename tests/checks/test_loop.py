"""Findings on the types of a Loop's values."""

import pytest

from tests.checks.models import found, only

BAD = [
    ("CF401", "int32 M, bool C", "", "", "the trip count M is int32[], wanted int64[]"),
    ("CF402", "int64[2] M, bool C", "", "", "the trip count M is int64[2], wanted one element"),
    ("CF402", "int64[0] M, bool C", "", "", "the trip count M is int64[0], wanted one element"),
    ("CF403", "int64 M, int64 C", "", "", "the condition C is int64[], wanted bool[]"),
    ("CF404", "int64 M, bool[2] C", "", "", "the condition C is bool[2], wanted one element"),
    ("CF405", "int64 M, bool C", "int32", "",
     "the body declares its iteration number i as int32[], it is int64[]"),
    ("CF405", "int64 M, bool C", "int64[2]", "",
     "the body declares its iteration number i as int64[2], it is int64[]"),
    ("CF405", "int64 M, bool C", "", "float",
     "the body declares its condition c as float32[], it is bool[]"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "inputs", "iteration", "condition", "message"), BAD)
def test_trip_count_condition_and_iteration_number(code, inputs, iteration, condition, message):
    finding = only(f"""g ({inputs}, float s0) => (s) {{
        s = Loop <body = b ({iteration} i, {condition} c, a) => (d, e) {{
            d = Constant<value = bool {{1}}>() e = Relu(a) }}> (M, C, s0) }}""")
    assert (finding.code, finding.message) == (code, message)
    assert finding.blocks
    assert finding.path == ("main/loop_0.body" if code == "CF405" else "main/loop_0")


def test_one_element_of_any_rank_is_a_trip_count_and_a_condition():
    assert not found("""g (int64[1] M, bool[1,1] C, float s0) => (s) {
        s = Loop <body = b (int64[1] i, bool[1] c, a) => (c2, e) {
            c2 = Identity(c) e = Relu(a) }> (M, C, s0) }""")


@pytest.mark.parametrize(
    ("made", "code", "message"),
    [
        ("Cast<to=7>(a)", "CF406", "the body's first result d is int64[], wanted bool[]"),
        ("Constant<value = bool[2] {1,0}>()", "CF407",
         "the body's first result d is bool[2], wanted one element"),
    ],
)  # fmt: skip
def test_the_bodys_condition(made, code, message):
    finding = only(f"""g (int64 M, bool C, float s0) => (s) {{
        s = Loop <body = b (i, c, a) => (d, e) {{ d = {made} e = Relu(a) }}> (M, C, s0) }}""")
    assert (finding.code, finding.message, finding.path) == (code, message, "main/loop_0.body")


@pytest.mark.parametrize(
    ("made", "becomes"),
    [
        ("Cast<to=7>(a)", "int64[]"),
        ("SequenceConstruct(a)", "seq(float32[*])"),
    ],
)
def test_a_carried_value_keeps_its_type(made, becomes):
    finding = only(f"""g (int64 M, float s0) => (s) {{
        s = Loop <body = b (i, c, a) => (c, e) {{ e = {made} }}> (M, "", s0) }}""")
    assert finding.code == "CF408"
    assert finding.message == f"a starts as float32[] and becomes {becomes} (e)"


def test_only_tensors_can_be_stacked():
    finding = only("""g (int64 M, float s0) => (ys) {
        ys = Loop <body = b (i, c) => (c, e) { e = SequenceConstruct(s0) }> (M, "") }""")
    assert finding.code == "CF409"
    assert finding.message == "e is seq(float32[]), only tensors can be stacked"


def test_sequences_are_carried_from_13_on():
    text = """g (int64 M, float x) => (s) { s0 = SequenceConstruct(x)
        s = Loop <body = b (i, c, a) => (c, e) { e = SequenceInsert(a, x) }> (M, "", s0) }"""
    assert not found(text, 13)
    codes = {finding.code for finding in found(text, 12)}
    assert codes == {"CF302"}


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ("Less(i, k)", True),
        ("Constant<value = bool {0}>()", True),
        ("Constant<value = bool {1}>()", False),
        ("Identity(c)", False),
    ],
)
def test_an_omitted_condition_that_can_turn_false_is_a_warning(given, warned):
    text = f"""g (int64 M, float s0) => (s) {{
        s = Loop <body = b (int64 i, bool c, a) => (d, e) {{
            k = Constant<value_int=3>() d = {given} e = Relu(a) }}> (M, "", s0) }}"""
    findings = found(text)
    assert [(f.code, f.severity, f.blocks) for f in findings] == (
        [("CF410", "warning", False)] if warned else []
    )


def test_faults_of_inner_loops_have_their_path():
    finding = only("""g (int64 M, float s0) => (s) {
        s = Loop <body = outer (i, c, a) => (c, e) {
            r = Relu(a)
            e = Loop <body = inner (j, d, p) => (d, q) { q = Cast<to=7>(p) }> (M, "", r)
        }> (M, "", s0) }""")
    assert finding.path == "main/loop_0.body/loop_1.body"
