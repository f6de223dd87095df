"""onnx's node cases of operators, each as the body of a Scan over two items.

    python -m tools.node_cases

runs all of them, prints those that go wrong, and counts what is native, called or declined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

import treadle
from tests.jit.native import natives, outcomes
from tests.ops.node_suite import control_flow, differences, given, node_cases
from treadle import ops
from treadle.jit.kernel.ir import HostCall
from treadle.jit.kernel.traversal import all_nodes

FIXED = {"int64", "int32", "bool", "uint8"}


@dataclass(frozen=True)
class Node:
    """One case: a model of one node, what it is given and what it gives."""

    name: str
    model: onnx.ModelProto
    inputs: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]
    rtol: float
    atol: float

    @property
    def opset(self) -> int:
        """The opset of the standard: one that has Scan as it is now."""
        own = [o.version for o in self.model.opset_import if not ops.canonical(o.domain)]
        return max([9, *own]) if own else 21

    @property
    def key(self) -> tuple[str, str, int]:
        """Domain, operator and version."""
        node = self.model.graph.node[0]
        domain = ops.canonical(node.domain)
        opsets = {ops.canonical(o.domain): o.version for o in self.model.opset_import}
        version = ops.since_version(domain, node.op_type, opsets[domain])
        return domain, node.op_type, version or 0


def single_nodes() -> Iterator[Node]:
    """The cases of one node over tensors."""
    for case in node_cases():
        model = case.model
        if control_flow(model) or len(model.graph.node) != 1 or not case.data_sets:
            continue
        inputs, outputs = ([given(v) for v in values] for values in case.data_sets[0])
        is_plain = all(isinstance(v, np.ndarray) and v.dtype != object for v in inputs + outputs)
        if is_plain:
            yield Node(case.name, model, tuple(inputs), tuple(outputs), case.rtol, case.atol)


def scanned(node: Node, fixed: Sequence[str] = ()) -> onnx.ModelProto:
    """The node in a Scan over its inputs; the `fixed` ones are constants of the body."""
    graph = node.model.graph
    rows = [v for v in graph.input if v.name not in fixed]
    arrays = dict(zip([v.name for v in graph.input], node.inputs, strict=True))
    body = onnx.GraphProto()
    body.CopyFrom(graph)
    del body.input[:]
    body.input.extend(rows)
    body.initializer.extend(_named(ops.tensor_of(arrays[name]), name) for name in fixed)
    inputs = [_longer(v, f"{v.name}_in") for v in rows]
    outputs = [_longer(v, f"{v.name}_out") for v in graph.output]
    step = helper.make_node("Scan", [v.name for v in inputs], [v.name for v in outputs],
                            num_scan_inputs=len(rows), body=body)  # fmt: skip
    outer = helper.make_graph([step], "g", inputs, outputs)
    opsets = [o for o in node.model.opset_import if ops.canonical(o.domain)]
    opsets.append(helper.make_opsetid("", node.opset))
    return helper.make_model(outer, opset_imports=opsets, ir_version=10)


def _named(proto: onnx.TensorProto, name: str) -> onnx.TensorProto:
    proto.name = name
    return proto


def _longer(value: onnx.ValueInfoProto, name: str) -> onnx.ValueInfoProto:
    made = onnx.ValueInfoProto()
    made.CopyFrom(value)
    made.name = name
    type_ = made.type.tensor_type
    dims = list(type_.shape.dim)
    del type_.shape.dim[:]
    type_.shape.dim.add().dim_param = "T"
    type_.shape.dim.extend(dims)
    return made


def run(node: Node, fixed: Sequence[str] = ()) -> tuple[str, list[str]]:
    """How the case runs (native, escape, or why not), and what differs from the standard's data."""
    session = treadle.InferenceSession(scanned(node, fixed), engines=("jit", "interp"))
    names = [v.name for v in node.model.graph.input]
    feeds = {
        f"{name}_in": np.stack([array, array])
        for name, array in zip(names, node.inputs, strict=True)
        if name not in fixed
    }
    found = session.run(None, feeds)
    wrong = [
        each
        for got, want in zip(found, node.outputs, strict=True)
        for item in range(2)
        for each in differences(np.asarray(got[item]), want, node.rtol, node.atol)
    ]
    return status(session), wrong


def status(session: treadle.InferenceSession) -> str:
    """Native, escape, or why it is neither."""
    made = outcomes(session)
    if not made:
        reasons = [region.reason for region in session.plan.main.regions]
        return "; ".join(reasons)
    whys = [why for why in made if isinstance(why, str)]
    if whys:
        return whys[0]
    nodes = [n for native in natives(session) for m in native.cache.compiled.values()
             for n in all_nodes(m.kernel.main)]  # fmt: skip
    return "escape" if any(isinstance(n.op, HostCall) for n in nodes) else "native"


def parameters(node: Node) -> list[str]:
    """The inputs that say a shape, axes, a count: whole numbers of rank 0 or 1, but the first."""
    names = [v.name for v in node.model.graph.input]
    return [
        name
        for k, (name, array) in enumerate(zip(names, node.inputs, strict=True))
        if k and array.ndim <= 1
    ]


def best(node: Node) -> tuple[str, list[str]]:
    """The case with every input of the run, or else with its parameters fixed."""
    found = run(node)
    fixed = parameters(node)
    if found[0] != "native" and fixed and len(fixed) < len(node.inputs):
        again = run(node, fixed)
        if again[0] in ("native", "escape") or again[1]:
            return again
    return found


def _is_scannable(node: Node) -> bool:
    """Whether there is an input to scan, and all values are tensors: Scan takes nothing else."""
    graph = node.model.graph
    is_plain = all(v.type.HasField("tensor_type") for v in (*graph.input, *graph.output))
    return bool(node.inputs) and is_plain


def main() -> None:
    """Every case: what is wrong, and how many are native, called out for, or declined."""
    counts: dict[str, int] = {}
    for node in filter(_is_scannable, single_nodes()):
        how, wrong = best(node)
        kind = how if how in ("native", "escape") else "declined"
        counts[kind] = counts.get(kind, 0) + 1
        if wrong:
            print(node.name, how, wrong[0])
    print(counts)


if __name__ == "__main__":
    main()
