"""The graphs that an attribute holds, by its type."""

from __future__ import annotations

from onnx import AttributeProto, GraphProto

_WITH_A_GRAPH = (AttributeProto.GRAPH, AttributeProto.UNDEFINED)
_WITH_GRAPHS = (AttributeProto.GRAPHS, AttributeProto.UNDEFINED)


def graphs_of(attribute: AttributeProto) -> dict[str, GraphProto]:
    """The graphs by name: `body`, or `branches[0]` in a list of graphs.

    A graph in an attribute of another type is none: as onnxruntime does, only the field that the
    type names is read. An attribute without a type holds what its fields hold.
    """
    found = {}
    if attribute.type in _WITH_A_GRAPH and attribute.HasField("g"):
        found[attribute.name] = attribute.g
    if attribute.type in _WITH_GRAPHS:
        found |= {f"{attribute.name}[{k}]": each for k, each in enumerate(attribute.graphs)}
    return found
