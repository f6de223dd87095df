"""Runs a model by onnx.reference, the evaluator of the onnx package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treadle.formats.onnx.write import write_model
from treadle.ir import Model


def reference_run(model: Model, feeds: Mapping[str, Any]) -> list[Any]:
    """The outputs of the model; raises onnx.reference's own errors."""
    from onnx.reference import ReferenceEvaluator

    return list(ReferenceEvaluator(write_model(model, external=False)).run(None, dict(feeds)))
