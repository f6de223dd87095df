"""RandomUniform: the distribution of its values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import treadle
from tools.openvino.sketch import Sketch, Weights, write


@pytest.mark.parametrize("engines", [["interp"], None], ids=["interp", "default"])
@pytest.mark.parametrize("word", ["f32", "i64"])
def test_values_lie_between_the_bounds(
    word: str, engines: list[str] | None, tmp_path: Path
) -> None:
    dtype = np.float32 if word == "f32" else np.int64
    sketch = Sketch(Weights())
    shape = sketch.parameter("shape", "i64", 2)
    ends = [sketch.constant(np.array(end, dtype)) for end in (-3, 5)]
    made = sketch.layer(
        "RandomUniform",
        [shape, *ends],
        [(word, (-1, -1))],
        "opset8",
        data={"output_type": word, "op_seed": 3, "global_seed": 0},
    )
    sketch.result(made, "y")
    session = treadle.InferenceSession(write(tmp_path, sketch), engines=engines)
    (got,) = session.run(None, {"shape": np.array([40, 50])})
    assert (got.shape, got.dtype) == ((40, 50), dtype)
    assert -3 <= got.min() < -2
    assert 3 < got.max() < 5
    assert abs(got.mean() - (1 if word == "f32" else 0.5)) < 0.3
