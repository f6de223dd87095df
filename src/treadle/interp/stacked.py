"""Stacked outputs of a loop: the elements of all iterations along a new axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from treadle import ops
from treadle.errors import RunError
from treadle.ir import (
    Dim,
    Expression,
    Loop,
    Operands,
    StackedPort,
    Symbol,
    Tensor,
    Type,
    ports,
)
from treadle.tracing import Iterations, size_of

Extents = Mapping[str, int]
"""The run-time extents of symbols."""


@dataclass(slots=True)
class Stack:
    """Collects the elements of one stacked result during one run of its loop.

        result = np.stack(elements[::-1] if reverse else elements, axis)

    All elements have one shape and one dtype. Without an iteration the result is the element's
    shape with a 0 inserted at the axis; see `made`. Nothing is collected for a result left out.
    """

    port: StackedPort
    number: int
    types: tuple[Tensor, ...]
    elements: list[np.ndarray] = field(default_factory=list)
    size: int = 0

    def add(self, element: Any, path: str, iterations: Iterations) -> None:
        """Append the element of one iteration.

        Raises RunError if it does not match the first one.
        """
        if self.port.result is None:
            return
        if not isinstance(element, np.ndarray):
            raise self._error(f"is {ops.describe(element)}, wanted a tensor", path, iterations)
        if self.elements:
            first = self.elements[0]
            if element.shape != first.shape or element.dtype != first.dtype:
                found, wanted = ops.describe(element), ops.describe(first)
                fault = f"is {found}, but was {wanted} in iteration 0; elements must be alike"
                raise self._error(fault, path, iterations)
        self.elements.append(element)
        self.size += size_of(element)

    def made(self, extents: Extents, path: str, iterations: Iterations) -> np.ndarray | None:
        """The stacked result; None if it is left out.

        Without an iteration the inferred type of the element decides; the file's declaration is
        used only where inference knows nothing. An unknown dim becomes 0, an unknown rank gives the
        shape (0,), and an unknown dtype is a RunError.
        """
        if self.port.result is None:
            return None
        axis = self.port.role.axis
        if not self.elements:
            return self._empty(axis, extents, path, iterations)
        rank = self.elements[0].ndim + 1
        if not -rank <= axis < rank:
            raise self._error(_out_of_range(axis, rank), path, iterations)
        try:
            return np.stack(self.elements[:: -1 if self.port.role.reverse else 1], axis)
        except MemoryError:
            fault = f"is too large: {len(self.elements)} elements do not fit into memory"
            raise self._error(fault, path, iterations) from None

    def _empty(self, axis: int, extents: Extents, path: str, iterations: Iterations) -> np.ndarray:
        dtype = next((t.dtype for t in self.types if t.dtype is not None), None)
        shape = next((t.shape for t in self.types if t.shape is not None), None)
        if dtype is None:
            fault = "has an unknown dtype, and the loop ran no iteration that would determine it"
            raise self._error(fault, path, iterations)
        if shape is None:
            return np.zeros((0,), dtype.numpy)
        element = [_extent(dim, extents) for dim in shape]
        rank = len(element) + 1
        if not -rank <= axis < rank:
            raise self._error(_out_of_range(axis, rank), path, iterations)
        element.insert(axis % rank, 0)
        return np.zeros(element, dtype.numpy)

    def _error(self, fault: str, path: str, iterations: Iterations) -> RunError:
        name = f'"{self.port.element.name}"' if self.port.element is not None else "left out"
        result = self.port.result.name if self.port.result is not None else ""
        return RunError(
            f'body output {self.number} ({name}), stacked as "{result}", {fault}', path, iterations
        )


def stacks(loop: Loop) -> tuple[Stack, ...]:
    """One empty stack for each stacked result of the loop."""
    view = ports(loop)
    first = 1 + len(view.carried)
    return tuple(
        Stack(port, number, _types(loop, port, number))
        for number, port in enumerate(view.stacked, start=first)
    )


def _types(loop: Loop, port: StackedPort, number: int) -> tuple[Tensor, ...]:
    """The types of the element, the most trusted first: inferred, then declared."""
    said: list[Type | None] = []
    if port.element is not None:
        said += [port.element.inferred, port.element.declared]
    if loop.body.claims:
        said.append(loop.body.claims[number].type)
    if port.result is not None:
        said += [_without_shape(port.result.inferred), _without_shape(port.result.declared)]
    return tuple(type_ for type_ in said if isinstance(type_, Tensor))


def _without_shape(type_: Type | None) -> Type | None:
    return Tensor(type_.dtype) if isinstance(type_, Tensor) else None


def extents(values: Operands, given: Sequence[Any]) -> Extents:
    """The run-time extents of the symbols in these values' types.

    None if a symbol has two extents.
    """
    seen: dict[str, set[int]] = {}
    for value, array in zip(values, given, strict=True):
        type_ = value.type if value is not None else None
        if isinstance(type_, Tensor) and isinstance(array, np.ndarray):
            for dim, extent in zip(type_.shape or (), array.shape, strict=False):
                if isinstance(dim, Symbol):
                    seen.setdefault(dim.name, set()).add(extent)
    return {name: found.pop() for name, found in seen.items() if len(found) == 1}


def _extent(dim: Dim, known: Extents) -> int:
    match dim:
        case int():
            return dim
        case Symbol(name):
            return known.get(name, 0)
        case Expression(terms) if all(name in known for names, _ in terms for name in names):
            return max(sum(k * prod(known[name] for name in names) for names, k in terms), 0)
    return 0


def _out_of_range(axis: int, rank: int) -> str:
    return f"is stacked along axis {axis}, wanted an axis from {-rank} to {rank - 1}"
