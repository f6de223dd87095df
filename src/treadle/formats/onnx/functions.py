"""Operators defined by other operators in the standard: the schema's body, as a Function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import onnx

from treadle import ops
from treadle.errors import Finding
from treadle.formats.onnx.read import function_from_proto
from treadle.formats.onnx.write import write_step
from treadle.formats.onnx.write_context import WriteContext
from treadle.ir import Attribute, Call, Function, Leaf, Type, Value, domain_of, operator_of


def schema_function(
    step: Leaf | Call, types: Sequence[Type | None], opsets: Mapping[str, int]
) -> Function | None:
    """The function in the schema of the step's operator for operands of these types, or None.

    It has one param for each of the step's operands, absent ones included, then one for each of its
    captures: SequenceMap's body becomes part of the function and reads outer values by name.
    """
    domain = domain_of(step)
    node, captured = _node(step)
    proto = ops.function_proto_of_node(node, opsets.get(domain, step.version), types)
    if proto is None:
        return None
    findings: list[Finding] = []
    function = function_from_proto(proto, opsets, findings)
    blocking = [found for found in findings if found.blocks]
    assert not blocking, f"the standard's function of {node.op_type} does not close: {blocking}"
    params = {value.name: value for value in function.block.params}
    declared = [params[name] for name in proto.input][: len(step.operands)]
    free = [params.get(name) or Value(name) for name in captured]
    wanted = [*step.results, *[None] * len(function.block.results)]
    results = [
        None if result is None else value
        for value, result in zip(function.block.results, wanted, strict=False)
    ]
    block = replace(function.block, params=(*declared, *free), results=tuple(results))
    defaults = _defaults(domain, operator_of(step), step.version)
    return replace(function, block=block, defaults={**defaults, **function.defaults})


def _node(step: Leaf | Call) -> tuple[onnx.NodeProto, list[str]]:
    # the node's values get names that no function of the standard uses
    writing = WriteContext(write_step)
    for prefix, values in (
        ("captured", step.captures),
        ("operand", step.operands),
        ("result", step.results),
    ):
        for number, value in enumerate(values):
            if value is not None:
                writing.names.setdefault(value, f"treadle_{prefix}_{number}")
    writing.taken = set(writing.names.values())
    return write_step(writing, step), [writing.use(value) for value in step.captures]


def _defaults(domain: str, op: str, version: int) -> dict[str, Attribute]:
    if not onnx.defs.has(op, version, domain):
        return {}
    attributes = onnx.defs.get_schema(op, version, domain).attributes
    return {
        name: ops.attribute_from_proto(attribute.default_value)
        for name, attribute in attributes.items()
        if attribute.default_value.name
    }
