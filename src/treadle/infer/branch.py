"""Facts of a Branch: what holds of both blocks, or of the one that is always taken."""

from __future__ import annotations

from treadle.infer.context import Inference, Scope
from treadle.infer.facts import Fact, join, truth
from treadle.ir import Branch


def infer_branch(run: Inference, branch: Branch, place: Scope) -> list[Fact]:
    """The union of both blocks' results (Operators.md, If); of a constant condition, one block's.

    A fault in a block that may never run is doubtful, not certain.
    """
    taken = truth(run.of(branch.condition))
    operands = [run.of(value) for value in branch.operands]
    then = run.block(branch.then, operands, place.body("then_branch", doubtful=taken is not True))
    otherwise = run.block(
        branch.otherwise, operands, place.body("else_branch", doubtful=taken is not False)
    )
    if taken is not None:
        return then if taken else otherwise
    return list(map(join, then, otherwise))
