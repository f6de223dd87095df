"""ONNX Loop: read as the one loop form, written back as a Loop.

Loop(M?, cond?, v_1 ... v_N) body(iteration, condition, v_1 ... v_N, + captures)
                               -> (condition, v_1 ... v_N, scan_1 ... scan_K)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx

from treadle.checks import loop as rules
from treadle.formats.onnx.read_context import NodeContext, merged_captures
from treadle.formats.onnx.write_context import WriteContext
from treadle.ir import (
    Attribute,
    Block,
    Carried,
    Condition,
    Declaration,
    DType,
    Info,
    Invariant,
    Iteration,
    Kind,
    Leaf,
    Literal,
    Loop,
    Role,
    Stacked,
    Tensor,
    Value,
    ports,
)

_BEFORE_CARRIED = 2


def body_input_count(node: onnx.NodeProto, opset: int) -> int:
    """The number of inputs the node passes to its body: trip, condition, one per state."""
    return max(len(node.input), _BEFORE_CARRIED)


def read(context: NodeContext) -> Loop | None:
    """Read a Loop; None, with findings, if its counts are wrong."""
    body = context.body("body")
    if body is None:
        return None
    findings = rules.arity(
        context.version,
        len(context.operands),
        len(context.results),
        len(body.block.params),
        len(body.block.results),
        context.path,
        context.absent(),
    )
    if not context.fits(findings):
        return None
    trip, condition, *initial = (*context.operands, None)[
        : max(len(context.operands), _BEFORE_CARRIED)
    ]
    captures, (params,) = merged_captures([body])
    block = replace(body.block, params=(*body.block.params, *params))
    roles: tuple[Role, ...] = (
        Iteration(),
        Condition(),
        *[Carried()] * len(initial),
        *[Invariant()] * len(params),
    )
    stacks = (Stacked(),) * (len(context.results) - len(initial))
    return Loop(
        trip, condition, roles, (*initial, *captures), block, stacks, context.results, context.info
    )


def write(writing: WriteContext, step: Loop) -> onnx.NodeProto:
    """Write the Loop node; adds iteration number and conditions to a body without them."""
    view = ports(step)
    states = [port.initial for port in view.carried]
    operands = [step.trip, step.condition, *states]
    node = writing.node(replace(step.info, domain=""), "Loop", operands, step.results)
    iteration = view.iteration or Value("iteration", Tensor(DType.INT64, ()))
    condition = view.condition or Value("condition", Tensor(DType.BOOL, ()))
    params = (iteration, condition, *(port.param for port in view.carried))
    captures = {port.param: port.operand for port in view.invariants}
    block = _with_condition(step.body, writing.unused("always"))
    stacked = [port.element for port in view.stacked]
    writing.add_graph(node, "body", writing.body(replace(block, params=params), captures, stacked))
    return node


def _with_condition(body: Block, name: str) -> Block:
    # a body whose next condition is always true returns a constant: of a Constant node, since some
    # tools drop an initializer that is a result
    if body.results[0] is not None:
        return body
    true = Value(name, Tensor(DType.BOOL, ()))
    value = Attribute("value", Kind.TENSOR, Literal.of(np.array(True)))
    node = Leaf("", "Constant", 1, (), (true,), {"value": value}, info=Info(op="Constant"))
    claims = (Declaration(true.declared), *body.claims[1:]) if body.claims else ()
    return replace(
        body, steps=(node, *body.steps), results=(true, *body.results[1:]), claims=claims
    )
