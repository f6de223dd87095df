"""Selects one of two values by a condition, in operators every runtime has for the dtype."""

from __future__ import annotations

from typing import Any, Protocol

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


class Writer(Protocol):
    """Writes steps; `unsqueeze` adds an axis in front of axis `axis`."""

    def leaf(self, op: str, *operands: Value, **attributes: Any) -> Value:
        """A step with one result."""
        ...

    def unsqueeze(self, value: Value, axis: int) -> Value:
        """A value with one more axis."""
        ...


def select(writer: Writer, condition: Value, new: Value, old: Value, dtype: DType | None) -> Value:
    """The new value if the scalar condition is true, else the old one; both have the same shape."""
    if new is old:
        return new
    if dtype is DType.BOOL:
        taken = writer.leaf("And", condition, new)
        kept = writer.leaf("And", writer.leaf("Not", condition), old)
        return writer.leaf("Or", taken, kept)
    if dtype in _PLAIN:
        return writer.leaf("Where", condition, new, old)
    both = writer.leaf("Concat", writer.unsqueeze(old, 0), writer.unsqueeze(new, 0), axis=0)
    return writer.leaf("Gather", both, writer.leaf("Cast", condition, to=_INT64), axis=0)


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
        return select(self, condition, new, old, dtype)

    def unsqueeze(self, value: Value, axis: int) -> Value:
        """The value with an axis of extent 1."""
        if self.at.opset >= _AXES_ARE_INPUTS:
            return self.leaf("Unsqueeze", value, self.constant(np.array([axis]), "axis"))
        return self.leaf("Unsqueeze", value, axes=[axis])
