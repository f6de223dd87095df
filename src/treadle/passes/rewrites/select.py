"""Selects one of two values by a condition, in operators every runtime has for the dtype."""

from __future__ import annotations

import numpy as np

from treadle.ir import DType, Value
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.step_builder import StepBuilder

_INT64 = 7
_AXES_ARE_INPUTS = 13
_PLAIN = frozenset(
    {DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64, DType.UINT8, DType.STRING}
)
"""Element types for which every runtime has Where."""


class Selecting(StepBuilder):
    """Writes selections; both values have the same shape, so only the condition is broadcast."""

    def __init__(self, at: PassContext) -> None:
        super().__init__(at)

    def scalar(self, value: Value) -> Value:
        """Reshape a one-element value to a scalar."""
        if self.at.shape(value) == ():
            return value
        return self.leaf("Reshape", value, self.constant(np.zeros(0, np.int64), "no_axes"))

    def choose(self, condition: Value, new: Value, old: Value, dtype: DType | None) -> Value:
        """The new value if the scalar condition is true, else the old one."""
        if new is old:
            return new
        if dtype is DType.BOOL:
            taken = self.leaf("And", condition, new)
            kept = self.leaf("And", self.leaf("Not", condition), old)
            return self.leaf("Or", taken, kept)
        if dtype in _PLAIN:
            return self.leaf("Where", condition, new, old)
        index = self.leaf("Cast", condition, to=_INT64)
        both = self.leaf("Concat", self._row(old), self._row(new), axis=0)
        return self.leaf("Gather", both, index, axis=0)

    def _row(self, value: Value) -> Value:
        if self.at.opset >= _AXES_ARE_INPUTS:
            return self.leaf("Unsqueeze", value, self.constant(np.array([0]), "axis"))
        return self.leaf("Unsqueeze", value, axes=[0])
