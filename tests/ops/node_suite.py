"""onnx's node cases, run through `prepare` node by node."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, NodeProto, TensorProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from tests.jit.fenced_memory import usual_arrays
from treadle import ir, ops

DATA = Path(onnx.__file__).parent / "backend/test/data"
CONTROL = {"If", "Loop", "Scan", "SequenceMap"}
BFLOAT16_RTOL = 2**-6


@cache
def node_cases() -> Sequence[TestCase]:
    """The cases are made by running the modules that define them; their warnings are theirs."""
    with warnings.catch_warnings(), usual_arrays():
        warnings.simplefilter("ignore")
        return tuple(load_model_tests(kind="node"))


def straight_cases() -> Sequence[TestCase]:
    """Every case whose model is free of control flow."""
    return [case for case in node_cases() if not control_flow(case.model)]


def control_flow(model: onnx.ModelProto) -> bool:
    return any(node.op_type in CONTROL for node in model.graph.node)


def run_case(case: TestCase) -> list[str]:
    """What differs, in words; nothing when the case passes."""
    wrong: list[str] = []
    for inputs, outputs in case.data_sets:
        found = run_model(case.model, [given(each) for each in inputs])
        for name, want, got in zip(case.model.graph.output, outputs, found, strict=True):
            differs = differences(got, given(want), case.rtol, case.atol)
            wrong += [f"{name.name}: {each}" for each in differs]
    return wrong


def file_cases(kind: str) -> Mapping[str, Path]:
    """The cases of a suite that is on disk, by name."""
    folders = (DATA / kind).iterdir()
    return {each.name: each for each in sorted(folders) if (each / "model.onnx").exists()}


def run_folder(folder: Path, model: onnx.ModelProto) -> list[str]:
    """What differs in a case that is on disk."""
    wrong: list[str] = []
    for data in sorted(folder.glob("test_data_set_*")):
        feeds = _read(data, "input", [v.type for v in model.graph.input])
        wanted = _read(data, "output", [v.type for v in model.graph.output])
        found = run_model(model, feeds)
        for value, want, got in zip(model.graph.output, wanted, found, strict=True):
            wrong += [f"{value.name}: {each}" for each in differences(got, want)]
    return wrong


def given(value: object) -> object:
    if isinstance(value, TensorProto):
        return ops.tensor_from_proto(value).array
    if isinstance(value, list | tuple):
        return [given(each) for each in value]
    if value is None or isinstance(value, dict):
        return value
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "US" else array


def _read(data: Path, word: str, types: Sequence[onnx.TypeProto]) -> list[object]:
    paths = [data / f"{word}_{k}.pb" for k in range(len(types))]
    return [
        _value(path.read_bytes(), type_)
        for path, type_ in zip(paths, types, strict=True)
        if path.exists()
    ]


def _value(data: bytes, type_: onnx.TypeProto) -> object:
    if type_.WhichOneof("value") == "sequence_type":
        return [given(each) for each in numpy_helper.to_list(onnx.SequenceProto.FromString(data))]
    return ops.tensor_from_proto(TensorProto.FromString(data)).array


def run_model(model: onnx.ModelProto, feeds: Sequence[object]) -> list[object]:
    opsets = {ops.canonical(o.domain): o.version for o in model.opset_import}
    names = [v.name for v in model.graph.input]
    environment: dict[str, object] = {"": None, **dict(zip(names, feeds, strict=False))}
    for tensor in model.graph.initializer:
        environment.setdefault(tensor.name, ops.tensor_from_proto(tensor).array)
    _run_nodes(model.graph.node, environment, opsets)
    return [environment[v.name] for v in model.graph.output]


def _run_nodes(
    nodes: Sequence[NodeProto], environment: dict[str, object], opsets: Mapping[str, int]
) -> None:
    for node in nodes:
        inputs = [environment[name] for name in node.input]
        environment |= dict(zip(node.output, run_node(node, inputs, opsets), strict=True))


def run_node(
    node: NodeProto, inputs: Sequence[object], opsets: Mapping[str, int]
) -> Sequence[object]:
    if any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in node.attribute):
        opset = opsets[ops.canonical(node.domain)]
        body = ops.function_proto_of_node(node, opset, [ops.type_of(each) for each in inputs])
        assert body is not None, f"no body for {node.op_type}"
        return run_function(body, node, inputs)
    leaf = leaf_of(node, opsets)
    if ops.kernel(leaf.domain, leaf.op, leaf.version) is None:
        body = ops.function_proto(leaf, [ops.type_of(each) for each in inputs])
        assert body is not None, f"no kernel, no body for {leaf.op}-{leaf.version}"
        return run_function(body, node, inputs)
    results = ops.bind_kernel(leaf)(inputs)
    for result in results:
        check_value(result)
    return results


def run_function(
    body: onnx.FunctionProto, node: NodeProto, inputs: Sequence[object]
) -> Sequence[object]:
    padded = [*inputs, *[None] * (len(body.input) - len(inputs))]
    environment: dict[str, object] = {"": None, **dict(zip(body.input, padded, strict=True))}
    given = {a.name: a for a in body.attribute_proto} | {a.name: a for a in node.attribute}
    nodes = []
    for inner in body.node:
        copy = NodeProto.FromString(inner.SerializeToString())
        del copy.attribute[:]
        for attribute in inner.attribute:
            filled = attribute
            if attribute.ref_attr_name:
                if attribute.ref_attr_name not in given:
                    continue
                filled = onnx.AttributeProto.FromString(
                    given[attribute.ref_attr_name].SerializeToString()
                )
                filled.name = attribute.name
            copy.attribute.append(filled)
        nodes.append(copy)
    opsets = {ops.canonical(o.domain): o.version for o in body.opset_import}
    _run_nodes(nodes, environment, opsets)
    return [environment[name] for name in body.output[: len(node.output)]]


def leaf_of(node: NodeProto, opsets: Mapping[str, int]) -> ir.Leaf:
    domain = ops.canonical(node.domain)
    version = ops.since_version(domain, node.op_type, opsets[domain])
    assert version is not None, node.op_type
    attributes = {a.name: ops.attribute_from_proto(a) for a in node.attribute}
    operands = tuple(ir.Value(name) if name else None for name in node.input)
    results = tuple(ir.Value(name) if name else None for name in node.output)
    return ir.Leaf(domain, node.op_type, version, operands, results, attributes)


def check_value(value: object) -> None:
    """A run-time value is an array of a known dtype, a list, None or a dict; never a scalar."""
    if isinstance(value, list):
        for each in value:
            check_value(each)
        return
    assert value is None or isinstance(value, np.ndarray | dict), type(value)
    if isinstance(value, np.ndarray):
        assert value.dtype.kind not in "USMm", value.dtype
        assert ir.dtype_of(value.dtype) is not None, value.dtype


def differences(got: object, want: object, rtol: float = 1e-3, atol: float = 1e-7) -> list[str]:
    """How two values differ, in words: structure, dtype and shape exactly, floats by tolerance."""
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return [f"{ops.describe(got)} instead of {ops.describe(want)}"]
        return [d for g, w in zip(got, want, strict=True) for d in differences(g, w, rtol, atol)]
    if want is None or got is None:
        return [] if want is got else [f"{ops.describe(got)} instead of {ops.describe(want)}"]
    if isinstance(want, dict):
        return [] if want == got else [f"{got} instead of {want}"]
    assert isinstance(want, np.ndarray)
    if not isinstance(got, np.ndarray) or got.dtype != want.dtype or got.shape != want.shape:
        return [f"{ops.describe(got)} instead of {ops.describe(want)}"]
    return [] if _close(got, want, rtol, atol) else [f"{_first(got)} instead of {_first(want)}"]


def _first(array: np.ndarray) -> str:
    return np.array2string(array.reshape(-1)[:20], threshold=20).replace("\n", "")


def _close(got: np.ndarray, want: np.ndarray, rtol: float, atol: float) -> bool:
    if want.dtype.kind in "OUSbiu" or "int" in want.dtype.name:
        return bool(np.array_equal(got, want))
    if want.dtype.name == "bfloat16":
        rtol = BFLOAT16_RTOL
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    return bool(
        np.allclose(got.astype(wide), want.astype(wide), rtol=rtol, atol=atol, equal_nan=True)
    )
