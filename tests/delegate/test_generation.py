"""Operators that generate tokens with their own graphs run whole in onnxruntime."""

import numpy as np
import onnx
import pytest

import treadle
from treadle.errors import Unsupported
from treadle.report.call import show_call, summarize_call

TEXT = """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
g (int32[2,2] NAME, int32[1] most, int32[1] least, float[2] x)
    => (int32[2,8] sequences, float[2] y) {
    sequences = com.microsoft.GreedySearch <
        eos_token_id = 10, pad_token_id = 0, model_type = 0, vocab_size = 11,
        decoder = decoder (int32[b,n] input_ids, int32[b,n] position_ids,
                           int32[b,t] attention_mask, float[2,b,1,p,1] past_0)
            => (float[b,n,11] logits, float[2,b,1,t,1] present_0)
            <int64[1] two = {2}, int64[1] one = {1}, int64[1] zero = {0}> {
                next = Add(input_ids, step)
                depth = Constant<value = int32 {11}>()
                hot = Constant<value = float[2] {0, 9}>()
                logits = OneHot(next, depth, hot)
                shape = Shape(input_ids)
                batch = Gather(shape, zero)
                length = Gather(shape, one)
                new = Concat<axis = 0>(two, batch, one, length, one)
                zeros = ConstantOfShape(new)
                present_0 = Concat<axis = 3>(past_0, zeros) }
        > (NAME, most, least)
    step = Constant<value = int32 {1}>()
    y = Relu(x) }"""
"""The token after `n` is `n + 1`, 10 is the end; the decoder reads `step` from outside."""

FEEDS = {
    "most": np.int32([8]),
    "least": np.int32([1]),
    "x": np.float32([1, -1]),
}
IDS = np.int32([[1, 2], [3, 4]])
WANTED = [[1, 2, 3, 4, 5, 6, 7, 8], [3, 4, 5, 6, 7, 8, 9, 0]]


def model(name="ids"):
    """With `step` defined before it is read, as the standard wants it."""
    proto = onnx.parser.parse_model(TEXT.replace("NAME", name))
    first = proto.graph.node.pop(1)
    proto.graph.node.insert(0, first)
    return proto


def tokens(source, name="ids"):
    return treadle.InferenceSession(source).run(None, {**FEEDS, name: IDS})[0].tolist()


@pytest.mark.parametrize("name", ["ids", "input_ids"])
def test_a_generation_operator_runs_with_names_of_its_own(name):
    assert tokens(model(name), name) == WANTED
    assert not treadle.check(model(name))
    repaired, mended = treadle.repair(model(name))
    assert mended == []
    assert tokens(repaired, name) == WANTED


@pytest.mark.parametrize("change", [treadle.infer, treadle.optimize, treadle.load])
@pytest.mark.parametrize("suffix", [".onnx", ".onnxtxt"])
def test_a_generation_operator_round_trips(change, suffix, tmp_path):
    path = tmp_path / f"m{suffix}"
    treadle.save(change(model("input_ids")), path)
    assert tokens(path, "input_ids") == WANTED
    step = next(step for step in treadle.load(path).main.steps if step.info.op == "GreedySearch")
    names = [value.name for value in step.blocks["decoder"].params[:4]]
    assert names == ["input_ids", "position_ids", "attention_mask", "past_0"]


def test_inspect_shows_the_inputs_and_iterations_of_generation():
    step = treadle.load(model()).main.steps[1]
    shown = show_call(summarize_call(step, "main/greedysearch_1", 0))
    assert "past_0 float32[2,b,1,p,1]" in shown
    assert "at most most times" in shown


def test_an_interpreter_does_not_run_it_and_bounded_runs_do():
    with pytest.raises(Unsupported, match="GreedySearch"):
        treadle.InferenceSession(model(), engines=("interp",))
    options = treadle.RunOptions(max_iterations=1)
    found = treadle.InferenceSession(model()).run(None, {**FEEDS, "ids": IDS}, options)
    assert found[0].tolist() == WANTED


def test_names_of_the_operators_own_graph_are_not_taken_around_it():
    """A check around the operator, written for the session, has a value named `shape` as well."""
    from tools.contrib_forms import FORMS
    from tools.contrib_nodes import nodes, outcome

    assert any("shape" in node.output for node in FORMS["WhisperBeamSearch"][0]["decoder"].node)
    found = {name: form for name, form in nodes(["WhisperBeamSearch"]) if name.endswith("as it is")}
    assert outcome("WhisperBeamSearch", found["WhisperBeamSearch whole as it is"]) == ""
