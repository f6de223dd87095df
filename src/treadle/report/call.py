"""Describes a call or an unknown operator with bodies: Scan-8, SequenceMap and others."""

from __future__ import annotations

from dataclasses import dataclass

from treadle import ops
from treadle.ir import Call, Leaf, bodies, operator_of, version_of
from treadle.messages import join_words
from treadle.report.body import (
    BodySummary,
    Port,
    name_of,
    port,
    show_body,
    show_title,
    summarize_body,
)
from treadle.report.text import table

_MAX_LENGTH = 1
"""The position of the operand that limits the number of runs of a decoder."""


@dataclass(frozen=True, slots=True)
class CallSummary:
    """The summary of one step whose bodies keep the form of the file; `depth` bodies enclose it.

    For generation operators `inputs` are the ports of each body and `runs` the number of its runs.
    """

    path: str
    operator: str
    version: int
    depth: int
    operands: tuple[str, ...]
    captures: tuple[str, ...]
    bodies: tuple[BodySummary, ...]
    inputs: tuple[tuple[Port, ...], ...] = ()
    runs: tuple[str, ...] = ()


def summarize_call(step: Call | Leaf, path: str, depth: int) -> CallSummary:
    """Summarize the step at the path."""
    return CallSummary(
        path,
        operator_of(step),
        version_of(step),
        depth,
        tuple(map(name_of, step.operands)),
        tuple(map(name_of, step.captures)),
        tuple(summarize_body(body, name) for name, body in bodies(step)),
        *_generation(step),
    )


def _generation(step: Call | Leaf) -> tuple[tuple[tuple[Port, ...], ...], tuple[str, ...]]:
    """The inputs and the number of runs of each body of a generation operator."""
    if not isinstance(step, Leaf) or (step.domain, step.op) not in ops.GENERATION:
        return (), ()
    inputs, runs = [], []
    for name, body in bodies(step):
        own = len(body.params) - len(step.captures)
        inputs.append(tuple(map(port, body.params[:own])))
        most = name_of(step.operands[_MAX_LENGTH]) if len(step.operands) > _MAX_LENGTH else "?"
        runs.append(f"at most {most} times" if name == "decoder" else "once")
    return tuple(inputs), tuple(runs)


def show_call(call: CallSummary) -> str:
    """A paragraph about the step."""
    rows = [("takes", join_words(call.operands))]
    if call.captures:
        rows.append(("captures", join_words(call.captures)))
    for position, body in enumerate(call.bodies):
        rows.append((body.name, show_body(body)))
        if call.inputs:
            inputs = (f"{each.name} {each.type}" for each in call.inputs[position])
            rows += [("  reads", join_words(inputs)), ("  runs", call.runs[position])]
    return f"{show_title(call.path, call.operator, call.version)}\n{table(rows, indent=2)}"
