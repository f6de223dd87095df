"""Infers a Branch: the join of both blocks, or the facts of the block that always runs."""

from __future__ import annotations

from treadle.infer.context import Inference, Scope
from treadle.infer.facts import Fact, join, truth
from treadle.ir import Branch


def infer_branch(run: Inference, branch: Branch, scope: Scope) -> list[Fact]:
    """Join both blocks' results (Operators.md, If); a constant condition selects one block's.

    A conflict in a block that may never run is reported as possible, not as certain.
    """
    taken = truth(run.of(branch.condition))
    operands = [run.of(value) for value in branch.operands]
    then = run.block(branch.then, operands, scope.body("then_branch", doubtful=taken is not True))
    otherwise = run.block(
        branch.otherwise, operands, scope.body("else_branch", doubtful=taken is not False)
    )
    if taken is not None:
        return then if taken else otherwise
    return list(map(join, then, otherwise))
