"""Layers that OpenVINO does not write by itself: what their pages say, in numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import treadle
from tests.formats.openvino.sketch import Sketch, Weights, write


def test_rms_divides_by_the_root_of_the_mean_of_squares(tmp_path: Path) -> None:
    sketch = Sketch(Weights())
    gamma = np.array([0.5, 1, -2, 3], np.float32)
    operands = [sketch.parameter("x", "f32", 2, 3, 4), sketch.constant(gamma)]
    made = sketch.layer("RMS", operands, [("f32", (2, 3, 4))], "opset14", data={"epsilon": 0.01})
    sketch.result(made, "y")
    session = treadle.InferenceSession(write(tmp_path, sketch), engines=["interp"])
    x = np.random.default_rng(5).normal(size=(2, 3, 4)).astype(np.float32) / 4
    (found,) = session.run(None, {"x": x})
    wanted = x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.01) * gamma
    np.testing.assert_allclose(found, wanted, 1e-6)
