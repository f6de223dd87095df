"""The nodes that are asked about: the standard's own cases, those of ai.onnx.ml, negative axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
from onnx import NodeProto, helper

from tests.ops import test_ml
from tests.ops.node_suite import control_flow, given, node_cases
from treadle import ops

Key = tuple[str, str]
Form = tuple[NodeProto, list[np.ndarray]]
SIZED = 4096
"""The most elements of a form's inputs."""

_ML = "ai.onnx.ml"


@cache
def forms() -> Mapping[Key, list[Form]]:
    """Nodes over tensors with inputs, by operator; forms differ in attributes or ranks."""
    found: dict[Key, dict[object, Form]] = {}
    for node, inputs in _nodes():
        form = (tuple(a.SerializeToString() for a in node.attribute), len(node.input))
        key = (ops.canonical(node.domain), node.op_type)
        found.setdefault(key, {}).setdefault(form, (node, inputs))
    return {key: list(by_form.values()) for key, by_form in found.items()}


def _nodes() -> Iterator[Form]:
    for node, inputs in (*_standard(), *_ml()):
        yield node, inputs
        turned = _from_the_end(node, inputs)
        if turned is not None:
            yield turned, inputs


def _standard() -> Iterator[Form]:
    for case in node_cases():
        nodes = case.model.graph.node
        if control_flow(case.model) or len(nodes) != 1 or not case.data_sets:
            continue
        if any(attribute.HasField("g") or attribute.graphs for attribute in nodes[0].attribute):
            continue
        inputs = [given(value) for value in case.data_sets[0][0]]
        is_plain = all(isinstance(value, np.ndarray) for value in inputs)
        if is_plain and inputs and sum(value.size for value in inputs) <= SIZED:
            yield nodes[0], inputs


def _ml() -> Iterator[Form]:
    for op, _, inputs, outputs, attributes in test_ml.CASES:
        if not all(isinstance(value, np.ndarray) for value in inputs):
            continue
        names = [f"x{k}" for k in range(len(inputs))], [f"y{k}" for k in range(outputs)]
        yield helper.make_node(op, *names, domain=_ML, **attributes), list(inputs)


def _from_the_end(node: NodeProto, inputs: list[np.ndarray]) -> NodeProto | None:
    """The node with its axes counted from the end; None where it has none, or they are."""
    rank = inputs[0].ndim
    turned = NodeProto()
    turned.CopyFrom(node)
    changed = False
    for attribute in turned.attribute:
        if attribute.name == "axis" and 0 <= attribute.i < rank:
            attribute.i -= rank
            changed = True
        if attribute.name == "axes" and attribute.ints and min(attribute.ints) >= 0:
            attribute.ints[:] = [axis - rank for axis in attribute.ints]
            changed = True
    return turned if changed else None
