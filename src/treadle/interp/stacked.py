"""Stacked values: one element an iteration, put together along a new axis.

Every element has the same dtype and shape (Loop: "it is an error if the dimensions or data type of
these scan outputs change across loop iterations"). For zero iterations the result has extent 0
along the axis, and the dtype and shape that are known of the element elsewhere: 0 for a dim that is
not, no further axes for an unknown rank, float32 for an unknown dtype. A symbol is known where what
the body was to be given has it: a Scan over x[0, k] has elements of k if inference says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from treadle.errors import RunError
from treadle.interp.carried import describe
from treadle.interp.frame import Frame
from treadle.ir import Dim, DType, Expression, Stacked, Symbol, Tensor, Type


@dataclass(frozen=True, slots=True)
class StackedRule:
    """How one result of a body is stacked: its name there, the loop's result, its type."""

    element: str
    result: str
    role: Stacked
    type: Type | None

    def empty(self, extents: Mapping[str, int]) -> np.ndarray:
        """The result of zero iterations; `extents` are those of the symbols that are known."""
        known = self.type if isinstance(self.type, Tensor) else Tensor()
        shape = [_extent(dim, extents) for dim in known.shape or ()]
        axis = self.role.axis
        shape.insert(axis if axis >= 0 else axis + len(shape) + 1, 0)
        return np.empty(shape, (known.dtype or DType.FLOAT32).numpy)


def _extent(dim: Dim, extents: Mapping[str, int]) -> int:
    if isinstance(dim, Symbol):
        return extents.get(dim.name, 0)
    if isinstance(dim, Expression):
        if any(name not in extents for symbols, _ in dim.terms for name in symbols):
            return 0
        terms = (times * prod(extents[name] for name in symbols) for symbols, times in dim.terms)
        return max(sum(terms), 0)
    return dim if isinstance(dim, int) else 0


@dataclass(slots=True)
class Stack:
    """The elements of one run of a loop."""

    rule: StackedRule
    elements: list[np.ndarray] = field(default_factory=list)

    def push(self, element: object, path: str, frame: Frame) -> None:
        """Add an element; RunError unless it is a tensor like those before it."""
        if not isinstance(element, np.ndarray):
            raise self._error(f"is {describe(element)}, only tensors can be stacked", path, frame)
        first = self.elements[0] if self.elements else element
        if element.shape != first.shape or element.dtype != first.dtype:
            found, wanted = describe(element), describe(first)
            raise self._error(f"is {found}, but was {wanted} in iteration 0", path, frame)
        self.elements.append(element)

    def _error(self, what: str, path: str, frame: Frame) -> RunError:
        name = f'the element "{self.rule.element}" of the stacked output "{self.rule.result}"'
        return RunError(f"{name} {what}", path, frame.iterations)

    def result(self, extents: Mapping[str, int], path: str, frame: Frame) -> np.ndarray:
        """The elements along the new axis, the last first when the role says reverse."""
        if not self.elements:
            return self.rule.empty(extents)
        axis, rank = self.rule.role.axis, self.elements[0].ndim + 1
        if not -rank <= axis < rank:
            raise self._error(f"cannot be stacked along axis {axis}, of {rank}", path, frame)
        elements = self.elements[::-1] if self.rule.role.reverse else self.elements
        return np.stack(elements, axis)
