"""Findings from two iterations: stacked values, shapes, loops that never run or never end."""

import pytest

from tests.checks.models import every, found, only


def loop(body: str, given: str = 'M, ""', inputs: str = "int64 M, float[2,3] s0") -> str:
    return f"g ({inputs}) => (s, ys) {{ s, ys = Loop <body = b {body}> ({given}, s0) }}"


TURNS = "(int64 i, bool c, s) => (c, so, y) { so = Transpose(s) y = Identity(s) }"


def test_a_stacked_value_that_changes_its_shape():
    finding = only(loop(TURNS))
    assert (finding.code, finding.severity, finding.blocks) == ("CF411", "error", False)
    assert finding.path == "main/loop_0.body"
    assert finding.message == (
        "the stacked value y is float32[2,3] in iteration 0 and float32[3,2] in iteration 1"
    )


@pytest.mark.parametrize(
    ("grows", "first", "second"),
    [
        ("so = Concat<axis=1>(s, s) y = Identity(so)", "float32[N,6]", "float32[N,12]"),
        ("so = Identity(s) z = Unsqueeze(i, k) y = Expand(x, z)", "float32[0]", "float32[1]"),
        ("so = Identity(s) y = Range(zero, i, one)", "int64[0]", "int64[1]"),
    ],
)
def test_findings_for_values_that_grow(grows, first, second):
    finding = only(
        loop(
            f"""(int64 i, bool c, s) => (c, so, y) {{
            k = Constant<value_ints=[0]>() zero = Constant<value_int=0>()
            one = Constant<value_int=1>() x = Constant<value_float=1.0>() {grows} }}""",
            inputs="int64 M, float[N,3] s0",
        )
    )
    assert finding.code == "CF411"
    assert finding.message.endswith(f"is {first} in iteration 0 and {second} in iteration 1")


def test_growth_by_a_symbol_that_may_be_0_has_no_finding():
    body = "(int64 i, bool c, s) => (c, so, y) { so = Concat<axis=0>(s, s) y = Identity(s) }"
    assert not found(loop(body, inputs="int64 M, float[N,3] s0"))


@pytest.mark.parametrize(
    ("given", "inputs"),
    [
        ('one, ""', "int64 M, float[2,3] s0"),
        ('M, ""', "int64 M, float[3,3] s0"),
        ('M, ""', "int64 M, float[A,B] s0"),
        ('M, ""', "int64 M, float s0"),
        ("M, no", "int64 M, float[2,3] s0"),
    ],
)
def test_shapes_that_stay_or_may_stay_have_no_finding(given, inputs):
    start = "one = Constant<value_int=1>() no = Constant<value = bool {0}>()"
    text = loop(TURNS, given, inputs).replace("{ s, ys =", f"{{ {start} s, ys =")
    assert "CF411" not in {finding.code for finding in found(text)}


def test_a_body_that_stops_at_once_has_no_second_element():
    body = TURNS.replace("(c, so", "(no, so").replace("{", "{ no = Constant<value = bool {0}>() ")
    assert not [f for f in found(loop(body, "M, C", "int64 M, bool C, float[2,3] s0"))]


def test_trip_counts_of_inner_loops_are_not_mistaken_for_one_number():
    assert not found("""g (int64 M, bool C, float[2] s0) => (s, ys) {
        s, ys = Loop <body = outer (int64 i, bool c, s) => (c, so, y) {
            so = Identity(s)
            y = Loop <body = inner (int64 j, bool d) => (e, z) {
                e = Less(j, i) z = Identity(s) }> ("", C)
        }> (M, "", s0) }""")


GROWS = """g (int64 M, float[1] s0) => (s) {{
    s = Loop <body = b (int64 i, bool c, {} a) => (bool c2, {} e) {{
        c2 = Identity(c) e = {} }}> (M, "", s0) }}"""


@pytest.mark.parametrize(
    ("declared", "gives", "made", "warned"),
    [
        ("float[1]", "float[k]", "Concat<axis=0>(a, a)", True),
        ("float[n]", "float[n]", "Concat<axis=0>(a, s0)", True),
        ("float[n]", "float[m]", "Concat<axis=0>(a, s0)", False),
        ("float[1]", "float[1]", "Relu(a)", False),
        ("float[k]", "float[1]", "Relu(a)", False),
    ],
)
def test_a_carried_value_declared_with_its_first_shape(declared, gives, made, warned):
    text = GROWS.format(declared, gives, made)
    findings = found(text)
    assert [(f.code, f.severity) for f in findings] == ([("CF412", "warning")] if warned else [])


@pytest.mark.parametrize(
    ("given", "start", "why"),
    [
        ('zero, ""', "zero = Constant<value_int=0>()", "its trip count is 0"),
        ('less, ""', "one = Constant<value_int=1>() less = Neg(one)", "its trip count is -1"),
        ("M, no", "yes = Constant<value=bool{1}>() no = Not(yes)", "its condition is false"),
    ],
)
def test_a_loop_that_never_runs(given, start, why):
    finding = only(f"""g (int64 M, float s0) => (s) {{ {start}
        s = Loop <body = b (int64 i, bool c, a) => (c, e) {{ e = Relu(a) }}> ({given}, s0) }}""")
    assert (finding.code, finding.message) == ("CF413", f"the loop never runs: {why}")


def test_a_scan_over_an_empty_sequence_never_runs():
    finding = only("""g (float[0,2] x) => (ys) {
        ys = Scan <num_scan_inputs=1, body = b (a) => (e) { e = Relu(a) }> (x) }""")
    assert finding.code == "CF413"


@pytest.mark.parametrize(
    ("given", "goes_on", "endless"),
    [
        ('"", ""', "Identity(c)", True),
        ('"", C', "Identity(c)", True),
        ('"", C', "Constant<value=bool{1}>()", True),
        ("limit, C", "Constant<value=bool{1}>()", True),
        ('"", C', "Less(i, k)", False),
        ("M, C", "Identity(c)", False),
    ],
)
def test_a_loop_without_a_bound_is_found(given, goes_on, endless):
    text = f"""g (int64 M, bool C, float s0) => (s) {{
        limit = Constant<value_int=9223372036854775807>()
        s = Loop <body = b (int64 i, bool c, a) => (d, e) {{
            k = Constant<value_int=3>() d = {goes_on} e = Relu(a) }}> ({given}, s0) }}"""
    assert ["CF414"] * endless == [f.code for f in found(text)]


def test_an_input_with_a_default_is_not_known():
    assert not every("""g (int64 M = {0}, float s0) => (s) {
        s = Loop <body = b (int64 i, bool c, a) => (c, e) { e = Relu(a) }> (M, "", s0) }""")


def test_values_of_attribute_references_are_unknown():
    assert not found("""g (float x) => (y) { y = local.f <trips = 0, axis = 0> (x) }
        <domain: "local", opset_import: ["" : 21]>
        f <trips, axis> (a) => (b) {
            n = Constant <value_int: int = @trips> () s = Constant <value_ints = [1]> ()
            m = Concat <axis: int = @axis> (s, s) k = ReduceMax (m)
            b = Loop (n, "", a) <body = l (int64 i, bool c, p) => (c, q) { q = Add (p, p) }> }""")
