"""The parts of a model that `inspect` and `explain` say can run without Python."""

from __future__ import annotations

import treadle
from tests.build import models
from treadle.build import outlook, show_outlook


def told(source: str) -> str:
    return show_outlook(outlook(treadle.InferenceSession(source).plan))


def test_a_model_that_can_be_built() -> None:
    assert told(models.SCAN) == (
        "outside Python: the whole model can be a C library (treadle build)"
    )


def test_a_model_that_cannot_be_built_has_reasons() -> None:
    said = told(models.BESIDE)
    assert "outside Python: no C library, since" in said
    assert 'output "made" is seq(float32[2]): only tensors can be passed' in said
    assert "Resize" in said
    assert "no part of it can be an operator of onnxruntime" in said
