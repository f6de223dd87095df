"""Which values are mere copies of others."""

from __future__ import annotations

from collections.abc import Mapping

from treadle.ir import Leaf, Step, Value


def resolve_copies(value: Value | None, made: Mapping[Value, Step]) -> Value | None:
    """What a value is a mere copy of, through any number of Identity steps; itself if of nothing.

    `made` has the step that makes each value, where one of the block does.
    """
    while value is not None:
        step = made.get(value)
        if not isinstance(step, Leaf) or step.domain or step.op != "Identity":
            return value
        value = step.operands[0] if step.operands else None
    return None
