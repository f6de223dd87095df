"""Sessions run what onnxruntime loads: false declarations, missing imports, dims of -1, maps."""

import numpy as np
import onnx
import pytest

import treadle

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
X = np.float32([[1, -2, 3], [4, 5, -6]])


def ran(text, engines=None, **feeds):
    return treadle.InferenceSession(text, engines=engines).run(None, feeds or {"x": X})


@pytest.mark.parametrize("engines", [None, ("interp",)])
@pytest.mark.parametrize("declared", ["int64[2,3]", "float[3]", "float[2,3,1]", "seq(float[2,3])"])
def test_an_output_of_another_kind_dtype_or_rank_than_declared_is_given(declared, engines):
    text = f"{HEAD}g (float[2,3] x) => ({declared} y) {{ y = Relu(x) }}"
    (y,) = ran(text, engines)
    np.testing.assert_array_equal(y, np.maximum(X, 0))
    assert "error" in {finding.severity for finding in treadle.check(text)}


def test_a_wrongly_declared_output_has_its_inferred_type():
    text = f"{HEAD}g (float[2,3] x) => (int64[2,3] y) {{ y = Relu(x) }}"
    (y,) = treadle.InferenceSession(text).get_outputs()
    assert y.type == "tensor(float)"


def with_unknown_dims():
    model = onnx.parser.parse_model(
        HEAD + "g (float[9,3] x) => (float[9,3] y, int64[2] s) { y = Relu(x) s = Shape(x) }"
    )
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_value = -1
    return model


def test_a_dim_of_minus_one_is_not_known(tmp_path):
    model = with_unknown_dims()
    session = treadle.InferenceSession(model)
    assert session.get_inputs()[0].shape == [None, 3]
    y, shape = session.run(None, {"x": X})
    np.testing.assert_array_equal(y, np.maximum(X, 0))
    assert shape.tolist() == [2, 3]
    for made in (treadle.infer(model), treadle.optimize(model)):
        assert treadle.InferenceSession(made).run(None, {"x": X})[1].tolist() == [2, 3]
    treadle.save(model, tmp_path / "m.xml")
    assert treadle.InferenceSession(tmp_path / "m.xml").run(None, {"x": X})[1].tolist() == [2, 3]


def test_a_dim_of_minus_one_round_trips(tmp_path):
    treadle.save(with_unknown_dims(), tmp_path / "m.onnx")
    saved, original = onnx.load(tmp_path / "m.onnx").graph, with_unknown_dims().graph
    assert (list(saved.input), list(saved.output)) == (list(original.input), list(original.output))


@pytest.mark.parametrize("engines", [None, ("interp",)])
def test_a_domain_that_onnxruntime_knows_need_not_be_imported(engines):
    text = f"{HEAD}g (float[2,3] x) => (float[2,3] y) {{ y = ai.onnx.ml.Binarizer(x) }}"
    np.testing.assert_array_equal(ran(text, engines)[0], np.float32(X > 0))
    (finding,) = treadle.check(text)
    assert (finding.code, finding.severity) == ("CF702", "error")
    repaired, mended = treadle.repair(text)
    assert [each.code for each in mended] == ["CF702"]
    assert not treadle.check(repaired)


def test_an_unknown_domain_stops_a_session():
    with pytest.raises(treadle.InvalidModel, match="CF702"):
        ran(f"{HEAD}g (float[2,3] x) => (float[2,3] y) {{ y = nowhere.Binarizer(x) }}")


MAPS = [
    ("int64", "float", {1: 2.5, 3: -1.0}),
    ("int64", "double", {1: 2.5, 3: -1.0}),
    ("int64", "string", {1: "a", 3: "b"}),
    ("string", "float", {"p": 2.5, "r": -1.0}),
    ("string", "double", {"p": 2.5, "r": -1.0}),
    ("string", "int64", {"p": 2, "r": -1}),
]


@pytest.mark.parametrize("engines", [None, ("interp",)])
@pytest.mark.parametrize(("key", "element", "value"), MAPS)
def test_maps_of_any_types_are_inputs(key, element, value, engines):
    labels = '["p", "q", "r"]' if key == "string" else "[1, 2, 3]"
    text = f"""<ir_version: 8, opset_import: ["ai.onnx.ml" : 1, "" : 17]>
        g (map({key}, {element}) x) => ({element}[1,3] y) {{
            y = ai.onnx.ml.DictVectorizer<{key}_vocabulary={labels}>(x) }}"""
    assert not treadle.check(text)
    (y,) = ran(text, engines, x=value)
    zero = "" if element == "string" else 0
    first, last = value.values()
    assert y.tolist() == [[first, zero, last]]
