"""Counters: whole numbers that grow by the same step in every iteration of a loop.

    i    i + 3    n - i    Cast(i)    a value carried from 2, plus 1 each time

A counter is `base + offset + step * i` in iteration i, with a base from outside the loop or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.ir import (
    CarriedArg,
    Constant,
    Elementwise,
    InductionVar,
    Loop,
    Node,
    Reshape,
    Shape,
    View,
)

WHOLE = (DType.INT64, DType.INT32)


@dataclass(frozen=True, slots=True)
class Counter:
    """base + offset + step * i."""

    base: Node | None = None
    offset: int = 0
    step: int = 0

    def plus(self, other: Counter, sign: int) -> Counter | None:
        """The sum, or with sign -1 the difference; None if it has more than one base."""
        base = self.base
        if other.base is not None:
            if sign < 0 and other.base is base:
                base = None
            elif sign < 0 or base is not None:
                return None
            else:
                base = other.base
        return Counter(base, self.offset + sign * other.offset, self.step + sign * other.step)

    def times(self, other: Counter) -> Counter | None:
        """The product with a number; None if neither is one, or if there is a base."""
        number, counter = (self, other) if not self.step else (other, self)
        if number.step or number.base is not None or counter.base is not None:
            return None
        return Counter(None, number.offset * counter.offset, number.offset * counter.step)

    def at(self, iteration: int) -> Counter:
        """Its value in one iteration."""
        return replace(self, offset=self.offset + self.step * iteration, step=0)


Counters = Mapping[Node, Counter]
"""The carried values that are counters."""


def counter_of(node: Node, loop: Loop, known: Counters) -> Counter | None:
    """A value of one element as a counter of the loop; None if it is none."""
    if node.dtype not in WHOLE or not node.is_single:
        return None
    return known.get(node) or _computed(node, loop, known) or _outer(node, loop)


def _computed(node: Node, loop: Loop, known: Counters) -> Counter | None:
    match node.op:
        case Constant(array=array):
            return Counter(None, int(array.item()))
        case InductionVar() if node.home is loop.body:
            return Counter(step=1)
        case View() | Reshape():
            return counter_of(node.operands[0], loop, known)
        case Elementwise("cast"):
            found = counter_of(node.operands[0], loop, known)
            return found if found is not None and found.base is None else None
        case Elementwise("add" | "sub" | "mul" as function):
            left, right = (counter_of(each, loop, known) for each in node.operands)
            if left is None or right is None:
                return None
            is_product = function == "mul"
            return (
                left.times(right) if is_product else left.plus(right, 1 - 2 * (function == "sub"))
            )
    return None


def _outer(node: Node, loop: Loop) -> Counter | None:
    """A value from outside the loop as its own base."""
    return Counter(node) if node.home.depth < loop.body.depth else None


def carried_counters(loop: Loop, initials: Sequence[Node]) -> dict[Node, Counter]:
    """The carried values of a loop that are counters."""
    found = dict[Node, Counter]()
    for state, initial, after in zip(loop.states, initials, loop.nexts, strict=True):
        first = counter_of(initial, loop, {})
        following = counter_of(after, loop, {**found, state: Counter(state)})
        if first is None or following is None or state.shape != initial.shape:
            continue
        if following.base is state and not following.step:
            found[state] = replace(first, step=following.offset)
        elif following.base is first.base and following.at(-1).offset == first.offset:
            found[state] = following.at(-1).plus(Counter(step=following.step), 1) or first
    return {state: each for state, each in found.items() if isinstance(state.op, CarriedArg)}


def written_counter(
    builder: KernelBuilder, counter: Counter, iteration: Node, dtype: DType, shape: Shape
) -> Node:
    """The counter's value at an iteration, whose number is a scalar; its base is of the kernel."""
    value = builder.scalar(counter.offset, DType.INT64)
    if counter.step:
        times = builder.scalar(abs(counter.step), DType.INT64)
        moved = iteration if abs(counter.step) == 1 else builder.map("mul", iteration, times)
        if counter.step < 0:
            value = builder.map("sub", value, moved)
        elif counter.offset:
            value = builder.map("add", moved, value)
        else:
            value = moved
    value = builder.cast(value, dtype)
    if counter.base is not None:
        base = builder.resolved(counter.base)
        has_more = counter.step or counter.offset
        value = builder.map("add", base, value) if has_more else base
    return builder.reshape(value, shape)
