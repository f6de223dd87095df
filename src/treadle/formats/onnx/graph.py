"""Closes a GraphProto into a Block: inputs, initializers, nodes in order, outputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import onnx

from treadle import ops
from treadle.errors import DataError
from treadle.formats.onnx.external import read_tensor
from treadle.formats.onnx.node import read_node
from treadle.formats.onnx.order import early_reads, sorted_positions
from treadle.formats.onnx.read_context import Body, ReadContext
from treadle.formats.onnx.scope import Scope
from treadle.formats.onnx.unknown_fields import known_fields, leftover, metadata_of
from treadle.formats.onnx.value_info import read_claim, read_value
from treadle.ir import (
    Block,
    Constant,
    DType,
    Literal,
    SparseArray,
    Step,
    Tensor,
    Type,
    Value,
    path_segment,
)

MAX_DEPTH = 100
"""The deepest nesting of bodies that is read; protobuf's own limit for a file is about 30."""

_FIRST_IR_WITHOUT_LISTED = 4
_KNOWN = known_fields(onnx.GraphProto, "quantization_annotation")


def read_body(
    reading: ReadContext, graph: onnx.GraphProto, parent: Scope, path: str, given: int | None
) -> Body:
    """Close a graph attribute; `given` is the number of inputs its node passes, if it is known."""
    scope = Scope(path, reading.findings, parent, apart=reading.apart)
    if reading.depth > MAX_DEPTH:
        reading.report("CF001", path, f"graphs are nested more than {MAX_DEPTH} deep")
        return Body(Block(name=graph.name), ())
    inner = replace(reading, depth=reading.depth + 1, apart=False)
    block = read_graph(inner, graph, scope, given)
    for result, output in zip(block.results, graph.output, strict=True):
        if output.name in scope.captured and result is scope.captured[output.name][1]:
            scope.report(
                "CF104",
                path,
                f'the body returns the outer value "{output.name}" directly',
                "put an Identity node in the body between them",
            )
    return Body(block, tuple(scope.captured.values()))


def read_graph(
    reading: ReadContext, graph: onnx.GraphProto, scope: Scope, given: int | None = None
) -> Block:
    """Close the graph in its scope, which then holds its names and captures."""
    declared, leftovers = _declared(graph)
    constants = _constants(reading, graph, scope.path, declared)
    params = _params(reading, graph, scope, constants, given)
    listed = {info.name for info in graph.input[len(params) :]}
    taken = {value.name: value for value in params}
    kept_constants = []
    for constant in constants:
        name = constant.value.name
        if name in taken:
            constant = replace(constant, value=taken[name])
        else:
            scope.define(constant.value, scope.path)
        kept_constants.append(replace(constant, listed=name in listed))
    claims = tuple(map(read_claim, graph.output))
    claimed = {output.name: claim.type for output, claim in zip(graph.output, claims, strict=True)}
    steps = _steps(reading, graph, scope, declared, claimed)
    results = tuple(_result(scope, output.name) for output in graph.output)
    return Block(
        tuple(params),
        tuple(kept_constants),
        steps,
        results,
        claims,
        graph.name,
        graph.doc_string,
        metadata_of(graph),
        _kept(graph, leftovers),
    )


def _result(scope: Scope, name: str) -> Value | None:
    return scope.resolve(name, scope.path) if name else None


def _declared(
    graph: onnx.GraphProto,
) -> tuple[dict[str, onnx.ValueInfoProto], list[onnx.ValueInfoProto]]:
    # the value_info of the nodes' results, and of other values
    produced = {name for node in graph.node for name in node.output}
    declared: dict[str, onnx.ValueInfoProto] = {}
    leftovers = []
    for info in graph.value_info:
        if info.name in produced and info.name not in declared:
            declared[info.name] = info
        else:
            leftovers.append(info)
    return declared, leftovers


def _kept(graph: onnx.GraphProto, leftovers: Iterable[onnx.ValueInfoProto]) -> dict[str, bytes]:
    rest = leftover(graph, _KNOWN)
    rest.value_info.extend(leftovers)
    return {"graph": rest.SerializeToString()} if rest.ByteSize() else {}


def _constants(
    reading: ReadContext,
    graph: onnx.GraphProto,
    path: str,
    declared: dict[str, onnx.ValueInfoProto],
) -> list[Constant]:
    constants: list[Constant] = []
    for tensor in _last_of_each_name(reading, graph, path):
        data = _literal(reading, tensor, path) or Literal(np.empty(0), DType.FLOAT64)
        type_ = Tensor(data.dtype, tuple(data.array.shape))
        constants.append(Constant(Value(tensor.name, type_), data))
    for sparse in graph.sparse_initializer:
        array = _sparse(reading, sparse, path)
        if array is not None:
            value = Value(sparse.values.name, Tensor(array.values.dtype, array.shape))
            constants.append(Constant(value, array))
    return constants


def _last_of_each_name(
    reading: ReadContext, graph: onnx.GraphProto, path: str
) -> Iterable[onnx.TensorProto]:
    """The initializers; of two with the same name the later one, as in onnxruntime."""
    last = {tensor.name: k for k, tensor in enumerate(graph.initializer)}
    if len(last) == len(graph.initializer):
        return list(graph.initializer)
    for k, tensor in enumerate(graph.initializer):
        if last[tensor.name] != k:
            message = f'there are two initializers "{tensor.name}"; the last one is used'
            reading.report("CF102", path, message, "remove the others", blocks=False)
    return [graph.initializer[k] for k in last.values()]


def _sparse(reading: ReadContext, sparse: onnx.SparseTensorProto, path: str) -> SparseArray | None:
    values = _literal(reading, sparse.values, path)
    indices = _literal(reading, sparse.indices, path)
    if values is None or indices is None:
        return None
    array = SparseArray(values, indices, tuple(sparse.dims))
    try:
        ops.expect_sparse(array)
    except DataError as problem:
        reading.report("CF002", path, f'sparse tensor "{values.name}": {problem}')
        return None
    return array


def _literal(reading: ReadContext, tensor: onnx.TensorProto, path: str) -> Literal | None:
    supplied = reading.folder.supplied.get(tensor.name)
    if supplied is not None:
        return supplied
    try:
        return read_tensor(tensor, reading.folder)
    except DataError as problem:
        reading.report("CF002", path, f'tensor "{tensor.name}": {problem}')
        return None


def _params(
    reading: ReadContext,
    graph: onnx.GraphProto,
    scope: Scope,
    constants: list[Constant],
    given: int | None,
) -> list[Value]:
    defaults = {constant.value.name for constant in constants}
    inputs = list(graph.input)
    if given is not None:
        extra = inputs[given:]
        old = reading.ir_version < _FIRST_IR_WITHOUT_LISTED
        if old and extra and all(info.name in defaults for info in extra):
            inputs = inputs[:given]
        for info in inputs:
            if info.name in defaults:
                scope.report(
                    "CF106",
                    scope.path,
                    f'body input "{info.name}" is also an initializer of the body',
                    "remove the initializer, or the input",
                )
    return [scope.define(read_value(info), scope.path) for info in inputs]


def _steps(
    reading: ReadContext,
    graph: onnx.GraphProto,
    scope: Scope,
    declared: dict[str, onnx.ValueInfoProto],
    claimed: dict[str, Type | None],
) -> tuple[Step, ...]:
    scope.later.update(name for node in graph.node for name in node.output if name)

    def result(name: str) -> Value:
        if name in declared:
            value = read_value(declared[name])
            bare = value.declared is None and not value.kept
            return replace(value, kept=declared[name].SerializeToString()) if bare else value
        return Value(name, claimed.get(name))

    return tuple(
        read_node(reading, graph.node[position], scope, _path(scope, graph, position), result)
        for position in _positions(graph, scope)
    )


def _positions(graph: onnx.GraphProto, scope: Scope) -> Iterable[int]:
    """The positions of the nodes in a valid order of execution."""
    early = early_reads(graph.node, scope.sees)
    if not early:
        return range(len(graph.node))
    order = sorted_positions(graph.node, scope.sees)
    index = {position: k for k, position in enumerate(order)}
    makers = {name: k for k, node in enumerate(graph.node) for name in node.output}
    for position, name in early.items():
        if index[makers[name]] < index[position]:
            hint = "the nodes are reordered; --fix, or repair, writes the file in this order"
            scope.report_early(name, _path(scope, graph, position), hint, blocks=False)
    return order


def _path(scope: Scope, graph: onnx.GraphProto, position: int) -> str:
    return f"{scope.path}/{path_segment(graph.node[position].op_type, position)}"
