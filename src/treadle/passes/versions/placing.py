"""Inserts the result of an adapter in place of the step."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.ir import (
    Constant,
    Info,
    Leaf,
    Operands,
    Step,
    Value,
    reads,
    with_operands,
    with_results,
)
from treadle.passes.versions.no_form import NoForm
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted

Placed = Rewriter | tuple[Leaf, Sequence[Constant]]
"""The steps that replace a step, in the rewriter's opset; or the step at another version."""


def placed(rewriter: Rewriter, step: Leaf, made: Adapted, version: int | None) -> Placed:
    """Check the result of an adapter; a returned step gets this version."""
    if not isinstance(made, Leaf):
        return bound(rewriter, step, (made,) if isinstance(made, Value) else tuple(made))
    assert version is not None, f"no version of {step.op} is left"
    leaf = versioned(made, version)
    if not rewriter.steps:
        return leaf, rewriter.constants
    rewriter.add(leaf)
    return rewriter


def versioned(leaf: Leaf, version: int) -> Leaf:
    """The leaf with another version."""
    old = leaf.info
    info = Info(
        old.name, old.doc, old.metadata, old.domain, old.op, version,
        old.overload, old.path, old.attributes, old.kept,
    )  # fmt: skip
    return Leaf(
        leaf.domain, leaf.op, version, leaf.operands, leaf.results,
        leaf.attributes, leaf.blocks, leaf.captures, info,
    )  # fmt: skip


def bound(rewriter: Rewriter, step: Step, values: Operands) -> Rewriter:
    """The rewriter, with its steps defining the results of the step."""
    made = {value for each in rewriter.steps for value in each.results}
    by: dict[Value, Value | None] = {}
    for position, result in enumerate(step.results):
        if result is None:
            continue
        value = values[position] if position < len(values) else None
        if value is None:
            raise NoForm(f'its result "{result.name}" has no form in opset {rewriter.opset}')
        if value in by or value not in made:
            value = rewriter.op("Identity", value)
        by[value] = result
    rewriter.steps = [_renamed(each, by) for each in rewriter.steps]
    return rewriter


def _renamed(step: Step, by: dict[Value, Value | None]) -> Step:
    if not by.keys().isdisjoint(reads(step)):
        step = with_operands(step, by)
    return step if by.keys().isdisjoint(step.results) else with_results(step, by)
