"""The models: of exporters, of control flow at its edges, of onnx's operator suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx

from tests.backend.suite import node_samples
from tests.conformance.data import EXPORTED, edges, exported
from treadle.errors import TreadleError
from treadle.formats.onnx import to_bytes

GROUPS = ("exporters", "control_flow", "nodes")
_RANDOM = {
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike",
}  # fmt: skip


_DRAWN = ("test_bernoulli", "test_training")
_UNWRITTEN = {"S16c", "S16e", "S16f", "S16g"}
"""Bodies of Scan that give a param on: onnxruntime reads memory that nobody wrote."""


@dataclass(frozen=True)
class Case:
    """A model with its inputs in order and the outputs expected, if anybody says."""

    group: str
    name: str
    model: onnx.ModelProto
    inputs: Sequence[object]
    outputs: Sequence[object] | None

    @property
    def key(self) -> str:
        """Its name among all."""
        return f"{self.group}/{self.name}"


def cases(group: str) -> Iterator[Case]:
    """Every case of a group whose answer is the same each time."""
    yield from {"exporters": _exporters, "control_flow": _edges, "nodes": _nodes}[group]()


def _exporters() -> Iterator[Case]:
    for name in EXPORTED:
        path, inputs, outputs = exported(name)
        model = onnx.load(path)
        fed = [inputs[value.name] for value in model.graph.input if value.name in inputs]
        wanted = [outputs[value.name] for value in model.graph.output]
        yield Case("exporters", name, model, fed, wanted)


def _edges() -> Iterator[Case]:
    import treadle

    for name, edge in edges().items():
        try:
            model = onnx.ModelProto.FromString(to_bytes(treadle.load(edge.source)))
        except TreadleError:
            continue
        wanted = edge.expect if isinstance(edge.expect, tuple) else None
        if wanted is not None and name not in _UNWRITTEN:
            yield Case("control_flow", name, model, edge.inputs, wanted)


def _nodes() -> Iterator[Case]:
    for name, sample in node_samples().items():
        drawn = any(node.op_type in _RANDOM for node in sample.model.graph.node)
        trained = "dropout" in name and "train" in name
        standard = any(each.domain in ("", "ai.onnx") for each in sample.model.opset_import)
        if standard and not (drawn or trained) and not name.startswith(_DRAWN):
            feed = sample.feeds[0]
            yield Case("nodes", name.removeprefix("test_"), sample.model, feed.inputs, feed.outputs)
