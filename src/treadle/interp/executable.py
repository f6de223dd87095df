"""Executable: the common interface of prepared steps and blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from treadle.errors import RunError
from treadle.ir import Block, Call, Leaf, Type
from treadle.plan import RunContext
from treadle.tracing import Iterations

Define = Callable[[Leaf | Call, Sequence[Type | None]], Block | None]
"""Returns the block by which the standard defines a step, for operands of these types, or None.

The block has one param for each operand, absent ones included, then one for each capture. The
step's attributes are bound in it.
"""


class Executable(Protocol):
    """A prepared step or block: maps values to values, by several threads at once.

    `iterations` are the iteration numbers of the enclosing loops.
    """

    def __call__(
        self, operands: Sequence[Any], context: RunContext, iterations: Iterations
    ) -> Sequence[Any]:
        """Return one value per result; None for an absent one, or an empty optional."""
        ...


Prepare = Callable[[Block, str], Executable]
"""Prepares a block for execution at a path."""


def with_location(error: RunError, path: str, iterations: Iterations) -> RunError:
    """The error with the location where it happened, unless it already has one."""
    if error.path and (error.iterations or not iterations):
        return error
    return type(error)(error.reason, error.path or path, error.iterations or iterations)
