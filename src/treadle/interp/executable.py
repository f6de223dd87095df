"""What every part of a program is once it is ready to run: an Executable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from treadle.errors import RunError
from treadle.ir import Block, Call, Leaf, Type
from treadle.plan import RunContext
from treadle.tracing import Iterations

Define = Callable[[Leaf | Call, Sequence[Type | None]], Block | None]
"""The block the standard defines a step by, for operands of these types; None: there is none.

Its params are one for each operand, absent ones included, then one for each capture. The step's
attributes are bound in it.
"""


class Executable(Protocol):
    """A step or a block ready to run, by several threads at once: values in, values out.

    `iterations` are those of the loops around it.
    """

    def __call__(
        self, operands: Sequence[Any], context: RunContext, iterations: Iterations
    ) -> Sequence[Any]:
        """One value per result; None for an absent one, or an empty optional."""
        ...


Prepare = Callable[[Block, str], Executable]
"""Makes a block ready to run that stands at a path."""


def with_location(error: RunError, path: str, iterations: Iterations) -> RunError:
    """The error, saying where it happened as far as it does not."""
    if error.path and (error.iterations or not iterations):
        return error
    return type(error)(error.reason, error.path or path, error.iterations or iterations)
