"""ONNX Scan: read as the one loop form (9 and newer) or a Call (8), written back as a Scan.

    Scan(state_1 ... state_N, x_1 ... x_M) body(state_1 ..., slice of x_1 ..., + captures)
                                             -> (state_1 ..., scan_1 ... scan_K)
"""

from __future__ import annotations

from dataclasses import replace

import onnx

from treadle.checks import scan as rules
from treadle.formats.onnx.reading import NodeAtHand, merged_captures
from treadle.formats.onnx.writing import Writing
from treadle.ir import (
    Attribute,
    Block,
    Call,
    Carried,
    FunctionId,
    Invariant,
    Kind,
    Loop,
    Sliced,
    Stacked,
    ports,
)

_WITH_BATCH = 8


def given(node: onnx.NodeProto) -> int | None:
    """How many inputs the node feeds its body: unknown before the version is."""
    return None


def read(hand: NodeAtHand) -> Loop | Call | None:
    """The Loop, for Scan-8 the Call, or None and findings where something does not fit."""
    body = hand.bodies.get("body")
    counts = None if body is None else (len(body.block.params), len(body.block.results))
    findings = rules.arity(
        hand.version,
        len(hand.operands),
        len(hand.results),
        hand.whole("num_scan_inputs"),
        counts,
        hand.path,
    )
    hand.reading.findings.extend(findings)
    if any(found.blocks for found in findings) or body is None:
        return None
    findings = rules.attributes(hand.version, hand.attributes, len(hand.operands), len(hand.results), hand.path)
    hand.reading.findings.extend(findings)
    if any(found.blocks for found in findings):
        return None
    captures, (params,) = merged_captures([body])
    block = replace(body.block, params=(*body.block.params, *params))
    return (_call if hand.version == _WITH_BATCH else _loop)(hand, block, captures)


def _call(hand: NodeAtHand, block: Block, captures: tuple) -> Call:
    return Call(
        FunctionId("", "Scan"),
        hand.operands,
        hand.results,
        hand.version,
        hand.attributes,
        {"body": block},
        captures,
        hand.info,
    )


def _loop(hand: NodeAtHand, block: Block, captures: tuple) -> Loop:
    sliced_count = hand.whole("num_scan_inputs") or 0
    state_count = len(hand.operands) - sliced_count
    stacked_count = len(hand.results) - state_count
    axes = hand.wholes("scan_input_axes", sliced_count)
    directions = hand.wholes("scan_input_directions", sliced_count)
    sliced = [Sliced(axis, bool(way)) for axis, way in zip(axes, directions, strict=True)]
    axes = hand.wholes("scan_output_axes", stacked_count)
    directions = hand.wholes("scan_output_directions", stacked_count)
    stacks = tuple(Stacked(axis, bool(way)) for axis, way in zip(axes, directions, strict=True))
    roles = (*[Carried()] * state_count, *sliced, *[Invariant()] * len(captures))
    block = replace(
        block,
        results=(None, *block.results),
        claims=(Claim(), *block.claims),
    )
    return Loop(
        None, None, roles, (*hand.operands, *captures), block, stacks, hand.results, hand.info
    )
