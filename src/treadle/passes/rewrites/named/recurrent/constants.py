"""Folds values that are the same in every run, if that only moves or adds numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from treadle import ops
from treadle.ir import Leaf, Step, Value
from treadle.passes.simplify.context import PassContext

_LARGEST = 2**28
_MOVING = frozenset(
    (
        "Add", "Cast", "Concat", "Constant", "ConstantOfShape", "Div", "Expand", "Flatten",
        "Gather", "Identity", "Mul", "Neg", "Reshape", "Shape", "Slice", "Split", "Squeeze", "Sub",
        "Sum", "Transpose", "Unsqueeze",
    )
)  # fmt: skip
"""Operators by which exporters arrange weights."""


class Constants:
    """The content of values of an open block that do not depend on inputs of the model."""

    def __init__(self, made: Mapping[Value, Step], at: PassContext) -> None:
        self._made, self._at = made, at
        self._known: dict[Value, np.ndarray | None] = {}

    def array(self, value: Value | None) -> np.ndarray | None:
        """The value in every run; None if it is not constant."""
        if value is None:
            return None
        if value not in self._known:
            found = self._at.array(value)
            self._known[value] = self._computed(value) if found is None else found
        return self._known[value]

    def _computed(self, value: Value) -> np.ndarray | None:
        maker = self._made.get(value)
        if not isinstance(maker, Leaf) or maker.domain or maker.op not in _MOVING:
            return None
        operands = [self.array(operand) for operand in maker.operands]
        pairs = zip(operands, maker.operands, strict=True)
        if any(array is None and operand is not None for array, operand in pairs):
            return None
        results = ops.fold(maker, operands, _LARGEST, exact=False)
        if results is None:
            return None
        found = dict(zip(maker.results, results, strict=False)).get(value)
        return found if isinstance(found, np.ndarray) else None
