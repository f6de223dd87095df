"""Compares onnx's own inference with treadle's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx

from treadle.formats.onnx.write import write_model
from treadle.infer import infer
from treadle.ir import Model

Key = tuple[tuple[str, ...], str]
"""The bodies on the way, each as `first result of its node.attribute`, and the value's name."""


def graphs(graph: onnx.GraphProto, depth: int = 0) -> Iterator[tuple[int, onnx.GraphProto]]:
    """The graph and every body in it, with its depth."""
    yield depth, graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g, depth + 1)


def strip(model: onnx.ModelProto, *, bodies: bool) -> onnx.ModelProto:
    """The model without value_info; with `bodies`, without the types of body inputs and outputs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for depth, graph in graphs(copy.graph):
        del graph.value_info[:]
        for value in (*graph.input, *graph.output) if bodies and depth else ():
            value.ClearField("type")
    return copy


def bodies_of(
    graph: onnx.GraphProto, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], onnx.GraphProto]]:
    """The bodies of the graph's nodes, by the place a Key has."""
    for node in graph.node:
        first = next(filter(None, node.output), "")
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield (*path, f"{first}.{attribute.name}"), attribute.g


def types_of(graph: onnx.GraphProto, path: tuple[str, ...] = ()) -> dict[Key, onnx.TypeProto]:
    """What the graphs say of their values."""
    said = {
        (path, value.name): value.type
        for value in (*graph.input, *graph.output, *graph.value_info)
        if value.type.WhichOneof("value")
    }
    for inner, body in bodies_of(graph, path):
        said |= types_of(body, inner)
    return said


def by_onnx(model: onnx.ModelProto) -> Mapping[Key, onnx.TypeProto]:
    """What onnx.shape_inference says, strict and with data propagation; raises InferenceError."""
    found = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    return types_of(found.graph)


def by_treadle(model: Model) -> Mapping[Key, onnx.TypeProto]:
    """What is written of what ours finds."""
    return types_of(write_model(infer(model)).graph)


def lacking(theirs: Mapping[Key, onnx.TypeProto], ours: Mapping[Key, onnx.TypeProto]) -> list[str]:
    """Each value of which the first says something that the second does not say."""
    nothing = onnx.TypeProto()
    return [
        f"{'/'.join((*key[0], key[1]))}: {lack}"
        for key, said in theirs.items()
        if (lack := _lack(said, ours.get(key, nothing)))
    ]


def _lack(said: onnx.TypeProto, ours: onnx.TypeProto) -> str:
    kind = said.WhichOneof("value")
    if kind is None or kind == "map_type":
        return ""
    if ours.WhichOneof("value") != kind:
        return f"it is a {kind}"
    a, b = getattr(said, kind), getattr(ours, kind)
    if kind in ("sequence_type", "optional_type"):
        return _lack(a.elem_type, b.elem_type)
    if a.elem_type not in (0, b.elem_type):
        return f"element type {a.elem_type}, not {b.elem_type}"
    if not a.HasField("shape"):
        return ""
    if not b.HasField("shape") or len(a.shape.dim) != len(b.shape.dim):
        return f"rank {len(a.shape.dim)}"
    lacks = [
        f"dim {axis} is {x.dim_value or x.dim_param}, not {y.dim_value or y.dim_param}"
        for axis, (x, y) in enumerate(zip(a.shape.dim, b.shape.dim, strict=True))
        if not _says_as_much(x, y)
    ]
    return "; ".join(lacks)


def _says_as_much(
    theirs: onnx.TensorShapeProto.Dimension, ours: onnx.TensorShapeProto.Dimension
) -> bool:
    if theirs.HasField("dim_value"):
        return ours.HasField("dim_value") and ours.dim_value == theirs.dim_value
    # unk__0, unk__1 ... are onnx's words for an unknown dim
    is_named = theirs.dim_param and not theirs.dim_param.startswith("unk__")
    return not is_named or bool(ours.WhichOneof("value"))
