"""Describes a Branch: its condition, its captures, and the steps of both sides."""

from __future__ import annotations

from dataclasses import dataclass

from treadle.ir import Branch, operator_of, version_of
from treadle.messages import join_words
from treadle.report.body import (
    BodySummary,
    Port,
    port,
    show_body,
    show_title,
    summarize_body,
)
from treadle.report.origin import Origins
from treadle.report.text import table


@dataclass(frozen=True, slots=True)
class BranchSummary:
    """The summary of one Branch; `depth` bodies enclose it."""

    path: str
    operator: str
    version: int
    depth: int
    decides: str
    captures: tuple[Port, ...]
    results: tuple[Port, ...]
    bodies: tuple[BodySummary, ...]


def summarize_branch(branch: Branch, path: str, depth: int, known: Origins) -> BranchSummary:
    """Summarize the Branch at the path."""
    origin = known.get(branch.condition)
    made = f" (from {origin.path})" if origin is not None and origin.kind == "step" else ""
    return BranchSummary(
        path,
        operator_of(branch),
        version_of(branch),
        depth,
        f"{branch.condition.name}{made}",
        tuple(map(port, branch.operands)),
        tuple(map(port, branch.results)),
        (
            summarize_body(branch.then, "then_branch"),
            summarize_body(branch.otherwise, "else_branch"),
        ),
    )


def show_branch(branch: BranchSummary) -> str:
    """A paragraph about the Branch."""
    rows = [("decides", branch.decides)]
    if branch.captures:
        rows.append(("captures", join_words(_port(p) for p in branch.captures)))
    rows.append(("gives", join_words(_port(p) for p in branch.results)))
    rows += [(body.name, show_body(body)) for body in branch.bodies]
    title = show_title(branch.path, branch.operator, branch.version)
    return f"{title}\n{table(rows, indent=2)}"


def _port(given: Port) -> str:
    return f"{given.name}: {given.type}" if given.type != "?" else given.name
