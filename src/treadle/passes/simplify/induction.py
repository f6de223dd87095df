"""Finds induction variables: values that are the iteration number plus or minus a constant.

    i    i + 3    7 - i    Cast(i)    Unsqueeze(i + 3)    a counter carried from 2, plus 1 each time

Casts to int32 are included: sums and differences wrap around alike, so results in range are right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from treadle.ir import DType, Leaf, Loop, Step, Value, ports
from treadle.passes.simplify.context import PassContext

_SAFE = 2**30
_COUNTS = (DType.INT64, DType.INT32)
_SAME_NUMBER = frozenset({"Cast", "Expand", "Identity", "Reshape", "Squeeze", "Unsqueeze"})


class AffineIndex(NamedTuple):
    """The number `first + i` in iteration i, or `first - i` if it counts down."""

    first: int
    back: bool = False

    def range(self, trips: int) -> tuple[int, int]:
        """The least number over a number of iterations, and the one after the greatest."""
        if self.back:
            return self.first - trips + 1, self.first + 1
        return self.first, self.first + trips


def affine_in_iteration(
    loop: Loop, value: Value | None, made: Mapping[Value, Step], at: PassContext
) -> AffineIndex | None:
    """The affine form of a one-element value of the body; None if it has none."""
    extents = at.extents(value)
    if value is None or extents is None or any(extent != 1 for extent in extents):
        return None
    if at.dtype(value) not in _COUNTS:
        return None
    if value is ports(loop).iteration:
        return AffineIndex(0)
    maker = made.get(value)
    found = _carried(loop, value, made, at) if maker is None else _made(loop, maker, made, at)
    return found if found is not None and abs(found.first) < _SAFE else None


def _carried(
    loop: Loop, value: Value, made: Mapping[Value, Step], at: PassContext
) -> AffineIndex | None:
    for port in ports(loop).carried:
        start = at.whole(port.initial)
        if value is port.param and start is not None and step_of(port.next, value, made, at) == 1:
            return AffineIndex(start)
    return None


def _made(
    loop: Loop, maker: Step, made: Mapping[Value, Step], at: PassContext
) -> AffineIndex | None:
    if not isinstance(maker, Leaf) or maker.domain or not maker.operands:
        return None
    if maker.op in _SAME_NUMBER:
        return affine_in_iteration(loop, maker.operands[0], made, at)
    if maker.op not in ("Add", "Sub"):
        return None
    left, right = maker.operands
    amount, found = at.whole(right), affine_in_iteration(loop, left, made, at)
    if found is not None and amount is not None:
        return found._replace(first=found.first + (amount if maker.op == "Add" else -amount))
    amount, found = at.whole(left), affine_in_iteration(loop, right, made, at)
    if found is None or amount is None:
        return None
    if maker.op == "Add":
        return found._replace(first=amount + found.first)
    return AffineIndex(amount - found.first, not found.back)


def step_of(
    value: Value | None, counter: Value, made: Mapping[Value, Step], at: PassContext
) -> int | None:
    """The increment of the counter that yields the value."""
    maker = made.get(value) if value is not None else None
    if not isinstance(maker, Leaf) or maker.domain or maker.op != "Add":
        return None
    left, right = maker.operands
    other = right if left is counter else left if right is counter else None
    return at.whole(other) if at.shape(other) == () else None
