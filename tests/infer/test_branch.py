"""Branches: the union tables of If, and constant conditions."""

import pytest

from tests.infer.models import typed

UNIONS = [
    ("[2]", "[2]", "[2]"),
    ("[2]", "[3]", "[?]"),
    ("[2]", "[N]", "[?]"),
    ("[N]", "[2]", "[?]"),
    ("[N]", "[N]", "[N]"),
    ("[N]", "[K]", "[?]"),
    ("[N]", "[?]", "[?]"),
    ("[?]", "[N]", "[?]"),
    ("[2]", "", "[*]"),
    ("[2]", "[2,3]", "[*]"),
    ("[2,3]", "[2,N]", "[2,?]"),
    ("", "", "[]"),
]
"""then, else, what holds of both: at every version, since nothing at run time holds them equal."""


def union(then, otherwise, opset, condition="C"):
    return typed(
        f"""g (bool C, float{then} x, float{otherwise} z) => (y) {{
        no = Constant<value = bool {{0}}>()
        y = If ({condition}) <then_branch = t () => (a) {{ a = Identity(x) }},
                   else_branch = e () => (b) {{ b = Identity(z) }}> }}""",
        opset,
    )["y"].removeprefix("float32")


@pytest.mark.parametrize("opset", [10, 12, 13, 21])
@pytest.mark.parametrize(("then", "otherwise", "both"), UNIONS)
def test_a_result_has_the_join_of_both_types(then, otherwise, both, opset):
    assert union(then, otherwise, opset) == both


def test_of_a_constant_condition_only_the_taken_branch_counts():
    assert union("[2,3]", "[N]", 21, "no") == "[N]"


@pytest.mark.parametrize("branch", ["then", "else"])
def test_unknown_rank_on_either_side_is_unknown_rank(branch):
    names = ("u", "x") if branch == "then" else ("x", "u")
    found = typed(f"""g (bool C, float x, int64[?] shape) => (y) {{
        k = Shape(shape) n = ConstantOfShape(k) u = Reshape(x, shape)
        y = If (C) <then_branch = t () => (a) {{ a = Identity({names[0]}) }},
                   else_branch = e () => (b) {{ b = Identity({names[1]}) }}> }}""")
    assert found["u"] == found["y"] == "float32[*]"


BRANCHES = {
    "sequences and optionals are joined inside": ("""g (bool C, float[2] x, float[3] z) => (s, o) {
        s, o = If (C) <
            then_branch = t () => (a, p) { a = SequenceConstruct(x) p = Optional(x) },
            else_branch = e () => (b, q) { b = SequenceConstruct(z) q = Optional(z) }> }""",
         {"s": "seq(float32[?])", "o": "optional(float32[?])"}),
    "a condition computed from known shapes is constant": ("""g (float[2,3] x, float[5] z) => (y) {
        shape = Shape(x) rank = Size(shape) two = Constant<value_int=2>() is = Equal(rank, two)
        y = If (is) <then_branch = t () => (a) { a = Relu(x) },
                     else_branch = e () => (b) { b = Relu(z) }> }""", {"y": "float32[2,3]"}),
}  # fmt: skip
"""The text of a model, and the types that values must have."""


@pytest.mark.parametrize("case", BRANCHES)
def test_types_of_branches(case):
    text, wanted = BRANCHES[case]
    found = typed(text)
    assert {name: found[name] for name in wanted} == wanted
