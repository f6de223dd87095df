"""Puts the steps of a closed block among those a Rewriter collects, over new values."""

from __future__ import annotations

from treadle.ir import (
    Block,
    Literal,
    Operands,
    Value,
    clone_with_new_values,
    substitute,
    with_operands,
)
from treadle.passes.inline_block import assign_paths
from treadle.passes.versions.rewriter import Rewriter


def spliced(rewriter: Rewriter, block: Block, operands: Operands) -> Operands:
    """The results of the block for these operands; what is missing at the end is absent."""
    part = clone_with_new_values(block, lambda value: rewriter.value(value.name))
    part = assign_paths(part, f"{rewriter.path}/{len(rewriter.steps)}")
    absent = (None,) * (len(part.params) - len(operands))
    given: dict[Value, Value | None] = dict(zip(part.params, operands + absent, strict=True))
    for constant in part.constants:
        rewriter.constants.append(constant)
        if isinstance(constant.data, Literal):
            rewriter.facts.constant(constant.value, constant.data)
    for step in part.steps:
        rewriter.add(with_operands(step, given))
    return substitute(part.results, given)
