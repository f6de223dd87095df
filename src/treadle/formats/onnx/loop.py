"""ONNX Loop: read as the one loop form, written back as a Loop.

    Loop(M?, cond?, v_1 ... v_N) body(iteration, condition, v_1 ... v_N, + captures)
                                   -> (condition, v_1 ... v_N, scan_1 ... scan_K)
"""

from __future__ import annotations

from dataclasses import replace

import onnx

from treadle.checks import loop as rules
from treadle.formats.onnx.reading import NodeAtHand, merged_captures
from treadle.formats.onnx.writing import Writing
from treadle.ir import (
    Carried,
    Condition,
    Invariant,
    Iteration,
    Loop,
    Stacked,
    Value,
    ports,
)

_BEFORE_CARRIED = 2


def given(node: onnx.NodeProto) -> int | None:
    """How many inputs the node feeds its body: two for trip and condition, one per state."""
    return max(len(node.input), _BEFORE_CARRIED)


def read(hand: NodeAtHand) -> Loop | None:
    """The Loop, or None and findings where its counts do not fit."""
    body = hand.bodies.get("body")
    counts = None if body is None else (len(body.block.params), len(body.block.results))
    findings = rules.arity(
        hand.version, len(hand.operands), len(hand.results), counts, hand.path
    )
    hand.reading.findings.extend(findings)
    if any(found.blocks for found in findings) or body is None:
        return None
    trip, condition, *initial = (*hand.operands, None, None)[: max(len(hand.operands), 2)]
    captures, (params,) = merged_captures([body])
    block = replace(body.block, params=(*body.block.params, *params))
    roles = (Iteration(), Condition(), *[Carried()] * len(initial), *[Invariant()] * len(params))
    stacks = (Stacked(),) * (len(hand.results) - len(initial))
    return Loop(
        trip, condition, roles, (*initial, *captures), block, stacks, hand.results, hand.info
    )


def write(writing: Writing, step: Loop) -> onnx.NodeProto:
    """The Loop node; a body without iteration number or conditions gets them."""
    view = ports(step)
    states = [port.initial for port in view.carried]
    node = writing.node(step.info, "Loop", [step.trip, step.condition, *states], step.results)
    iteration = view.iteration or Value("iteration")
    condition = view.condition or Value("condition")
    params = (iteration, condition, *(port.param for port in view.carried))
    block = replace(step.body, params=params)
    captures = {port.param: port.operand for port in view.invariants}
    graph = writing.body(block, captures)
    writing.state_types(graph)
    writing.add_graph(node, "body", graph)
    return node
