"""onnx's backend suite, read from the onnx package: models, inputs and expected outputs."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from tests.values import TOLERANCES
from treadle.ir import DType

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
CONTROL_FLOW = {"If", "Loop", "Scan"}


@dataclass(frozen=True)
class Feed:
    """Inputs in the order of the graph, and the outputs expected."""

    inputs: Sequence[object]
    outputs: Sequence[object]


@dataclass(frozen=True)
class Sample:
    """A model of the suite with its feeds and the suite's tolerances."""

    model: onnx.ModelProto
    feeds: Sequence[Feed]
    rtol: float
    atol: float

    @property
    def tolerances(self) -> Mapping[DType, tuple[float, float]]:
        """The suite's own, bfloat16 compared as the suite does."""
        table = dict.fromkeys(TOLERANCES, (self.rtol, self.atol))
        return table | {DType.BFLOAT16: (max(self.rtol, 2**-6), self.atol)}

    @property
    def has_control_flow(self) -> bool:
        """Whether an If, a Loop or a Scan is in it at any depth."""
        return any(node.op_type in CONTROL_FLOW for node in _nodes(self.model.graph))


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _nodes(inner)


@functools.cache
def node_samples() -> Mapping[str, Sample]:
    """Every case of one node; some of their authors' arithmetic warns, which is theirs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    return {
        case.name: Sample(
            case.model,
            [Feed(list(map(_value, i)), list(map(_value, o))) for i, o in case.data_sets],
            case.rtol,
            case.atol,
        )
        for case in cases
    }


def _value(given: object) -> object:
    if isinstance(given, onnx.TensorProto):
        given = numpy_helper.to_array(given)
    if isinstance(given, list | tuple):
        return [_value(item) for item in given]
    if given is None or isinstance(given, dict):
        return given
    array = np.asarray(given)
    return array.astype(object) if array.dtype.kind in "US" else array


KINDS = ("simple", "pytorch-converted", "pytorch-operator")


@functools.cache
def folders() -> Mapping[str, Path]:
    """The cases that lie on disk, by `kind/name`."""
    found = ((kind, case) for kind in KINDS for case in sorted((DATA / kind).iterdir()))
    return {f"{kind}/{case.name}": case for kind, case in found if (case / "model.onnx").exists()}


def folder_sample(folder: Path) -> Sample:
    """The case in a folder."""
    model = onnx.load(folder / "model.onnx")
    feeds = [
        Feed(_read(data, "input", model.graph.input), _read(data, "output", model.graph.output))
        for data in sorted(folder.glob("test_data_set_*"))
    ]
    return Sample(model, feeds, 1e-3, 1e-7)


def _read(folder: Path, word: str, values: Sequence[onnx.ValueInfoProto]) -> list[object]:
    paths = [folder / f"{word}_{k}.pb" for k in range(len(values))]
    return [
        _read_value(path.read_bytes(), value.type)
        for path, value in zip(paths, values, strict=True)
        if path.exists()
    ]


def _read_value(data: bytes, type_: onnx.TypeProto) -> object:
    if type_.HasField("sequence_type"):
        return _value(numpy_helper.to_list(onnx.SequenceProto.FromString(data)))
    return _value(onnx.TensorProto.FromString(data))


@functools.cache
def light_models() -> Mapping[str, Path]:
    """The well-known networks with their weights left out, by name."""
    return {path.stem: path for path in sorted((DATA / "light").glob("*.onnx"))}


def light_sample(path: Path) -> Sample:
    """A network, fed as the suite feeds it."""
    model = onnx.load(path)
    weights = {tensor.name for tensor in model.graph.initializer}
    fed = [value for value in model.graph.input if value.name not in weights]
    inputs = [Runner.generate_dummy_data(value, name=path.stem) for value in fed]
    outputs = [
        _value(
            onnx.TensorProto.FromString(path.with_name(f"{path.stem}_output_{k}.pb").read_bytes())
        )
        for k in range(len(model.graph.output))
    ]
    return Sample(model, [Feed(inputs, outputs)], 2e-3, 1e-7)
