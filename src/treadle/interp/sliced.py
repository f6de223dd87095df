"""Sliced values: item i of an outer value along an axis, the axis removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treadle.errors import RunError
from treadle.interp.carried import describe
from treadle.interp.frame import Frame
from treadle.ir import Sliced


@dataclass(frozen=True, slots=True)
class SlicedRule:
    """The outer value's name and how it is sliced."""

    name: str
    role: Sliced

    def items(self, value: object, path: str, frame: Frame) -> np.ndarray:
        """The value with its items along axis 0, in the order of the iterations."""
        if not isinstance(value, np.ndarray):
            reason = f'"{self.name}" is {describe(value)}, only tensors can be sliced'
            raise RunError(reason, path, frame.iterations)
        axis = self.role.axis
        if not -value.ndim <= axis < value.ndim:
            reason = f'"{self.name}" is {describe(value)} and cannot be sliced along axis {axis}'
            raise RunError(reason, path, frame.iterations)
        items = np.moveaxis(value, axis, 0)
        return items[::-1] if self.role.reverse else items


def common_length(
    rules: Sequence[SlicedRule], items: Sequence[np.ndarray], path: str, frame: Frame
) -> int:
    """The number of items, the same for every sliced value."""
    lengths = [len(each) for each in items]
    if len(set(lengths)) > 1:
        found = ", ".join(
            f'"{rule.name}" has {length}' for rule, length in zip(rules, lengths, strict=True)
        )
        reason = f"the scanned inputs must be equally long along their axes: {found}"
        raise RunError(reason, path, frame.iterations)
    return lengths[0]
