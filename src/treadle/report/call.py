"""A call or an unknown operator that has bodies, in words: Scan-8, SequenceMap and the like."""

from __future__ import annotations

from dataclasses import dataclass

from treadle.ir import Call, Leaf, bodies, operator_of
from treadle.report.body import (
    BodySummary,
    name_of,
    show_body,
    show_title,
    summarize_body,
    version_of,
)
from treadle.report.text import table
from treadle.wording import joined


@dataclass(frozen=True, slots=True)
class CallSummary:
    """One step that keeps its bodies in its file's own shape; `depth` bodies lie around it."""

    path: str
    operator: str
    version: int
    depth: int
    operands: tuple[str, ...]
    captures: tuple[str, ...]
    bodies: tuple[BodySummary, ...]


def summarize_call(step: Call | Leaf, path: str, depth: int) -> CallSummary:
    """What a reader wants to know of the step at the path."""
    return CallSummary(
        path,
        operator_of(step),
        version_of(step),
        depth,
        tuple(map(name_of, step.operands)),
        tuple(map(name_of, step.captures)),
        tuple(summarize_body(body, name) for name, body in bodies(step)),
    )


def show_call(call: CallSummary) -> str:
    """A paragraph about the step."""
    rows = [("takes", joined(call.operands))]
    if call.captures:
        rows.append(("captures", joined(call.captures)))
    rows += [(body.name, show_body(body)) for body in call.bodies]
    return f"{show_title(call.path, call.operator, call.version)}\n{table(rows, indent=2)}"
