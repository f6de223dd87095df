"""The variables of a block, shared by its ReadValue and Assign layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from treadle.ir import Literal, Value


@dataclass(slots=True)
class Variable:
    """A variable in one block: its value before and after, and its initial value."""

    before: Value
    initial: Literal
    after: Value | None = None


class Assigned(NamedTuple):
    """The value of an Assign, and its line."""

    value: Value
    line: int
