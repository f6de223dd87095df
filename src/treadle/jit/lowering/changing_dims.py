"""Finds the axes of carried values whose extent may change between iterations."""

from __future__ import annotations

from collections.abc import Sequence

from treadle import ir
from treadle.jit.kernel.ir import Node

ChangingAxes = frozenset[tuple[int, int]]
"""Numbers of carried values, each with an axis."""


def lost_axes(step: ir.Loop, operands: Sequence[Node | None]) -> ChangingAxes:
    """The axes of carried values whose extent inference knew initially but not in the loop."""
    given = dict(zip(step.operands, operands, strict=True))
    found = set[tuple[int, int]]()
    for number, port in enumerate(ir.ports(step).carried):
        node = given.get(port.initial)
        before, after = (_inferred(value) for value in (port.initial, port.param))
        if node is None or before is None or after is None or len(before) != len(after):
            continue
        found |= {
            (number, axis)
            for axis, (old, new) in enumerate(zip(before, after, strict=True))
            if isinstance(new, ir.Range | None) and not isinstance(old, ir.Range | None)
        }
    return frozenset(found)


def _inferred(value: ir.Value | None) -> ir.Shape | None:
    return value.inferred.shape if value and isinstance(value.inferred, ir.Tensor) else None


def changing_axes(states: Sequence[Node], nexts: Sequence[Node]) -> ChangingAxes:
    """The axes along which the extent of a carried value may change."""
    found = set[tuple[int, int]]()
    for number, (state, after) in enumerate(zip(states, nexts, strict=True)):
        pairs = enumerate(zip(state.shape, after.shape, strict=True))
        found |= {(number, axis) for axis, (old, new) in pairs if old != new}
    return frozenset(found)
