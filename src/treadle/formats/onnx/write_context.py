"""Assigns names to values: the state of one graph while it is written, and of its bodies.

A captured value is written with the name of its outer value, so no other value of the body may take
that name; all other values keep their own names if possible.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

import onnx

from treadle import ops
from treadle.formats.onnx.unknown_fields import write_metadata
from treadle.formats.onnx.value_info import refined, write_claim
from treadle.ir import (
    Attribute,
    Block,
    Declaration,
    Info,
    Leaf,
    SparseArray,
    Step,
    Tensor,
    Value,
    block_values,
    reads,
)

WriteStep = Callable[["WriteContext", Step], onnx.NodeProto]


@dataclass(slots=True)
class WriteContext:
    """The names in use in one graph; `outside` are the names used by outer graphs.

    `unique`: no name is used twice in the whole model, since onnxruntime rejects shadowing.
    `stacked` are results of a body of which its loop stacks one for each iteration.
    """

    write_step: WriteStep
    unique: bool = False
    in_body: bool = False
    stacked: frozenset[Value | None] = frozenset()
    names: dict[Value, str] = field(default_factory=dict)
    outside: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)

    def name(self, value: Value) -> str:
        """Assign a name to a value of this graph."""
        forbidden = self.taken | self.outside if self.unique else self.taken
        name = _numbered(value.name or "value", forbidden)
        self.taken.add(name)
        self.names[value] = name
        return name

    def unused(self, wanted: str) -> str:
        """A name for a value that a writer adds to a body: none of this graph and those outside."""
        return _numbered(wanted, self.taken | self.outside)

    def use(self, value: Value | None) -> str:
        """The name of a value; "" for an absent one."""
        return "" if value is None else self.names[value]

    def node(
        self,
        info: Info,
        op: str,
        operands: Iterable[Value | None],
        results: Iterable[Value | None],
    ) -> onnx.NodeProto:
        """A node with its names; trailing absent operands stay, as in the file."""
        node = onnx.NodeProto.FromString(info.kept) if info.kept else onnx.NodeProto()
        node.op_type = op
        for name, text in (
            ("domain", info.domain),
            ("overload", info.overload),
            ("name", info.name),
            ("doc_string", info.doc),
        ):
            if text:
                setattr(node, name, text)
        node.input.extend(map(self.use, operands))
        node.output.extend(map(self.use, results))
        write_metadata(info.metadata, node)
        return node

    def body(
        self,
        block: Block,
        captures: Mapping[Value, Value | None],
        stacked: Iterable[Value | None] = (),
    ) -> onnx.GraphProto:
        """The graph of a body whose params in `captures` stand for values of this graph."""
        outside = self.outside | self.taken
        inner = WriteContext(
            self.write_step, self.unique, True, frozenset(stacked), outside=outside
        )
        used = {value for step in block.steps for value in reads(step)} | set(block.results)
        for param, outer in captures.items():
            inner.names[param] = self.use(outer)
        inner.taken = {name for param, name in inner.names.items() if param in used}
        own = tuple(param for param in block.params if param not in captures)
        captured = set(inner.names)
        return inner.graph(self._with_identities(replace(block, params=own), captured))

    def _with_identities(self, block: Block, captured: set[Value]) -> Block:
        # the standard requires a body's result to be a value of the body: IR.md, Graphs
        returned = {v for v in block.results if v is not None and v in captured}
        if not returned:
            return block
        copies = {v: Value(self.unused(f"{v.name}_out"), v.declared) for v in returned}
        steps = [Leaf("", "Identity", 1, (v,), (copy,)) for v, copy in copies.items()]
        results = tuple(copies.get(v, v) if v is not None else None for v in block.results)
        return replace(block, steps=(*block.steps, *steps), results=results)

    def graph(self, block: Block) -> onnx.GraphProto:
        """The graph of a block; all of its values get their names first."""
        for value in block_values(block):
            self.name(value)
        graph = onnx.GraphProto()
        graph.name = block.name or "graph"
        if block.doc:
            graph.doc_string = block.doc
        graph.input.extend(self.claim(value, self._own_claim(value)) for value in block.params)
        self._constants(graph, block)
        graph.node.extend(self.write_step(self, step) for step in block.steps)
        claims = block.claims or tuple(_result_claim(value) for value in block.results)
        for result, claim in zip(block.results, claims, strict=True):
            graph.output.append(write_claim(self.use(result), self._refined(claim, result)))
        graph.value_info.extend(self._value_info(block))
        write_metadata(block.metadata, graph)
        if "graph" in block.kept:
            graph.MergeFromString(block.kept["graph"])
        return graph

    def claim(self, value: Value, claim: Declaration) -> onnx.ValueInfoProto:
        """The declaration entry of a value."""
        return write_claim(self.names[value], claim)

    def _value_info(self, block: Block) -> Iterable[onnx.ValueInfoProto]:
        claimed = {id(claim.type) for claim in block.claims}
        results = set(block.results)
        for value in (value for step in block.steps for value in step.results):
            if value is None or (value.declared is not None and id(value.declared) in claimed):
                continue
            if value.declared is None and not value.kept and value in results:
                continue
            claim = self._own_claim(value)
            if claim.type is not None or claim.kept:
                yield self.claim(value, claim)

    def _own_claim(self, value: Value) -> Declaration:
        claim = Declaration(value.declared, value.doc, value.metadata, value.kept)
        return self._refined(claim, value)

    def _refined(self, claim: Declaration, value: Value | None) -> Declaration:
        """The declaration with what inference knows.

        Where it knows no rank of what a loop stacks, the declared extents stay: they are those of
        a run without an iteration.
        """
        found = None if value is None else value.inferred
        is_vague = isinstance(found, Tensor) and found.shape is None
        in_body = self.in_body and not (is_vague and value in self.stacked)
        return refined(claim, found, in_body=in_body)

    def _constants(self, graph: onnx.GraphProto, block: Block) -> None:
        for constant in block.constants:
            name = self.names[constant.value]
            if isinstance(constant.data, SparseArray):
                sparse = ops.sparse_to_proto(constant.data)
                sparse.values.name = name
                graph.sparse_initializer.append(sparse)
                continue
            tensor = graph.initializer.add()
            tensor.CopyFrom(ops.tensor_to_proto(constant.data))
            tensor.name = name
            if constant.listed:
                claim = Declaration(constant.value.declared)
                graph.input.append(write_claim(name, claim))

    def add_graph(self, node: onnx.NodeProto, name: str, graph: onnx.GraphProto) -> None:
        """Give the node a graph attribute; "branches[0]" is the first of a list."""
        base, bracket, _ = name.partition("[")
        attribute = next((a for a in node.attribute if a.name == base), None)
        attribute = attribute or node.attribute.add(name=base)
        if bracket:
            attribute.type = onnx.AttributeProto.GRAPHS
            attribute.graphs.add().CopyFrom(graph)
        else:
            attribute.type = onnx.AttributeProto.GRAPH
            attribute.g.CopyFrom(graph)


def _numbered(wanted: str, forbidden: Container[str]) -> str:
    name, number = wanted, 0
    while name in forbidden:
        number += 1
        name = f"{wanted}_{number}"
    return name


def add_attributes(node: onnx.NodeProto, attributes: Mapping[str, Attribute]) -> None:
    """Add the attributes that are not graphs to the node."""
    for attribute in attributes.values():
        node.attribute.append(ops.attribute_to_proto(attribute))


def _result_claim(value: Value | None) -> Declaration:
    return Declaration() if value is None else Declaration(value.declared)
