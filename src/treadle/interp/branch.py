"""Branch: only the block that the condition picks runs (If, spec digest 3.4).

results = (then if condition else otherwise)(*operands)
"""

from __future__ import annotations

from treadle.interp.block import BlockProgram, SlotsOf
from treadle.interp.frame import Action, Frame, Slots
from treadle.interp.scalar import condition
from treadle.ir import Branch
from treadle.tracing import BranchTaken


def compile_branch(
    step: Branch, path: str, slots: SlotsOf, then: BlockProgram, otherwise: BlockProgram
) -> Action:
    """The action of a Branch over its two prepared blocks."""
    decides, operands = slots.of(step.condition), slots.all(step.operands)
    results = slots.all(step.results)

    def act(values: Slots, frame: Frame) -> None:
        taken = condition(values[decides], "the condition", path, frame)
        listener = frame.context.listener
        if listener is not None:
            listener(BranchTaken(path, frame.iterations, "then_branch" if taken else "else_branch"))
        block = then if taken else otherwise
        made = block([values[slot] for slot in operands], frame)
        for slot, value in zip(results, made, strict=True):
            if slot:
                values[slot] = value

    return act
