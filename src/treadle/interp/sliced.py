"""Sliced inputs of a loop: item `i` of each along its axis, from the last when reversed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle import ops
from treadle.errors import RunError
from treadle.ir import SlicedPort
from treadle.tracing import Iterations


@dataclass(frozen=True, slots=True)
class Slices:
    """The sliced tensors with their axis moved to the front, in the order of iteration."""

    arrays: tuple[np.ndarray, ...]

    @property
    def length(self) -> int | None:
        """The number of items; None if nothing is sliced."""
        return len(self.arrays[0]) if self.arrays else None

    def items(self, iteration: int) -> Iterator[np.ndarray]:
        """Item `iteration` of each, the axis removed; a scalar is an array of rank 0."""
        return (array[iteration, ...] for array in self.arrays)


def slices(
    ports: Sequence[SlicedPort],
    values: Sequence[Any],
    limit: int | None,
    path: str,
    iterations: Iterations,
) -> Slices:
    """Slice these values; raises RunError if an axis is out of range, or lengths differ.

    `limit` is the trip count, if there is one: every tensor must have at least that many items.
    """
    arrays = tuple(_moved(p, v, path, iterations) for p, v in zip(ports, values, strict=True))
    lengths = [len(array) for array in arrays]
    if limit is None and len(set(lengths)) > 1:
        raise RunError(
            f"{_listed(ports, lengths)}; what is sliced must have one length", path, iterations
        )
    if limit is not None and lengths and min(lengths) < limit:
        raise RunError(
            f"the trip count is {limit}, but {_listed(ports, lengths)}", path, iterations
        )
    return Slices(arrays)


def _moved(port: SlicedPort, value: Any, path: str, iterations: Iterations) -> np.ndarray:
    name, axis = _name(port), port.role.axis
    if not isinstance(value, np.ndarray) or not value.ndim:
        found = ops.describe(value)
        raise RunError(
            f"{name} is sliced but is {found}, wanted a tensor of rank 1 or more,"
            " a scalar has no axis",
            path,
            iterations,
        )
    if not -value.ndim <= axis < value.ndim:
        raise RunError(
            f"{name} is sliced along axis {axis} but is {ops.describe(value)}, wanted an axis from"
            f" {-value.ndim} to {value.ndim - 1}",
            path,
            iterations,
        )
    moved = np.moveaxis(value, axis, 0)
    return moved[::-1] if port.role.reverse else moved


def _listed(ports: Sequence[SlicedPort], lengths: Sequence[int]) -> str:
    return ", ".join(
        f"{_name(port)} has {length} items along axis {port.role.axis}"
        for port, length in zip(ports, lengths, strict=True)
    )


def _name(port: SlicedPort) -> str:
    return f'"{port.operand.name}"' if port.operand is not None else "an absent operand"
