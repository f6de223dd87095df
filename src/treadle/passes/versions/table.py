"""The table of adapters: each converts an operator across one change of its schema.

    @down("Squeeze", 13)     from version 13 to what opset 12 has
    @up("Squeeze", 13)       from the version before 13 to version 13

An adapter is a function of the Rewriter and the step. It returns the step with other operands and
attributes, whose version the caller sets, or values that replace the step's results, computed by
operators of the opset on the other side of the change. It raises NoForm if there is no such form.
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
"""Downwards, keyed by operator and the version before the conversion."""

UP: dict[tuple[str, int], Adapter] = {}
"""Upwards, keyed by operator and the version after the conversion."""


def down(operators: str, version: int) -> Callable[[Adapter], Adapter]:
    """Register an adapter of these operators from this version to the previous one."""
    return _register(DOWN, operators, version)


def up(operators: str, version: int) -> Callable[[Adapter], Adapter]:
    """Register an adapter of these operators from the previous version to this one."""
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
