"""The measured models: exporters', onnx's backend suite, models in wheels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime

from benchmarks.wheels import shipped_models
from tests.backend import suite
from tests.conformance.data import EXPORTED, exported
from tests.values import TOLERANCES, Tolerances
from treadle.ir import DType

RECORDED = ("exporters", "straight", "networks")
KINDS = (*RECORDED, "wheels")
_DEEP: Tolerances = {**TOLERANCES, DType.FLOAT32: (1e-3, 1e-5)}
"""Of a hundred layers: what rounding in the first makes of the last."""


@dataclass(frozen=True)
class Subject:
    """A model, one feed, and the outputs expected."""

    name: str
    model: bytes
    feed: Mapping[str, object]
    outputs: Sequence[object]
    tolerances: Tolerances


def subjects(kinds: Sequence[str]) -> Iterator[Subject]:
    """Every model of the kinds, one at a time."""
    made = {
        "exporters": _exporters, "straight": _straight, "networks": _networks, "wheels": _shipped,
    }  # fmt: skip
    for kind in kinds:
        yield from made[kind]()


def _exporters() -> Iterator[Subject]:
    for name in EXPORTED:
        path, inputs, outputs = exported(name)
        model = onnx.load(path)
        wanted = [outputs[value.name] for value in model.graph.output]
        yield Subject(name, model.SerializeToString(), inputs, wanted, TOLERANCES)


def _straight() -> Iterator[Subject]:
    samples = dict(suite.node_samples())
    for name, sample in samples.items():
        if not sample.has_control_flow:
            yield _subject(name, sample)
    for name, folder in suite.folders().items():
        sample = suite.folder_sample(folder)
        if not sample.has_control_flow and "gradient" not in name:
            yield _subject(name, sample)


def _networks() -> Iterator[Subject]:
    for name, path in suite.light_models().items():
        yield _subject(name, suite.light_sample(path))


def _shipped() -> Iterator[Subject]:
    """Nobody recorded their outputs: those are onnxruntime's."""
    for name, model, feed in shipped_models():
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        outputs = session.run(None, feed)
        yield Subject(name, model, feed, [np.asarray(value) for value in outputs], _DEEP)


def _subject(name: str, sample: suite.Sample) -> Subject:
    weights = {tensor.name for tensor in sample.model.graph.initializer}
    names = [value.name for value in sample.model.graph.input if value.name not in weights]
    feed = dict(zip(names, sample.feeds[0].inputs, strict=False))
    data = sample.model.SerializeToString()
    return Subject(name, data, feed, sample.feeds[0].outputs, sample.tolerances)
