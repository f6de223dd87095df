"""What is stacked by no iteration has the same shape after its model is saved."""

import numpy as np
import onnx
import pytest

import treadle
from tests.formats.openvino.fixtures import DATA

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
LOOP = """g (int64 m, float[N] x, int64[R] s) => (float[?, ?] ys) {
    ys = Loop (m, "") <body = b (int64 i, bool c) => (bool d, float[3] y) {
        d = Identity (c)
        y = Reshape (x, s)
    }>
}"""
SCAN = """g (float[m, 3] xs, int64[R] s) => (float[?, ?] ys) {
    ys = Scan <num_scan_inputs = 1, body = b (float[3] x) => (float[3] y) {
        y = Reshape (x, s)
    }> (xs)
}"""
ENGINES = (("interp",), ("jit",), None)


def shapes(path, feeds):
    found = (treadle.InferenceSession(path, engines=e).run(None, feeds)[0].shape for e in ENGINES)
    return set(found)


def models(folder, source):
    """The source as it is, saved, and saved with what inference knows."""
    yield source
    for name, model in (("saved", treadle.load(source)), ("typed", treadle.infer(source))):
        treadle.save(model, folder / f"{name}.onnx")
        yield folder / f"{name}.onnx"


@pytest.mark.parametrize("trips", [0, 1, 2])
@pytest.mark.parametrize("text", [LOOP, SCAN])
def test_the_declared_shape_is_kept_where_no_other_is_known(text, trips, tmp_path):
    numbers = np.ones(3, np.float32), np.full((trips, 3), 1, np.float32)
    feeds = {"m": np.array(trips), "x": numbers[0], "xs": numbers[1], "s": np.array([3])}
    for model in models(tmp_path, HEAD + text):
        names = [port.name for port in treadle.InferenceSession(model).get_inputs()]
        assert shapes(model, {name: feeds[name] for name in names}) == {(trips, 3)}


def test_an_ir_with_contradicting_dims_is_saved_with_the_shape_it_has(tmp_path):
    text = (DATA / "onnx_scan_zero_len.xml").read_text()
    text = text.replace('shape="?,3"', 'shape="?,4"').replace("<dim>-1</dim>", "<dim>4</dim>", 2)
    (tmp_path / "m.xml").write_text(text)
    (tmp_path / "m.bin").write_bytes((DATA / "onnx_scan_zero_len.bin").read_bytes())
    feeds = {"s0": np.zeros(3, np.float32), "xs": np.zeros((0, 4), np.float32)}
    found = [shapes(model, feeds) for model in models(tmp_path, tmp_path / "m.xml")]
    assert found == [{(3,)}] * 3
    stacked = [
        treadle.InferenceSession(model, engines=engines).run(None, feeds)[1].shape
        for model in models(tmp_path, tmp_path / "m.xml")
        for engines in ENGINES
    ]
    assert stacked == [(0, 4)] * 9


def test_extents_of_a_carried_value_are_dropped_where_no_rank_is_known(tmp_path):
    """They may be those of the first iteration; with them onnxruntime would refuse the second."""
    text = """g (int64 m, float[3] x, int64[R] s) => (float[?] y) {
        y = Loop (m, "", x) <body = b (int64 i, bool c, float[3] a) => (bool d, float[3] z) {
            d = Identity (c)
            z = Reshape (a, s)
        }>
    }"""
    treadle.save(treadle.infer(HEAD + text), tmp_path / "m.onnx")
    body = onnx.load(tmp_path / "m.onnx").graph.node[0].attribute[0].g
    assert not body.output[1].type.tensor_type.shape.dim[0].HasField("dim_value")
