"""Edits of a model of the suite: its graphs, shapes and nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser, shape_inference

Nodes = Sequence[onnx.NodeProto]


@dataclass
class Draft:
    """A model that a form edits in place, and what it is fed; names are unique in it."""

    model: onnx.ModelProto
    feed: dict[str, np.ndarray]
    numbers: Iterator[int] = field(default_factory=count)

    def fresh(self, name: str) -> str:
        """A name that no value has."""
        return f"{name}_form{next(self.numbers)}"

    def graphs(self) -> list[onnx.GraphProto]:
        """The main graph and every body, outermost first."""
        return [self.model.graph, *(body for _, body in self.bodies())]

    def bodies(self) -> list[tuple[onnx.NodeProto, onnx.GraphProto]]:
        """Every body with the node that has it."""
        return list(_bodies(self.model.graph))

    def loops(self, op: str) -> Iterator[tuple[onnx.GraphProto, onnx.NodeProto, onnx.GraphProto]]:
        """Loops of an operator, the last first: the graph each is in, its node, its body.

        Each is looked up when it is asked for, as edits of graphs copy their nodes.
        """
        for place in reversed(range(len(self._loops(op)))):
            yield self._loops(op)[place]

    def _loops(self, op: str) -> list[tuple[onnx.GraphProto, onnx.NodeProto, onnx.GraphProto]]:
        return [
            (graph, node, attribute(node, "body").g)
            for graph in self.graphs() for node in graph.node if node.op_type == op
        ]  # fmt: skip

    def types(self) -> dict[str, onnx.TypeProto]:
        """The type of each value that has one, extents of what is fed as they are."""
        inferred = shape_inference.infer_shapes(self.model, data_prop=True)
        found = {}
        for graph in [inferred.graph, *(body for _, body in _bodies(inferred.graph))]:
            for info in [*graph.value_info, *graph.output, *graph.input]:
                found[info.name] = info.type
        for name, value in self.feed.items():
            element = helper.np_dtype_to_tensor_dtype(value.dtype)
            found[name] = helper.make_tensor_type_proto(element, value.shape)
        return found

    def is_matrix(self, name: str) -> bool:
        """Whether a value is a fed matrix, which no loop changes."""
        return name in self.feed and self.feed[name].ndim == 2

    def add_input(self, name: str, value: np.ndarray) -> str:
        """A further input of the model, fed this; its name."""
        name = self.fresh(name)
        self.feed[name] = np.array(value, order="C")
        element = helper.np_dtype_to_tensor_dtype(value.dtype)
        self.model.graph.input.append(helper.make_tensor_value_info(name, element, value.shape))
        return name

    def constant(self, value: object, dtype: str = "int64") -> onnx.NodeProto:
        """A Constant; its output has a fresh name."""
        array = np.asarray(value, dtype)
        return node("Constant", [], [self.fresh("const")], value=numpy_helper.from_array(array))


def draft(text: str, feed: Mapping[str, np.ndarray]) -> Draft:
    """The model of a text, to be edited."""
    return Draft(parser.parse_model(text), dict(feed))


def _bodies(graph: onnx.GraphProto) -> Iterator[tuple[onnx.NodeProto, onnx.GraphProto]]:
    for each in graph.node:
        for given in each.attribute:
            if given.type == onnx.AttributeProto.GRAPH:
                yield each, given.g
                yield from _bodies(given.g)


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], **given: object) -> onnx.NodeProto:
    """A node."""
    return helper.make_node(op, inputs, outputs, **given)


def attribute(of: onnx.NodeProto, name: str) -> onnx.AttributeProto | None:
    """An attribute of a node."""
    return next((each for each in of.attribute if each.name == name), None)


def number(of: onnx.NodeProto, name: str, default: int) -> int:
    """An integer attribute of a node."""
    found = attribute(of, name)
    return default if found is None else found.i


def set_nodes(graph: onnx.GraphProto, nodes: Nodes) -> None:
    """Give a graph these nodes instead of its own."""
    kept = [onnx.NodeProto.FromString(each.SerializeToString()) for each in nodes]
    del graph.node[:]
    graph.node.extend(kept)


def replace(draft: Draft, rule: Callable[[onnx.NodeProto], Nodes | None]) -> bool:
    """Apply the rule to each node of every body; returns whether a node was replaced."""
    changed = False
    for _, body in reversed(draft.bodies()):
        written: list[onnx.NodeProto] = []
        for each in body.node:
            instead = rule(each)
            changed |= instead is not None
            written += [each] if instead is None else instead
        set_nodes(body, written)
    return changed


def rename_reads(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    """Let the nodes and outputs of a graph, and of bodies in it, read other values."""
    for each in graph.node:
        for place, name in enumerate(each.input):
            each.input[place] = names.get(name, name)
        for _, body in _bodies_of(each):
            rename_reads(body, names)
    for info in graph.output:
        info.name = names.get(info.name, info.name)


def _bodies_of(each: onnx.NodeProto) -> Iterator[tuple[onnx.NodeProto, onnx.GraphProto]]:
    for given in each.attribute:
        if given.type == onnx.AttributeProto.GRAPH:
            yield each, given.g


def extents(kind: onnx.TypeProto) -> list[int | str] | None:
    """The extents of a tensor type, a name or "" where one is open; None where its rank is."""
    if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return None
    return [
        each.dim_value if each.HasField("dim_value") else each.dim_param
        for each in kind.tensor_type.shape.dim
    ]


def value(name: str, element: int, shape: Sequence[int | str] | None) -> onnx.ValueInfoProto:
    """A value's name and type."""
    opened = None if shape is None else [each or None for each in shape]
    return helper.make_tensor_value_info(name, element, opened)


def put_around(graph: onnx.GraphProto, at: onnx.NodeProto, before: Nodes, after: Nodes) -> None:
    """Put nodes before and after a node of a graph."""
    place = next(k for k, each in enumerate(graph.node) if each == at)
    set_nodes(graph, [*graph.node[:place], *before, at, *after, *graph.node[place + 1 :]])


def copied_nodes(
    draft: Draft, nodes: Nodes, names: Mapping[str, str] | None = None
) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    """Copies of nodes whose results, and what bodies in them name, have fresh names.

    `names` are read in place of others. Also returns the new names of the results.
    """
    made = {name: draft.fresh(name) for each in nodes for name in each.output if name}
    graph = onnx.GraphProto()
    set_nodes(graph, nodes)
    renamed = {**(names or {}), **made}
    rename_reads(graph, renamed)
    for each in graph.node:
        each.output[:] = [renamed.get(name, name) for name in each.output]
        for _, body in _bodies_of(each):
            _rename_inside(draft, body)
    return list(graph.node), made


def _rename_inside(draft: Draft, body: onnx.GraphProto) -> None:
    own = {info.name: draft.fresh(info.name) for info in body.input}
    nodes, made = copied_nodes(draft, body.node, own)
    set_nodes(body, nodes)
    for info in body.input:
        info.name = own[info.name]
    for info in body.output:
        info.name = {**own, **made}.get(info.name, info.name)
