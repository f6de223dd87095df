"""Layers that OpenVINO does not write, or computes differently from its documentation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import treadle
from tools.openvino.sketch import Sketch, Weights, write
from treadle.errors import LoadError


def test_rms_divides_by_the_root_of_the_mean_of_squares(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    sketch = Sketch(Weights())
    gamma = np.array([0.5, 1, -2, 3], np.float32)
    operands = [sketch.parameter("x", "f32", 2, 3, 4), sketch.constant(gamma)]
    made = sketch.layer("RMS", operands, [("f32", (2, 3, 4))], "opset14", data={"epsilon": 0.01})
    sketch.result(made, "y")
    session = treadle.InferenceSession(write(tmp_path, sketch), engines=["interp"])
    x = rng.normal(size=(2, 3, 4)).astype(np.float32) / 4
    (found,) = session.run(None, {"x": x})
    wanted = x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.01) * gamma
    np.testing.assert_allclose(found, wanted, 1e-6)


def _range(ends: tuple[float, float, float], folder: Path) -> Path:
    sketch = Sketch(Weights())
    operands = [sketch.constant(np.array(end, np.float32)) for end in ends]
    made = sketch.layer("Range", operands, [("i64", (-1,))], "opset4", data={"output_type": "i64"})
    sketch.result(made, "y")
    return write(folder, sketch)


@pytest.mark.parametrize("ends", [(0, 5, 1), (7, -2, -3), (0.5, 5, 1), (3, 3, 1)])
def test_whole_numbers_between_floats_that_can_be_counted(
    ends: tuple[float, float, float], tmp_path: Path
) -> None:
    session = treadle.InferenceSession(_range(ends, tmp_path), engines=["interp"])
    start, stop, step = map(int, ends)
    np.testing.assert_array_equal(session.run(None, {})[0], np.arange(start, stop, step))


@pytest.mark.parametrize("ends", [(0.9, 4.6, 1.3), (0.5, 4.6, 1), (0, 5, 0.5), (0, np.inf, 1)])
def test_whole_numbers_between_floats_that_two_readings_count_otherwise(
    ends: tuple[float, float, float], tmp_path: Path
) -> None:
    with pytest.raises(LoadError, match="which gives two lengths"):
        treadle.load(_range(ends, tmp_path))


@pytest.mark.parametrize(
    ("extent", "after", "rounding", "refused"),
    [
        (6, 1, "ceil", True),
        (5, 1, "ceil", False),
        (6, 1, "ceil_torch", False),
        (6, 0, "ceil", False),
        (-1, 1, "ceil", True),
        (-1, 0, "ceil", False),
    ],
)
@pytest.mark.parametrize("kind", ["MaxPool", "AvgPool"])
def test_a_window_of_padding_alone_is_refused(
    kind: str, extent: int, after: int, rounding: str, refused: bool, tmp_path: Path
) -> None:
    sketch = Sketch(Weights())
    data = {
        "kernel": "2, 2", "strides": "2, 2", "pads_begin": "0, 0", "pads_end": f"0, {after}",
        "rounding_type": rounding, "exclude-pad": "true",
    }  # fmt: skip
    x = sketch.parameter("x", "f32", 1, 1, 4, extent)
    made = sketch.layer(kind, [x], [("f32", ())], "opset1", data=data)
    sketch.result(made, "y")
    path = write(tmp_path, sketch)
    if refused:
        with pytest.raises(LoadError, match="a window of nothing but padding"):
            treadle.load(path)
        return
    width = 7 if extent < 0 else extent
    session = treadle.InferenceSession(path, engines=["interp"])
    (found,) = session.run(None, {"x": np.ones((1, 1, 4, width), np.float32)})
    assert found.shape == (1, 1, 2, -(-width // 2))
