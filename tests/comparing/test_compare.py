"""The first difference: culprits, iterations, matching, and errors for invalid sides."""

import numpy as np
import pytest

import treadle
from tests.passes.test_exposing import FEEDS, INNER, NESTED, RAGGED
from treadle.errors import InputError, InputTypeError

FEEDS_6 = {**FEEDS, "t": np.array(6)}
K2 = "main/loop_1.body/loop_1.body/k2"


@pytest.mark.parametrize("runtime", ["treadle", "jit", "onnxruntime", "interp"])
def test_a_model_agrees_with_itself_in_another_runtime(runtime):
    found = treadle.compare((NESTED, runtime), (NESTED, "interp"), FEEDS)
    assert found
    assert found.first is None
    assert found.matched == "matched 9 of 9 (9 by name)"


def test_the_culprit_is_the_step_whose_inputs_agree():
    bad = NESTED.replace("k2 = Add (k, x)", "k2 = Sub (k, x)")
    found = treadle.compare(bad, NESTED, FEEDS)
    assert not found
    first = found.first
    assert first.path == "main/loop_1.body/loop_1.body/sub_1"
    assert (first.value, first.iterations, first.index) == (K2, (0, 0), (0,))
    assert first.inputs["k"][0].tolist() == [1, 2]
    assert "its inputs agree" in str(found)
    assert found.growth("k2").tolist() == [8, 16, 24, 32]


def test_a_loop_that_runs_more_often_is_the_culprit():
    bad = RAGGED.replace("q = Loop (i, , i)", "q = Loop (one, , i)")
    first = treadle.compare(bad, RAGGED, FEEDS_6).first
    assert first.path == INNER
    assert first.iterations == (0, 0)


def test_a_branch_whose_sides_are_exchanged_is_the_culprit():
    model = """<ir_version: 10, opset_import: ["" : 21]>
g (float[2] x, bool c) => (float[2] y) {
    y = If (c) < then_branch = a () => (float[2] p) { p = Neg (x) },
                 else_branch = b () => (float[2] q) { q = Abs (x) } >
}"""
    bad = model.replace("then_branch", "?").replace("else_branch", "then_branch")
    bad = bad.replace("?", "else_branch")
    feeds = {"x": np.float32([1, 2]), "c": np.array(True)}
    assert treadle.compare(bad, model, feeds).first.path == "main/if_0"


def test_an_unrolled_model_is_matched_by_provenance():
    model = NESTED.replace("int64 t", "float z").replace("(t, , x)", "(two, , x)")
    unrolled = treadle.unroll(model)
    found = treadle.compare(unrolled, model, {"x": FEEDS["x"], "z": np.float32(0)})
    assert found
    assert any(m.how == "provenance" and m.wanted == K2 for m in found.matches)


def test_recorded_activations_are_matched_by_name_and_by_data(tmp_path):
    recorder = treadle.Recorder(select="k2")
    treadle.InferenceSession(NESTED).run(None, FEEDS, listener=recorder)
    assert treadle.compare(NESTED, recorder, FEEDS, values="k2")
    file = tmp_path / "seen.npz"
    np.savez(
        file, **{"states": recorder.column("k2").rows(), "states@at": recorder.column("k2").at}
    )
    found = treadle.compare(NESTED, str(file), FEEDS)
    assert [(m.got, m.how) for m in found.matches] == [(K2, "data")]
    bad = NESTED.replace("k2 = Add (k, x)", "k2 = Sub (k, x)")
    assert treadle.compare(bad, file, FEEDS, names={"k2": "states"}).first.iterations == (0, 0)


@pytest.mark.parametrize(
    ("side", "error", "words"),
    [
        ((NESTED, "tensorrt"), InputError, 'is "tensorrt", known: treadle'),
        (3, InputTypeError, "the second side is an int"),
        ("none.npz", InputError, "none.npz cannot be read"),
    ],
)
def test_invalid_sides_are_errors(side, error, words):
    with pytest.raises(error, match=words):
        treadle.compare(NESTED, side, FEEDS)


def test_unknown_names_are_errors():
    with pytest.raises(InputError, match='the first side has no "k3"'):
        treadle.compare(NESTED, NESTED, FEEDS, names={"k3": "k2"})
    with pytest.raises(InputError, match="nothing matches"):
        treadle.compare(NESTED, NESTED, FEEDS, values="k3")
