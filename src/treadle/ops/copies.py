"""Resolves values that are copies of others."""

from __future__ import annotations

from collections.abc import Mapping

from treadle.ir import Leaf, Step, Value


def resolve_copies(value: Value | None, made: Mapping[Value, Step]) -> Value | None:
    """Follow Identity steps back to the value that they copy; a value that is no copy is returned.

    `made` maps values to the step of the block that defines them.
    """
    while value is not None:
        step = made.get(value)
        if not isinstance(step, Leaf) or step.domain or step.op != "Identity":
            return value
        value = step.operands[0] if step.operands else None
    return None
