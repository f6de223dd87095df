"""Rules about loops that, by the file alone, never run or never end."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.checks.constants import Known, is_true, whole
from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.ir import Loop, Tensor, ports

_NO_LIMIT = 2**63 - 1
"""The trip count that exporters write for a `while`."""


def findings(loop: Loop, path: str, known: Known) -> Iterator[Finding]:
    """Report a loop that provably never runs, or that nothing can stop."""
    view = ports(loop)
    trips = whole(known, loop.trip)
    reason = _never(loop, trips, known)
    if reason:
        hint = "replace the loop by its initial values: they are its results"
        yield finding("CF413", path, f"the loop never runs: {reason}", hint)
        return
    unlimited = loop.trip is None or trips == _NO_LIMIT
    if unlimited and not view.sliced and is_true(known, view.next_condition):
        value = view.next_condition
        named = value.name if value is not None else ""
        message = f"nothing stops the loop: it has no trip count, and {named} is always true"
        hint = "give it a trip count, or a condition that turns false"
        yield finding("CF414", path, message, hint)


def _never(loop: Loop, trips: int | None, known: Known) -> str:
    if trips is not None and trips <= 0:
        return f"its trip count is {trips}"
    if is_true(known, loop.condition) is False:
        return "its condition is false"
    for port in ports(loop).sliced:
        type_ = port.operand.inferred if port.operand is not None else None
        shape = type_.shape if isinstance(type_, Tensor) else None
        if shape and -len(shape) <= port.role.axis < len(shape) and shape[port.role.axis] == 0:
            assert port.operand is not None
            return f"{port.operand.name} has no items along axis {port.role.axis}"
    return ""
