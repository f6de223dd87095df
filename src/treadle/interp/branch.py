"""If: runs the block that its condition selects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle.interp.executable import Executable
from treadle.interp.scalars import boolean
from treadle.plan import RunContext
from treadle.tracing import BranchTaken, Iterations


def prepare_branch(path: str, then: Executable, otherwise: Executable) -> Executable:
    """Prepare the Branch over two prepared blocks; operands are (condition, *params of both).

        results = then(*operands) if condition else otherwise(*operands)

    The condition holds exactly one element, of any rank (If: "cond: Condition for the `if`. The
    tensor must contain a single element").
    """

    def act(operands: Sequence[Any], context: RunContext, iterations: Iterations) -> Sequence[Any]:
        taken = boolean(operands[0], "the condition", path, iterations)
        if context.listener is not None:
            context.listener(
                BranchTaken(path, iterations, "then_branch" if taken else "else_branch")
            )
        return (then if taken else otherwise)(operands[1:], context, iterations)

    return act
