"""Quoted names of graphs, tensors, operators and functions, which onnx's parser does not accept.

onnx's printer quotes every name that is not an identifier, `graph = "a-b" () => ...` and `float[3]
"w.0" {1,2,3}`, but its parser reads the first as a string and fails at the second. Such names are
replaced by identifiers for the parser. Names of operators and functions, `y = "loc::a|b" (x)`, the
printer does not even quote: they are replaced by identifiers for the printer as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import onnx

from treadle.formats.onnx.attribute_graphs import graphs_of

_TEXT = re.compile(r'("(?:\\.|[^"\\])*"|#[^\n]*)(\s*[({<]|:[A-Za-z_]\w*\s*[(<])?')
_IDENTIFIER = r"[A-Za-z_]\w*"
_FUNCTION = re.compile(_IDENTIFIER, re.ASCII)
_OPERATOR = re.compile(rf"({_IDENTIFIER}(\.{_IDENTIFIER})*)?::{_IDENTIFIER}", re.ASCII)


def with_identifiers(text: str) -> tuple[str, Mapping[str, str]]:
    """Replace each quoted name before "(", "{" or "<" by an identifier; returns text and mapping.

    A string that is the value of an attribute or of a tensor's element has neither after it.
    """
    prefix = "quoted"
    while prefix in text:
        prefix += "_"
    names: dict[str, str] = {}

    def change(match: re.Match[str]) -> str:
        quoted, opening = match.groups()
        if opening is None or quoted.startswith("#"):
            return match.group()
        name = f"{prefix}{len(names)}"
        names[name] = re.sub(r"\\(.)", r"\1", quoted[1:-1])
        return f"{name}{opening}"

    return _TEXT.sub(change, text), names


def rename(proto: onnx.ModelProto, names: Mapping[str, str]) -> onnx.ModelProto:
    """Restore the names of graphs, tensors in attributes, operators and functions."""
    for named in [*_named(proto), *proto.functions]:
        named.name = names.get(named.name, named.name)
    for node in _nodes(proto):
        if node.op_type in names:
            node.domain, _, node.op_type = names[node.op_type].partition("::")
    return proto


def unprintable_operators(proto: onnx.ModelProto) -> frozenset[str]:
    """`domain::op_type` of nodes, and names of functions, that the parser would not read again."""
    called = {_full_name(node) for node in _nodes(proto)}
    defined = {function.name for function in proto.functions}
    return frozenset(
        {name for name in called if not _OPERATOR.fullmatch(name)}
        | {name for name in defined if not _FUNCTION.fullmatch(name)}
    )


def with_plain_operators(proto: onnx.ModelProto, plain: Mapping[str, str]) -> onnx.ModelProto:
    """Return a copy in which operators and functions have the names of `plain`."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for function in copy.functions:
        function.name = plain.get(function.name, function.name)
    for node in _nodes(copy):
        name = _full_name(node)
        if name in plain:
            node.domain, node.op_type = "", plain[name]
    return copy


def quote(name: str) -> str:
    """Return the name in quotes, as `with_identifiers` reads it."""
    return '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'


def _full_name(node: onnx.NodeProto) -> str:
    return f"{node.domain}::{node.op_type}"


def _nodes(proto: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    pending = [*proto.graph.node, *(node for each in proto.functions for node in each.node)]
    while pending:
        node = pending.pop()
        yield node
        for attribute in node.attribute:
            pending += [inner for graph in graphs_of(attribute).values() for inner in graph.node]


def _named(proto: onnx.ModelProto) -> Iterator[onnx.GraphProto | onnx.TensorProto]:
    yield proto.graph
    yield from proto.graph.initializer
    for node in _nodes(proto):
        for attribute in node.attribute:
            graphs = graphs_of(attribute).values()
            yield from graphs
            yield from ([attribute.t] if attribute.HasField("t") else [])
            yield from attribute.tensors
            for graph in graphs:
                yield from graph.initializer
