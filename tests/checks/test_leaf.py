"""Leaves are checked against their schemas, declarations against inferred types."""

import pytest
from onnx.parser import parse_model

import treadle
from tests.checks.models import found, only

SCHEMAS = [
    ("Add(x)", "CF207", "Add-14 has 1 input, it takes at least 2"),
    ("Relu(x, x)", "CF207", "Relu-14 has 2 inputs, it takes at most 1"),
    ('Add("", x)', "CF207", 'the first input of Add, A, is "", it must be a value'),
    ("Concat(x, x)", "CF209", "Concat-13 has no attribute axis"),
    ("Concat<axis=0.5>(x, x)", "CF210", "axis is of kind float, wanted int"),
    ("Relu<alpha=0.5>(x)", "CF211", "Relu-14 knows no attribute alpha"),
    ('Gelu<approximate="fast">(x)', "CF214", 'approximate of Gelu-20 is "fast"'),
    ("Cast<to=10, saturate=2>(x)", "CF214", "saturate of Cast-21 is 2"),
    ("ReduceSum<keepdims=-1>(x)", "CF214", "keepdims of ReduceSum-13 is -1"),
    ("Softmax<axis=4294967296>(x)", "CF214", "axis of Softmax-13 is 4294967296"),
    ("Transpose<perm=[4294967296]>(x)", "CF214", "perm of Transpose-21 is (4294967296,)"),
    ("Cast<to=4294967297>(x)", "CF214", "to of Cast-21 is 4294967297"),
    ("Not(x)", "CF301", "x is float32[2], Not-1 does not accept this type for X"),
    ("Add(x, n)", "CF301", "n is int64[2] and x is tensor(float), Add wants both of one type"),
]


@pytest.mark.parametrize(("expression", "code", "message"), SCHEMAS)
def test_leaves_that_break_their_schema(expression, code, message):
    finding = only(f"g (float[2] x, int64[2] n) => (y) {{ y = {expression} }}")
    assert (finding.code, finding.message) == (code, message)
    assert finding.blocks is (code != "CF211")


def test_a_precision_that_the_standard_does_not_list():
    text = "y = Attention <softmax_precision = 7> (x, x, x)"
    model = f'<ir_version: 11, opset_import: ["" : 24]> g (float[1,1,2,2] x) => (y) {{ {text} }}'
    (finding,) = (each for each in treadle.check(parse_model(model)) if each.blocks)
    assert finding.code == "CF214"
    assert finding.message == "softmax_precision of Attention-24 is 7"


def test_an_operator_that_was_withdrawn():
    (finding, *_) = found("g (float[1,1,2,2] x, float[4] s) => (y) { y = Upsample(x, s) }")
    assert (finding.code, finding.blocks) == ("CF706", False)
    assert finding.message == "Upsample was withdrawn from the standard in opset 10"


def test_too_many_results():
    (finding,) = found("g (float[2] x) => (y) { y, z = Relu(x) }")
    assert (finding.code, finding.message) == ("CF208", "Relu-14 has 2 outputs, it takes at most 1")


def test_leaves_of_functions_are_looked_at_too():
    finding = only("""g (float[2] x) => (y) { y = local.f(x) }
        <opset_import: ["" : 21], domain: "local"> f (a) => (b) { b = Concat(a, a) }""")
    assert (finding.code, finding.path) == ("CF209", "local::f/concat_0")


IMPORTS = '<ir_version: 10, opset_import: ["": 21, "local": 1]>'
REFERENCES = [
    ("y = Concat<axis: int = @a>(x, x)", "", "CF212", "main/concat_0"),
    ("y = local.f<a: int = @b>(x)", "<a>", "CF212", "main/f_0"),
    ("y = local.f(x)", "<a>", "CF209", "main/f_0"),
    ("y = local.f<a = 0>(x)", "<b>", "CF213", "local::f/concat_0"),
]


@pytest.mark.parametrize(("expression", "declared", "code", "path"), REFERENCES)
def test_references_to_attributes_that_no_function_gives(expression, declared, code, path):
    source = f"""g (float[2] x) => (float[N] y) {{ {expression} }}
        <opset_import: ["" : 21], domain: "local">
        f {declared} (a) => (b) {{ b = Concat<axis: int = @a>(a, a) }}"""
    (finding,) = [each for each in found(source) if each.code == code]
    assert (finding.path, finding.blocks) == (path, True)


def test_a_reference_to_nothing_is_the_default_of_an_optional_attribute():
    finding = only("""g (float[2, 3] x) => (float[N, M] y) { y = local.f(x) }
        <opset_import: ["" : 21], domain: "local">
        f (a) => (b) { b = ReduceMax<keepdims: int = @keep>(a) }""")
    assert (finding.code, finding.blocks) == ("CF213", False)


@pytest.mark.parametrize("engines", [None, ("interp",), ("jit", "interp")])
def test_a_session_refuses_an_attribute_without_a_value(engines):
    source = f"""{IMPORTS} g (float[2, 3] x, bool c) => (float[N, M] y) {{
        y = If(c) <then_branch = a () => (p) {{ p = ReduceMax<keepdims: int = @k>(x) }},
                   else_branch = b () => (q) {{ q = ReduceMin<keepdims: int = @k>(x) }}> }}"""
    with pytest.raises(treadle.InvalidModel, match="CF212") as raised:
        treadle.InferenceSession(parse_model(source).SerializeToString(), engines=engines)
    assert "main/if_0.then_branch/reducemax_0" in str(raised.value)


def test_a_call_gives_no_more_than_its_function_takes():
    text = """g (float[2] x) => (y) {{ y{} = local.f(x{}) }}
        <opset_import: ["" : 21], domain: "local"> f (a) => (b) {{ b = Relu(a) }}"""
    assert not found(text.format("", ""))
    finding = only(text.format("", ", x"))
    assert (finding.code, finding.path) == ("CF705", "main/f_0")
    assert finding.message == "local::f is called with 2 inputs, it has 1"
    assert only(text.format(", z", "")).message == "local::f is called with 2 outputs, it has 1"


CLAIMS = [
    ("(float[3] y)", "Relu(x)", "CF304", "y is declared float32[3], it is float32[2]"),
    ("(float[2,2] y)", "Relu(x)", "CF304", "y is declared float32[2,2], it is float32[2]"),
    ("(int64[2] y)", "Relu(x)", "CF303", "y is declared int64[2], it is float32[2]"),
    ("(seq(float[2]) y)", "Relu(x)", "CF303", "y is declared seq(float32[2]), it is float32[2]"),
]


@pytest.mark.parametrize(("results", "expression", "code", "message"), CLAIMS)
def test_a_wrong_declaration_of_an_output(results, expression, code, message):
    finding = only(f"g (float[2] x) => {results} {{ y = {expression} }}")
    assert (finding.code, finding.message) == (code, message)
    assert not finding.blocks


def test_a_declared_type_of_an_if_that_neither_branch_has():
    finding = only("""g (bool C, float[2] x) => (float[5] y) {
        y = If (C) <then_branch = t () => (a) { a = Relu(x) },
                    else_branch = e () => (b) { b = Abs(x) }> }""")
    assert (finding.code, finding.blocks) == ("CF304", False)


def test_a_name_or_an_unknown_dim_contradicts_nothing():
    assert not found("g (float[2] x) => (float[N] y) { y = Relu(x) }")
    assert not found("g (float[N] x) => (float[2] y) { y = Relu(x) }")


def test_everything_wrong_is_found_at_once():
    findings = found("""g (int32 M, float s0) => (s) {
        s = Loop <body = b (int64 i, bool c, a) => (c, e) { e = Cast<to=7>(a) f = Not(a) }>
            (M, "", s0) }""")
    assert [finding.code for finding in findings] == ["CF401", "CF408", "CF301"]
