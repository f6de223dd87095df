"""Copies the steps of a closed block into a Rewriter, over new values."""

from __future__ import annotations

from treadle.ir import (
    Block,
    Constant,
    Leaf,
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
    """The results of the block for these operands; missing ones at the end are absent."""
    absent = (None,) * (len(block.params) - len(operands))
    given: dict[Value, Value | None] = dict(zip(block.params, operands + absent, strict=True))
    if all(isinstance(step, Leaf) and not step.blocks for step in block.steps):
        return _straight(rewriter, block, given)
    part = clone_with_new_values(block, lambda value: rewriter.value(value.name))
    part = assign_paths(part, f"{rewriter.path}/{len(rewriter.steps)}")
    values = [given[param] for param in block.params]
    given = dict(zip(part.params, values, strict=True))
    for constant in part.constants:
        _add_constant(rewriter, constant)
    for step in part.steps:
        rewriter.add(with_operands(step, given))
    return substitute(part.results, given)


def _straight(rewriter: Rewriter, block: Block, known: dict[Value, Value | None]) -> Operands:
    """The same for a block that contains only leaves, faster."""
    for constant in block.constants:
        value = known[constant.value] = rewriter.value(constant.value.name)
        _add_constant(rewriter, Constant(value, constant.data))
    for step in block.steps:
        assert isinstance(step, Leaf), "looked at by the caller"
        operands = substitute(step.operands, known)
        results: list[Value | None] = []
        for result in step.results:
            new = None if result is None else rewriter.value(result.name)
            results.append(new)
            if result is not None:
                known[result] = new
        info = rewriter.info(step.op, step.version, step.domain)
        rewriter.add(
            Leaf(
                step.domain, step.op, step.version, operands, tuple(results), step.attributes,
                info=info,
            )
        )  # fmt: skip
    return substitute(block.results, known)


def _add_constant(rewriter: Rewriter, constant: Constant) -> None:
    rewriter.constants.append(constant)
    if isinstance(constant.data, Literal):
        rewriter.facts.constant(constant.value, constant.data)
