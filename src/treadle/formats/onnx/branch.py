"""ONNX If: read as a Branch, written back as an If."""

from __future__ import annotations

from dataclasses import replace

import onnx

from treadle.checks import branch as rules
from treadle.formats.onnx.read_context import NodeContext, merged_captures
from treadle.formats.onnx.write_context import WriteContext
from treadle.ir import Branch


def body_input_count(node: onnx.NodeProto, opset: int) -> int:
    """The number of inputs the node passes to its graphs: always none."""
    return 0


def read(context: NodeContext) -> Branch | None:
    """Read an If as a Branch; None, with findings, if its counts are wrong."""
    then, otherwise = context.body("then_branch"), context.body("else_branch")
    if then is None or otherwise is None:
        return None
    findings = rules.arity(
        len(context.operands),
        len(context.results),
        len(then.block.params),
        len(otherwise.block.params),
        len(then.block.results),
        len(otherwise.block.results),
        context.path,
    )
    if not context.fits(findings):
        return None
    condition = context.operands[0]
    if condition is None:  # an input without a definition, reported when its name was resolved
        return None
    operands, params = merged_captures([then, otherwise])
    return Branch(
        condition,
        replace(then.block, params=params[0]),
        replace(otherwise.block, params=params[1]),
        operands,
        context.results,
        context.info,
    )


def write(writing: WriteContext, step: Branch) -> onnx.NodeProto:
    """Write the If node."""
    node = writing.node(replace(step.info, domain=""), "If", [step.condition], step.results)
    for name, block in (("then_branch", step.then), ("else_branch", step.otherwise)):
        graph = writing.body(block, dict(zip(block.params, step.operands, strict=True)))
        writing.add_graph(node, name, graph)
    return node
