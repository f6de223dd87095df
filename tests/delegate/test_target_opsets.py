"""Combinations of opsets that onnxruntime does not guarantee run without a warning."""

from __future__ import annotations

import numpy as np
import pytest

from treadle.delegate import Onnxruntime
from treadle.delegate.opset_selection import target_versions
from treadle.errors import Unsupported
from treadle.ir import BlockBuilder, Model, clone_with_new_values, tensor, typed
from treadle.plan import plan


@pytest.mark.parametrize("opset", [7, 10, 13, 18, 26, 27, 28])
def test_a_model_of_every_opset_runs(whole, same, opset, capfd):
    run = whole("""g (int64 M, float a) => (float s, float[n] ys) {
        s, ys = Loop <body = b (int64 i, bool c, float v) => (bool c, float w, float y)
            { w = Add(v, v) y = Abs(w) }> (M, "", a) }""", opset)  # fmt: skip
    s, ys = run(np.array(2), np.array(-1, np.float32))
    same(s, np.float32(-4))
    same(ys, np.array([2, 4], np.float32))
    assert capfd.readouterr() == ("", "")


def test_the_lowest_opset_with_the_same_schemas(model_of):
    model = model_of("g (float[n] x) => (float[n] z) { y = Add(x, x) z = Softmax(y) }", 28)
    assert target_versions(model.main.steps, ()).opset == 14
    assert target_versions(model.main.steps, ()).ir_version == 8


def _two_versions():
    block = BlockBuilder("main")
    x = block.param("x", tensor("float32", 2, 3))
    old = block.leaf("Softmax", 1, x)
    new = block.leaf("Softmax", 13, old)
    main = clone_with_new_values(
        block.build(new), lambda value: typed(value, tensor("float32", 2, 3))
    )
    return Model(main, opsets={"": 13})


def test_versions_without_a_common_opset_are_unsupported():
    model = _two_versions()
    with pytest.raises(Unsupported, match="no opset contains both it and Softmax-1"):
        target_versions(model.main.steps, ())


def test_steps_without_a_common_opset_are_separate_regions():
    regions = plan(_two_versions(), [Onnxruntime()]).main.regions
    assert [(r.engine, len(r.steps)) for r in regions] == [("onnxruntime", 1)] * 2


def test_an_operator_unknown_to_onnxruntime_goes_to_interp(planned, capfd):
    block = BlockBuilder("main")
    y = block.leaf("Nope", 3, block.param("x", tensor("float32")))
    region = plan(Model(block.build(y), opsets={"": 3}), [Onnxruntime()]).main.regions[0]
    assert region.engine == "interp"
    assert "does not know Nope-3" in region.reason
    assert capfd.readouterr() == ("", "")
