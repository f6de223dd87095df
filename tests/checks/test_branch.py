"""Findings on the types of an If's values."""

import pytest

from tests.checks.models import found, only


def choice(then, otherwise, condition="bool C", opset=21):
    return (
        f"""g ({condition}, float[2] x, float[3] z, int64[2] n) => (y) {{
        y = If (C) <then_branch = t () => (a) {{ a = {then} }},
                    else_branch = e () => (b) {{ b = {otherwise} }}> }}""",
        opset,
    )


@pytest.mark.parametrize(
    ("model", "code", "message"),
    [
        (("Relu(x)", "Relu(x)", "int64 C"), "CF602", "the condition C is int64[], wanted bool[]"),
        (("Relu(x)", "Relu(x)", "bool[2] C"), "CF603",
         "the condition C is bool[2], wanted one element"),
        (("Relu(x)", "Relu(x)", "bool[0] C"), "CF603",
         "the condition C is bool[0], wanted one element"),
        (("Relu(x)", "Abs(n)"), "CF604",
         "output 0 is float32[2] in the then_branch (a) and int64[2] in the else_branch (b)"),
        (("Relu(x)", "SequenceConstruct(x)"), "CF604",
         "output 0 is float32[2] in the then_branch (a) and seq(float32[2]) in the else_branch"
         " (b)"),
        (("Identity(x)", "Identity(z)", "bool C", 10), "CF605",
         "output 0 is float32[2] in the then_branch (a) and float32[3] in the else_branch (b)"),
    ],
)  # fmt: skip
def test_branches_that_disagree_are_findings(model, code, message):
    finding = only(*choice(*model))
    assert (finding.code, finding.path, finding.message) == (code, "main/if_0", message)
    assert finding.blocks


@pytest.mark.parametrize("opset", [11, 13, 16, 25])
def test_shapes_may_differ_from_11_on(opset):
    assert not found(*choice("Identity(x)", "Identity(z)", "bool C", opset))


def test_a_fault_in_a_branch_that_may_never_run_does_not_block():
    (finding,) = found(*choice("Relu(x)", "Add(x, z)"))
    assert (finding.code, finding.severity, finding.blocks) == ("CF306", "warning", False)
    assert finding.path == "main/if_0.else_branch/add_0"


def test_the_same_fault_outside_blocks():
    finding = only("g (float[2] x, float[3] z) => (y) { y = Add(x, z) }")
    assert (finding.code, finding.path, finding.blocks) == ("CF305", "main/add_0", True)
    assert "Add-14 refuses its operands" in finding.message
