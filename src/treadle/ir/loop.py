"""The one loop form: what each parameter of a body is, and what each result becomes.

    params  = Iteration | Condition | Invariant | Carried | Sliced(axis, reverse)      any order
    results = next condition, then one per Carried in the order of their params, one per Stacked

`ports` gives the views by role, so that no reader counts positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from treadle.ir.values import Value

if TYPE_CHECKING:
    from treadle.ir.graph import Loop


@dataclass(frozen=True, slots=True)
class Iteration:
    """The iteration number: int64, scalar, from 0."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition that let this iteration begin: always true."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """The same outer value in every iteration."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The initial value in iteration 0, then what the body gave; its last value is a result."""


@dataclass(frozen=True, slots=True)
class Sliced:
    """Item `i` of an outer value along `axis`, the axis removed; from the last when `reverse`."""

    axis: int = 0
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Stacked:
    """The body's results of all iterations along a new `axis`; the last first when `reverse`."""

    axis: int = 0
    reverse: bool = False


Role = Iteration | Condition | Invariant | Carried | Sliced


class InvariantPort(NamedTuple):
    """An outer value and the parameter that holds it."""

    operand: Value | None
    param: Value


class CarriedPort(NamedTuple):
    """The initial value, the parameter, what the body gives for it, and the loop's result."""

    initial: Value | None
    param: Value
    next: Value | None
    result: Value | None


class SlicedPort(NamedTuple):
    """The outer value that is sliced, the parameter, and how."""

    operand: Value | None
    param: Value
    role: Sliced


class StackedPort(NamedTuple):
    """What the body gives in each iteration, the loop's result, and how it is stacked."""

    element: Value | None
    result: Value | None
    role: Stacked


class Ports(NamedTuple):
    """A loop's parameters and results by role."""

    iteration: Value | None
    condition: Value | None
    next_condition: Value | None
    invariants: tuple[InvariantPort, ...]
    carried: tuple[CarriedPort, ...]
    sliced: tuple[SlicedPort, ...]
    stacked: tuple[StackedPort, ...]


def ports(loop: Loop) -> Ports:
    """The loop's parameters and results by role, each list in the order of the body."""
    operands = iter(loop.operands)
    single: dict[type, Value] = {}
    invariants: list[InvariantPort] = []
    started: list[tuple[Value | None, Value]] = []
    sliced: list[SlicedPort] = []
    for role, param in zip(loop.roles, loop.body.params, strict=True):
        match role:
            case Iteration() | Condition():
                single[type(role)] = param
            case Invariant():
                invariants.append(InvariantPort(next(operands), param))
            case Carried():
                started.append((next(operands), param))
            case Sliced():
                sliced.append(SlicedPort(next(operands), param, role))
    next_condition, *given = loop.body.results
    count = len(started)
    return Ports(
        single.get(Iteration),
        single.get(Condition),
        next_condition,
        tuple(invariants),
        tuple(
            CarriedPort(initial, param, given[k], loop.results[k])
            for k, (initial, param) in enumerate(started)
        ),
        tuple(sliced),
        tuple(map(StackedPort, given[count:], loop.results[count:], loop.stacks)),
    )
