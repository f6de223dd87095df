"""Bodies become closed: captures become operands, and faulty names give findings."""

import pytest

from treadle import formats
from treadle.formats.onnx import to_text
from treadle.ir import Branch, Loop, ports

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'


def read(text):
    return formats.read(HEAD + text)


def codes(findings):
    return [found.code for found in findings]


def test_captures_at_any_depth_become_invariants():
    model, findings = read(
        "g (int64 M, bool C, float[n] x) => (r) {"
        " r = Loop <body = b (int64 i, bool c, float[n] s) => (bool co, float[n] so) {"
        "  co = Identity(c)"
        "  so = If (C) <then_branch = t () => (float[n] a) { a = Add(s, x) },"
        '   else_branch = e () => (float[n] d) { d = Mul(s, s) }> }> (M, "", x) }'
    )

    (loop,) = model.main.steps
    assert isinstance(loop, Loop)
    assert findings == []
    assert [port.param.name for port in ports(loop).invariants] == ["C", "x"]
    branch = loop.body.steps[1]
    assert isinstance(branch, Branch)
    assert [value.name for value in branch.operands] == ["s", "x"]
    assert [p.name for p in branch.then.params] == [p.name for p in branch.otherwise.params]
    assert branch.operands[1] is ports(loop).invariants[1].param


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("g (float[n] x) => (y) { y = Add(x, xx) }", "CF101", 'did you mean "x"'),
        ("g (float[n] x) => (z) { y = Add(x, x) }", "CF101", 'nothing defines "z"'),
        ("g (float[n] x) => (y) { y = Neg(z) z = Neg(y) }", "CF105", "before the node"),
        ("g (float[n] x) => (y) { y = Neg(x) y = Abs(x) }", "CF102", "twice"),
        (
            "g (bool C, float[n] x) => (y) { y = If (C) <then_branch = t () => (x) { },"
            " else_branch = e () => (d) { d = Neg(x) }> }",
            "CF104",
            "Identity",
        ),
        ("g (float[n] x) => (y) { y = Nag(x) }", "CF701", "did you mean Neg"),
        ("g (float[n] x) => (y) { y = nowhere.Neg(x) }", "CF702", '"nowhere"'),
    ],
)
def test_names_that_are_wrong(text, code, words):
    _, findings = read(text)

    assert code in codes(findings)
    assert any(words in str(found) for found in findings)


def test_shadowing_is_reported_and_the_inner_name_wins():
    model, findings = read(
        "g (bool C, float[n] x) => (y) { y = If (C)"
        " <then_branch = t () => (float[n] a) { x = Neg(x) a = Identity(x) },"
        "  else_branch = e () => (float[n] b) { b = Abs(x) }> }"
    )

    assert codes(findings) == ["CF103"]
    (branch,) = model.main.steps
    negation, identity = branch.then.steps
    assert negation.operands[0] is branch.then.params[0]
    assert identity.operands[0] is negation.results[0]


def test_a_captured_name_is_not_taken_by_an_inner_value():
    model, _ = read(
        "g (bool C, float[n] x) => (y) { y = If (C)"
        " <then_branch = t () => (float[n] a) { x = Neg(x) a = Identity(x) },"
        "  else_branch = e () => (float[n] b) { b = Abs(x) }> }"
    )

    again, findings = formats.read(to_text(model))

    assert findings == []
    assert [step.op for step in again.main.steps[0].then.steps] == ["Neg", "Identity"]


def test_a_body_nested_too_deep_is_a_finding():
    import onnx

    proto = onnx.ModelProto(ir_version=10)
    inner = proto.graph
    for _ in range(250):
        node = inner.node.add(op_type="If", input=["c"])
        inner = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g

    model, findings = formats.read(proto)

    assert model is None
    assert any("deep" in found.message for found in findings)


def test_a_model_with_unresolved_names_is_still_checked():
    import treadle

    found = treadle.check(
        HEAD
        + "g (int64 M, float[n] x) => (y, z) { z = Neg(nothing)\n"
        + " y = Loop <body = b (int64 i, bool c, float[n] s) => (bool co, int64[n] so)"
        + ' { co = Identity(c) so = Cast<to = 7>(s) }> (M, "", x) }'
    )

    blocking = {(each.code, each.path) for each in found if each.blocks}
    assert ("CF101", "main/neg_0") in blocking
    assert any(path.startswith("main/loop_1") for _, path in blocking)
