"""Evaluates one operator; where it has no kernel, the function its schema defines it by."""

from __future__ import annotations

from treadle import ops
from treadle.errors import KernelError, RunError
from treadle.interp.block import SlotsOf
from treadle.interp.frame import Action, Frame, Slots
from treadle.ir import Leaf


def compile_leaf(step: Leaf, path: str, slots: SlotsOf) -> Action:
    """The action of a leaf; Unsupported where no kernel evaluates it."""
    evaluate = ops.prepare(step, silent=False)
    operands, results = slots.all(step.operands), slots.all(step.results)

    def act(values: Slots, frame: Frame) -> None:
        try:
            made = evaluate([values[slot] for slot in operands])
        except KernelError as error:
            raise RunError(error.reason, path, frame.iterations) from error
        for slot, value in zip(results, made, strict=True):
            if slot:
                values[slot] = value

    return act
