"""ONNX Scan: read as the one loop form (9 and newer) or a Call (8), written back as a Scan.

Scan(state_1 ... state_N, x_1 ... x_M) body(state_1 ..., slice of x_1 ..., + captures)
                                         -> (state_1 ..., scan_1 ... scan_K)
"""

from __future__ import annotations

from dataclasses import replace

import onnx

from treadle.checks import scan as rules
from treadle.formats.onnx.read_context import NodeContext, merged_captures
from treadle.formats.onnx.write_context import WriteContext, add_attributes
from treadle.ir import (
    Attribute,
    Block,
    Call,
    Carried,
    Declaration,
    FunctionId,
    Invariant,
    Loop,
    Role,
    Sliced,
    Stacked,
    Value,
    attribute,
    ports,
)

_WITH_BATCH = 8


def given(node: onnx.NodeProto, opset: int) -> int:
    """The number of inputs the node passes to its body: all but Scan-8's sequence_lens."""
    return len(node.input) - (1 if opset <= _WITH_BATCH else 0)


def read(context: NodeContext) -> Loop | Call | None:
    """Read a Scan as a Loop, Scan-8 as a Call; None, with findings, if its counts are wrong."""
    body = context.body("body")
    if body is None:
        return None
    inputs, outputs = len(context.operands), len(context.results)
    counts = (len(body.block.params), len(body.block.results))
    findings = rules.arity(
        context.version, inputs, outputs, *counts, context.path, context.absent()
    )
    findings += rules.attributes(context.version, context.attributes, inputs, outputs, context.path)
    if not context.fits(findings):
        return None
    captures, (params,) = merged_captures([body])
    block = replace(body.block, params=(*body.block.params, *params))
    return (_call if context.version <= _WITH_BATCH else _loop)(context, block, captures)


def _call(context: NodeContext, block: Block, captures: tuple[Value, ...]) -> Call:
    return Call(
        FunctionId("", "Scan"),
        context.operands,
        context.results,
        context.version,
        context.attributes,
        {"body": block},
        captures,
        context.info,
    )


def _loop(context: NodeContext, block: Block, captures: tuple[Value, ...]) -> Loop:
    sliced_count = context.whole("num_scan_inputs")
    state_count = len(context.operands) - sliced_count
    stacked_count = len(context.results) - state_count
    axes = context.wholes("scan_input_axes", sliced_count)
    directions = context.wholes("scan_input_directions", sliced_count)
    sliced = [Sliced(axis, bool(way)) for axis, way in zip(axes, directions, strict=True)]
    axes = context.wholes("scan_output_axes", stacked_count)
    directions = context.wholes("scan_output_directions", stacked_count)
    stacks = tuple(Stacked(axis, bool(way)) for axis, way in zip(axes, directions, strict=True))
    roles: tuple[Role, ...] = (*[Carried()] * state_count, *sliced, *[Invariant()] * len(captures))
    block = replace(
        block,
        results=(None, *block.results),
        claims=(Declaration(), *block.claims),
    )
    operands = (*context.operands, *captures)
    return Loop(
        None, None, roles, operands, block, stacks, context.results, context.info, fixed_state=True
    )


def write(writing: WriteContext, step: Loop) -> onnx.NodeProto:
    """Write the Scan node; lists of axes and directions that are all zero are left out."""
    view = ports(step)
    operands = [port.initial for port in view.carried] + [port.operand for port in view.sliced]
    node = writing.node(replace(step.info, domain=""), "Scan", operands, step.results)
    add_attributes(node, _attributes(step))
    params = (*(port.param for port in view.carried), *(port.param for port in view.sliced))
    block = replace(
        step.body, params=params, results=step.body.results[1:], claims=step.body.claims[1:]
    )
    captures = {port.param: port.operand for port in view.invariants}
    stacked = [port.element for port in view.stacked]
    writing.add_graph(node, "body", writing.body(block, captures, stacked))
    return node


def _attributes(step: Loop) -> dict[str, Attribute]:
    sliced = [port.role for port in ports(step).sliced]
    lists = {
        "scan_input_axes": [role.axis for role in sliced],
        "scan_input_directions": [int(role.reverse) for role in sliced],
        "scan_output_axes": [role.axis for role in step.stacks],
        "scan_output_directions": [int(role.reverse) for role in step.stacks],
    }
    attributes = {"num_scan_inputs": attribute("num_scan_inputs", len(sliced))}
    attributes |= {name: attribute(name, values) for name, values in lists.items() if any(values)}
    known = step.info.attributes
    same = {name: a for name, a in known.items() if name in lists and not _some(a)}
    return same | {
        name: known[name] if name in known and known[name].value == made.value else made
        for name, made in attributes.items()
    }


def _some(attribute_: Attribute) -> bool:
    return isinstance(attribute_.value, tuple) and any(attribute_.value)
