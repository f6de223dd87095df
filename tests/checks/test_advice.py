"""Advice: findings for valid models that could be written better."""

import pytest

import treadle
from tests.checks.models import advised, every


def loop(carried: str, body: str, start: str = "") -> str:
    names = [f"r{k}" for k in range(carried.count(",") + 1)]
    return f"""g (int64 M, float[64] x) => ({names[0]}) {{ {start}
        {", ".join(names)} = Loop <body = b (int64 i, bool c, {body}> (M, "", {carried}) }}"""


ADVICE = {
    "a carried value nothing depends on": (
        "x, x", "a, d) => (c, e, f) { e = Relu(a) f = Add(d, a) }",
        "CF415", "nothing depends on the carried value d"),
    "work that is the same in every iteration": (
        "x", "a) => (c, e) { k = Exp(x) l = Sqrt(k) e = Add(a, l) }",
        "CF417", "exp_0, sqrt_1: the same in every iteration"),
    "nodes that nothing reads": (
        "x", "a) => (c, e) { e = Relu(a) k = Abs(e) l = Neg(k) }",
        "CF107", "nothing reads the results of neg_2, abs_1"),
}  # fmt: skip


@pytest.mark.parametrize("case", ADVICE)
def test_advice_for_the_body_of_a_loop(case):
    initial, body, code, message = ADVICE[case]
    assert advised(loop(initial, body)) == [(code, "main/loop_0.body", message)]


def test_a_carried_value_another_one_depends_on_is_alive():
    assert not advised(loop("x, x", "a, d) => (c, e, f) { e = Add(a, d) f = Neg(d) }"))


def test_a_carried_value_the_condition_depends_on_is_alive():
    assert not advised("""g (int64 M, bool C, int64 n, float x) => (s) {
        s, rest = Loop <body = b (int64 i, bool c, a, k) => (d, e, f) {
            e = Relu(a) f = Sub(k, i) d = Less(i, f) }> (M, C, x, n) }""")


def test_an_unread_stacked_value():
    text = loop("x", "a) => (c, e, e) { e = Relu(a) }").replace("r0 = Loop", "r0, ys = Loop")
    assert [code for code, *_ in advised(text)] == ["CF415"]
    assert not advised(text.replace("=> (r0)", "=> (r0, ys)"))


@pytest.mark.parametrize("given", ["d", "same"])
def test_a_carried_value_that_never_changes(given):
    text = loop(
        "x, x, x",
        f"a, d, h) => (c, e, {given}, h) {{ e = Add(a, d) same = Identity(d) }}",
    ).replace("=> (r0)", "=> (r0, r1, r2)")
    codes = [each for each in advised(text) if each[0] == "CF416"]
    assert codes == [("CF416", "main/loop_0.body", "the carried values d, h never change")]


def test_two_carried_values_that_swap_do_change():
    text = loop("x, x", "a, d) => (c, d, a) { }").replace("=> (r0)", "=> (r0, r1)")
    assert not advised(text)


@pytest.mark.parametrize(
    "body",
    [
        "a) => (c, e) { k = RandomUniformLike(x) e = Add(a, k) }",
        "a) => (c, e) { k = Cast<to=1>(i) l = Add(x, k) e = Add(a, l) }",
        "a) => (c, e) { k = Shape(x) l = Reshape(x, k) e = Add(a, l) }",
        "a) => (c, e) { k = Constant<value_float=2.0>() l = Exp(k) e = Add(a, l) }",
    ],
)
def test_no_advice_for_work_that_differs_or_costs_nothing(body):
    assert not advised(loop("x", body))


@pytest.mark.parametrize(
    ("step", "start"),
    [
        ("Concat<axis=0>(a, x)", "s0 = Identity(x)"),
        ("Concat<axis=0>(x, a)", "s0 = Identity(x)"),
        ("SequenceInsert(a, x)", "s0 = SequenceConstruct(x)"),
    ],
)
def test_advice_for_a_carried_value_that_is_copied_to_grow(step, start):
    text = loop("s0", f"a) => (c, e) {{ e = {step} }}", start)
    ((code, path, message),) = advised(text)
    assert (code, path) == ("CF418", "main/loop_1.body")
    assert message.startswith("a grows by ")


@pytest.mark.parametrize(
    "body",
    [
        "a) => (c, e) { z = Constant<value_int=0>() e = SequenceInsert(a, x, z) }",
        "a) => (c, e) { n = SequenceLength(a) f = Cast<to=1>(n) y = Add(x, f)"
        " e = SequenceInsert(a, y) }",
    ],
)
def test_no_advice_for_growth_without_a_cheaper_form(body):
    assert not advised(loop("s0", body, "s0 = SequenceConstruct(x)"))


@pytest.mark.parametrize(("truth", "never"), [("1", "else_branch"), ("0", "then_branch")])
def test_an_if_on_a_constant(truth, never):
    text = f"""g (float x) => (y) {{ k = Constant<value=bool{{{truth}}}>() n = Not(k) b = Not(n)
        y = If (b) <then_branch = t () => (a) {{ a = Relu(x) }},
                    else_branch = e () => (b2) {{ b2 = Abs(x) }}> }}"""
    ((code, path, message),) = advised(text)
    assert (code, path) == ("CF606", "main/if_3")
    assert message.endswith(f"the {never} never runs")


FUNCTION = '<opset_import: ["" : 21], domain: "local"> f (a) => (b) { b = Relu(a) }'


def functions(node: str, *more: str) -> list[tuple[str, str]]:
    imports = '["" : 21, "local" : 1, "com.microsoft" : 1]'
    graph = f"g (float[2] x) => (float[2] y) {{ y = {node} }}"
    text = f"<ir_version: 10, opset_import: {imports}>\n{graph}"
    return [(finding.code, finding.severity) for finding in treadle.check("\n".join([text, *more]))]


def test_functions_that_are_missing_or_not_called():
    assert functions("local.f(x)", FUNCTION) == []
    assert functions("local.f(x)") == [("CF707", "warning")]
    assert functions("local.ff(x)", FUNCTION) == [("CF707", "warning"), ("CF708", "advice")]
    assert functions("com.microsoft.Gelu(x)") == []


def test_a_missing_import_is_found_in_a_branch():
    findings = every("""g (bool C, float[2] x) => (y) {
        y = If (C) <then_branch = t () => (a) { a = ai.onnx.ml.Scaler(x) },
                    else_branch = e () => (b) { b = Abs(x) }> }""")
    assert [(f.code, f.path) for f in findings] == [("CF702", "main/if_0.then_branch/scaler_0")]
