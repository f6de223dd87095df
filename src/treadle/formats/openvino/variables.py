"""What a block knows of the variables that its ReadValue and Assign layers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from treadle.ir import Literal, Value


@dataclass(slots=True)
class Variable:
    """A variable as one block sees it: what it holds before and after, and where it begins."""

    before: Value
    initial: Literal
    after: Value | None = None


class Assigned(NamedTuple):
    """What an Assign gives, and the line it stands in."""

    value: Value
    line: int
