"""Quoted names of graphs and tensors in attributes, which onnx's parser does not accept.

onnx's printer quotes every name that is not an identifier, `graph = "a-b" () => ...` and `float[3]
"w.0" {1,2,3}`, but its parser reads the first as a string and fails at the second. Such names are
replaced by identifiers for the parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import onnx

_TEXT = re.compile(r'("(?:\\.|[^"\\])*"|#[^\n]*)(\s*[({])?')


def with_identifiers(text: str) -> tuple[str, Mapping[str, str]]:
    """Replace each quoted name before "(" or "{" by an identifier; returns text and mapping.

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
    """Restore the names of graphs and of tensors in attributes."""
    for named in _named(proto):
        named.name = names.get(named.name, named.name)
    return proto


def _named(proto: onnx.ModelProto) -> Iterator[onnx.GraphProto | onnx.TensorProto]:
    pending = [*proto.graph.node, *(node for each in proto.functions for node in each.node)]
    yield proto.graph
    yield from proto.graph.initializer
    while pending:
        node = pending.pop()
        for attribute in node.attribute:
            graphs = [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]
            yield from graphs
            yield from ([attribute.t] if attribute.HasField("t") else [])
            yield from attribute.tensors
            for graph in graphs:
                yield from graph.initializer
                pending += graph.node
