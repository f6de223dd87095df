"""The state of a value in the batch analysis.

State = None            it does not depend on the batch at all
      | Axis(k)         row i along axis k depends on row i of the inputs alone
      | Extents(...)    integers computed from shapes: which of them depend on the number of rows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle.errors import TreadleError
from treadle.ir import Leaf, Tensor, Value
from treadle.ops import attributes_of, defaults_of

ROWS = "number of rows"
"""The symbol that replaces the extent of the batch axis during the analysis."""


class Mixed(TreadleError):
    """A step whose result for one row depends, or may depend, on other rows.

    `path` is its place.
    """

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason, self.path = reason, path


@dataclass(frozen=True, slots=True)
class Axis:
    """The batch axis of a value, counted from the front."""

    number: int


@dataclass(frozen=True, slots=True)
class Extents:
    """Integers computed from shapes: one or a list, and which depend on the number of rows."""

    elements: tuple[bool, ...]
    is_scalar: bool = False


State = Axis | Extents | None


@dataclass(frozen=True, slots=True)
class Operator:
    """A leaf with the states of its operands, for its rule; `known` are constants."""

    leaf: Leaf
    states: tuple[State, ...]
    known: tuple[np.ndarray | None, ...]

    def attribute(self, name: str, default: Any = None) -> Any:
        """The attribute's value, else the schema's default, else `default`."""
        leaf = self.leaf
        if name in leaf.attributes:
            return attributes_of({name: leaf.attributes[name]})[name]
        return defaults_of(leaf.domain, leaf.op, leaf.version).get(name, default)

    def rank(self, position: int) -> int:
        """The rank of an operand; raises Mixed if it is not known."""
        return rank_of(self.leaf.operands[position])

    def is_present(self, position: int) -> bool:
        """Whether the operand is given."""
        return position < len(self.leaf.operands) and self.leaf.operands[position] is not None

    def state(self, position: int) -> State:
        """The state of an operand; None for an absent one."""
        return self.states[position] if position < len(self.states) else None

    def constant(self, position: int) -> np.ndarray | None:
        """The content of an operand, if it is known."""
        return self.known[position] if position < len(self.known) else None

    def axis(self, position: int = 0) -> int:
        """The batch axis of an operand that must have one."""
        state = self.state(position)
        if not isinstance(state, Axis):
            raise Mixed(f"operand {position} has no batch axis and another one has")
        return state.number

    def only(self, *positions: int) -> None:
        """Raise Mixed if any other operand depends on the batch."""
        for position, state in enumerate(self.states):
            if position not in positions and depends(state):
                raise Mixed(f"its operand {position} depends on the batch")

    def axes(self, position: int, name: str = "axes") -> list[int] | None:
        """Axes from an operand or, in old versions, an attribute, from the front.

        None if absent.
        """
        found = self.attribute(name)
        if found is None and self.is_present(position):
            array = self.constant(position)
            if array is None:
                raise Mixed(f"its {name} are not constant")
            found = array.reshape(-1).tolist()
        return None if found is None else [int(axis) for axis in found]


def depends(state: State) -> bool:
    """Whether a value depends on the batch: by its rows, or by their number."""
    return isinstance(state, Axis) or (isinstance(state, Extents) and any(state.elements))


def rank_of(value: Value | None) -> int:
    """The rank of a value; raises Mixed if it is not known."""
    shape = shape_of(value)
    if shape is None:
        raise Mixed("the rank of a value is not known")
    return len(shape)


def shape_of(value: Value | None) -> Sequence[Any] | None:
    """The dims of a tensor; None if they are not known."""
    found = value.type if value is not None else None
    return found.shape if isinstance(found, Tensor) else None
