"""The table of adapters: what takes an operator over one change of its schema.

    @down("Squeeze", 13)     from version 13 to what opset 12 has
    @up("Squeeze", 13)       from the version before 13 to version 13

An adapter is a function of the Rewriter and the step. It gives the step itself with other operands
and attributes, whose version the caller sets, or the values that stand for the step's results, made
of operators of the opset on the other side of the change. It raises NoForm where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treadle.ir import Leaf, Value
from treadle.passes.versions.no_form import NoForm
from treadle.passes.versions.rewriter import Rewriter

__all__ = ["DOWN", "UP", "Adapted", "Adapter", "NoForm", "down", "up"]

Adapted = Leaf | Value | Sequence[Value | None]
Adapter = Callable[[Rewriter, Leaf], Adapted]

DOWN: dict[tuple[str, int], Adapter] = {}
"""By operator and the version that is left, downwards."""

UP: dict[tuple[str, int], Adapter] = {}
"""By operator and the version that is reached, upwards."""


def down(operators: str, version: int) -> Callable[[Adapter], Adapter]:
    """Registers what takes these operators, of this version, to the opset before it."""
    return _register(DOWN, operators, version)


def up(operators: str, version: int) -> Callable[[Adapter], Adapter]:
    """Registers what takes these operators to this version from the one before it."""
    return _register(UP, operators, version)


def _register(
    table: dict[tuple[str, int], Adapter], operators: str, version: int
) -> Callable[[Adapter], Adapter]:
    def add(adapter: Adapter) -> Adapter:
        for operator in operators.split():
            assert (operator, version) not in table, f"{operator}-{version} has an adapter"
            table[operator, version] = adapter
        return adapter

    return add
