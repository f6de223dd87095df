"""Folds steps whose results are known before any run into constants.

    Shape(x)                 if x has a known shape
    Gather(Shape(x), 1)      if that extent is known
    Add(constant, constant)  small, and of an operator every engine computes to the same bits

Declines if the step may fail, if the result has more than 1,024 elements, and for operators whose
last bit depends on the engine (Exp, MatMul, sums of floats).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treadle import ops
from treadle.ir import Block, Leaf, Step, dtype_of, operator_of, step_path
from treadle.passes.simplify.captures import map_implicit_captures
from treadle.passes.simplify.context import FEW, PassContext
from treadle.passes.simplify.speculation import is_pure, is_speculatable

NAME = "constants folded"


def fold_constants(block: Block, at: PassContext) -> Block:
    """Replace steps of the open block by constants."""

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        steps: list[Step] = []
        constants = inner
        for position, step in enumerate(inner.steps):
            array = folded_leaf(step, at)
            result = step.results[0] if step.results else None
            if array is None or result is None:
                steps.append(step)
                continue
            constants, made = at.constant(constants, result, array)
            steps += made
            at.note(NAME, step_path(path, step, position), operator_of(step))
        if len(constants.constants) == len(inner.constants) and len(steps) == len(inner.steps):
            return inner if steps == list(inner.steps) else replace(inner, steps=tuple(steps))
        return replace(constants, steps=tuple(steps))

    return map_implicit_captures(block, change)


def folded_leaf(step: Step, at: PassContext) -> np.ndarray | None:
    """The value of the step's only result, if it is known and small."""
    if not isinstance(step, Leaf) or step.op == "Constant" or len(step.results) != 1:
        return None
    if step.op == "Identity" or not is_pure(step):
        return None
    array = at.array(step.results[0])
    if array is not None and array.size <= FEW and is_speculatable(step, at):
        return array
    operands = [at.array(value) for value in step.operands]
    pairs = zip(step.operands, operands, strict=True)
    if any(value is not None and array is None for value, array in pairs):
        return None
    (result,) = ops.fold(step, operands, FEW) or (None,)
    is_tensor = isinstance(result, np.ndarray) and dtype_of(result.dtype) is not None
    return result if is_tensor else None
