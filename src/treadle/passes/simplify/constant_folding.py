"""Folds what can be computed before any run into constants.

    Shape(x)                 where x has a certain shape
    Gather(Shape(x), 1)      where that extent is certain
    Add(constant, constant)  small, and of an operator every engine computes to the same bits

Declines where the step may fail, where the result has more than 1,024 elements, and for operators
whose last bit depends on who computes it (Exp, MatMul, sums of floats).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treadle import ops
from treadle.errors import KernelError, Unsupported
from treadle.ir import Block, Leaf, Step, dtype_of, operator_of, step_path
from treadle.passes.simplify.captures import map_implicit_captures
from treadle.passes.simplify.context import FEW, PassContext
from treadle.passes.simplify.operators import FLOATS, NUMBERS
from treadle.passes.simplify.speculation import is_pure, is_speculatable

NAME = "constants folded"
_WORDS = (
    "Abs Add And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Clip Concat"
    " ConstantOfShape Div Equal Expand EyeLike Flatten Floor Gather Greater GreaterOrEqual Identity"
    " IsInf IsNaN Less LessOrEqual Max Min Mod Mul Neg Not Or Range ReduceMax ReduceMin Reshape"
    " Round Shape Sign Size Slice Sqrt Squeeze Sub Tile Transpose Trilu Unsqueeze Where Xor"
)
_EXACT = frozenset(_WORDS.split())


def fold_constants(block: Block, at: PassContext) -> Block:
    """The open block with constants in the place of steps that compute one."""

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
    """The value of the step's only result, where it is certain and small."""
    if not isinstance(step, Leaf) or step.op == "Constant" or len(step.results) != 1:
        return None
    if step.op == "Identity" or not is_pure(step) or _is_undefined(step, at):
        return None
    array = at.array(step.results[0])
    if array is not None and array.size <= FEW and is_speculatable(step, at):
        return array
    operands = [at.array(value) for value in step.operands]
    pairs = zip(step.operands, operands, strict=True)
    if step.op not in _EXACT or any(v is not None and a is None for v, a in pairs):
        return None
    return _evaluated(step, operands)


def _is_undefined(leaf: Leaf, at: PassContext) -> bool:
    """Whether engines may differ: whole numbers over 0, floats too large for whole numbers."""
    if leaf.op in ("Div", "Mod"):
        return not is_speculatable(leaf, at)
    if leaf.op not in ("Cast", "CastLike") or at.dtype(leaf.operands[0]) not in FLOATS:
        return False
    made, array = at.dtype(leaf.results[0]), at.array(leaf.operands[0])
    if made is None or array is None or made not in NUMBERS:
        return True
    if made in FLOATS or made.numpy.kind == "b":
        return False
    bounds = np.iinfo(made.value)
    wide = array.astype(np.float64)
    return not bool(((wide > bounds.min) & (wide < bounds.max)).all())


def _evaluated(leaf: Leaf, operands: Sequence[np.ndarray | None]) -> np.ndarray | None:
    if any(array is not None and array.size > FEW for array in operands) or _is_large(
        leaf, operands
    ):
        return None
    try:
        (result,) = ops.bind_kernel(leaf)(operands)
    except (KernelError, Unsupported):
        return None
    if not isinstance(result, np.ndarray) or result.size > FEW or dtype_of(result.dtype) is None:
        return None
    return result


def _is_large(leaf: Leaf, operands: Sequence[np.ndarray | None]) -> bool:
    """Whether an operator that makes much out of little is asked for much."""
    sizes = [array for array in operands if array is not None]
    if leaf.op in ("ConstantOfShape", "Expand", "Tile"):
        return bool(sizes) and float(np.prod(sizes[-1].astype(np.float64))) * sizes[0].size > FEW**2
    if leaf.op == "Range" and len(sizes) == 3 and sizes[0].dtype.kind in "iuf":
        start, limit, step = (float(array.reshape(-1)[0]) for array in sizes)
        return step == 0 or abs((limit - start) / step) > FEW
    return False
