"""Truths that programs write as numbers: Greater(Cast(t), 0.5) is t, Equal(Cast(t), 0) is not t."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.ir import Constant, Elementwise, Node

_COMPARISONS = {
    "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt, "greater": operator.gt,
    "less_equal": operator.le, "greater_equal": operator.ge,
}  # fmt: skip


def compared_truth(function: str, operands: Sequence[Node]) -> tuple[Node, bool] | None:
    """The truth that a comparison of it as a number with a constant is, or is the opposite of."""
    compare = _COMPARISONS.get(function)
    for k, operand in enumerate(operands if compare else ()):
        truth, other = _truth(operand), operands[1 - k].op
        if truth is None or compare is None or not isinstance(other, Constant):
            continue
        if not operands[1 - k].is_single:
            continue
        numbers = np.arange(2).astype(operand.dtype.numpy), other.array.reshape(())
        no, yes = compare(*(numbers if k == 0 else numbers[::-1]))
        if no != yes:
            return truth, bool(yes)
    return None


def _truth(node: Node) -> Node | None:
    is_cast = node.op == Elementwise("cast") and node.operands[0].dtype is DType.BOOL
    return node.operands[0] if is_cast else None
