"""Models that OpenVINO IR cannot express are refused: every place, with a reason and advice."""

from __future__ import annotations

from pathlib import Path

import pytest

import treadle
from tests.formats.openvino.write.written import text
from treadle.errors import Finding, InvalidModel, Unsupported

IF = """
    y = If (c) <then_branch = then () => ({one} a) {{ a = Identity(x) }},
                else_branch = other () => ({two} b) {{ {body} }}>"""
NOT_TENSORS = text(
    "float[2] x, int64 n",
    "float[m, 2] y",
    """
    start = SequenceEmpty()
    first = Constant <value_int = 0> ()
    list = Loop <body = body (int64 i, bool go, seq(float[2]) s) => (bool go, seq(float[2]) next)
        { next = SequenceInsert(s, x, first) }> (n, "", start)
    y = ConcatFromSequence <axis = 0, new_axis = 1> (list)""",
)
VIEWS = "n = Constant <value_ints = [0]> () "
GROWING = """z = Constant <value_ints = [0]> ()
    y = Loop <body = body (int64 i, bool go, s) => (bool go, t)
        { t = Unsqueeze(s, z) }> (n, "", x)"""
TRAINING = "y, m, v = BatchNormalization <training_mode = 1> (x, s, s, s, s)"
FOREIGN = """<ir_version: 10, opset_import: ["" : 21, "local.lib" : 1]>
g (float[2] x) => (float[2] y) { z = local.lib.Solve(x) y = Neg(z) }"""
REFUSED = {
    "a sequence": (NOT_TENSORS, "OpenVINO IR holds tensors only", "scan output"),
    "an operator of another domain": (FOREIGN, "local.lib::Solve", "replace it by others"),
}
REFUSED |= {
    "an axis that the operand does not have": (
        text("float[2] x, int64[2] i", "y", "y = ScatterElements <axis = 5> (x, i, x)"),
        "input 0 has rank 1, and no axis 5", "",
    ),
    "a carried value without an initial value": (
        """<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
        g (float x) => (y) { y = local.f () }
        <domain: "local", opset_import: ["" : 21]>
        f (a) => (b) {
            c = Constant <value_int = 3> ()
            b = Loop (c, "", a) <body = body (int64 i, bool q, float z) => (q, w) { w = Relu (z) }>
        }""",
        "z, which it carries, has no initial value", "",
    ),
}  # fmt: skip
REFUSED |= {
    name: (text(inputs, outputs, body), why, hint)
    for name, inputs, outputs, body, why, hint in (
        ("an optional", "float[2] x", "bool y", "o = Optional(x) y = OptionalHasElement(o)",
         "optional(float32[2])", "the value itself"),
        ("text", "string[2] x", "string[2] y", "y = StringNormalizer(x)",
         "OpenVINO has no string", None),
        ("text computed", "float[2] x", "string[2] y", "y = Cast <to = 8> (x)",
         "no operators on strings", None),
        ("random numbers", "float[2] x", "float[2] y", "r = RandomUniformLike(x) y = Add(r, x)",
         "different random numbers", "input of the model"),
        ("branches of two ranks", "bool c, float[2] x", "y",
         VIEWS + IF.format(one="float[2]", two="float[1, 2]", body="b = Unsqueeze(x, n)"),
         "output 0 is float32[2] and float32[1,2]", "give both sides one rank"),
        ("a carried value of growing rank", "int64 n, float[2] x", "y", GROWING,
         "s changes its rank from iteration to iteration", "keep the rank"),
        ("an input of unknown rank", "float x, y0", "y", "y = Add(x, y0)",
         "the element type of y0 is not known", "declare it"),
        ("a complex number", "complex64[2] x", "complex64[2] y", "y = Identity(x)",
         "OpenVINO has no complex64", None),
        ("training", "float[1, 2] x, float[2] s", "float[1, 2] y", TRAINING,
         "training mode", "for inference"),
        ("a hidden size below 0", "float[4,2,2] x, float[1,2,2] w, float[1,2,k] r", "y",
         "y = RNN <hidden_size = -2> (x, w, r)", "its hidden_size is -2", None),
        ("weights of another hidden size", "float[4,2,2] x, float[1,2,2] r", "y",
         "w = Constant <value = float[1,3,2] {0,0,0,0,0,0}> ()"
         "y = RNN <hidden_size = 2> (x, w, r)", "operand 1 is 1x3x2, hidden_size is 2", None),
        ("axes that are computed", "float[2, 1] x, int64[1] a", "y", "y = Squeeze(x, a)",
         "its axes are computed", "make the axes a constant"),
    )
}  # fmt: skip
"""Models, why they are refused, and what would help, None where nothing does."""


def refusals(model: str, folder: Path) -> tuple[Finding, ...]:
    with pytest.raises(Unsupported) as caught:
        treadle.save(model, folder / "model.xml")
    assert not list(folder.iterdir()), "nothing is written of what is refused"
    return caught.value.findings


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_models_are_refused_with_a_reason(name: str, tmp_path: Path) -> None:
    model, why, hint = REFUSED[name]
    found = refusals(model, tmp_path)
    assert {each.code for each in found} == {"OV001"}
    assert all(each.path for each in found)
    (told,) = [each for each in found if why in each.message][:1]
    assert hint in told.hint if hint else not told.hint


def test_branches_of_two_element_types_are_no_valid_model(tmp_path: Path) -> None:
    body = IF.format(one="float[2]", two="int64[2]", body="b = Cast <to = 7> (x)")
    told = r"CF604 error main/if_0: output 0 is float32\[2\] .* and int64\[2\]"
    with pytest.raises(InvalidModel, match=told):
        treadle.save(text("bool c, float[2] x", "y", body), tmp_path / "model.xml")


def test_all_refusals_are_reported_at_once(tmp_path: Path) -> None:
    body = """
    a = RandomUniformLike(x)
    b = If (c) <then_branch = then () => (float[2] d)
        { e = RandomUniformLike(x) d = Neg(e) },
                else_branch = other () => (float[2] f) { f = Bernoulli(x) }>
    g = Add(a, b)
    y = RandomNormalLike(g)"""
    found = refusals(text("bool c, float[2] x", "float[2] y", body), tmp_path)
    assert [each.path for each in found] == [
        "main/randomuniformlike_0",
        "main/if_1.then_branch/randomuniformlike_0",
        "main/if_1.else_branch/bernoulli_0",
        "main/randomnormallike_3",
    ]


def test_unread_steps_are_not_refused(tmp_path: Path) -> None:
    body = "s = SequenceConstruct(x) r = RandomUniformLike(x) y = Neg(x)"
    treadle.save(text("float[2] x", "float[2] y", body), tmp_path / "model.xml")
    assert (tmp_path / "model.bin").exists()


def test_a_branch_that_is_never_taken_is_not_refused(tmp_path: Path) -> None:
    body = "c = Constant <value = bool {1}> ()" + IF.format(
        one="float[2]", two="float[2]", body="b = RandomUniformLike(x)"
    )
    treadle.save(text("float[2] x", "y", body), tmp_path / "model.xml")
    assert "RandomUniform" not in (tmp_path / "model.xml").read_text()
