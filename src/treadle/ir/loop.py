"""Views of a loop by role: `ports` pairs operands, parameters and results by role."""

from __future__ import annotations

from typing import NamedTuple

from treadle.ir.graph import Loop
from treadle.ir.roles import Carried, Condition, Invariant, Iteration, Sliced, Stacked
from treadle.ir.types import Tensor
from treadle.ir.values import Value


class InvariantPort(NamedTuple):
    """An outer value and the parameter that holds it."""

    operand: Value | None
    param: Value


class CarriedPort(NamedTuple):
    """The initial value, the parameter, the body's next value, and the loop's result."""

    initial: Value | None
    param: Value
    next: Value | None
    result: Value | None


class SlicedPort(NamedTuple):
    """The outer value that is sliced, the parameter, and the role with axis and direction."""

    operand: Value | None
    param: Value
    role: Sliced


class StackedPort(NamedTuple):
    """The body's element, the loop's result, and how the elements are stacked."""

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


def slices_inputs(loop: Loop) -> bool:
    """Whether the loop iterates over sliced values, as ONNX's Scan does."""
    return any(isinstance(role, Sliced) for role in loop.roles)


def declared_rank(loop: Loop, position: int) -> int:
    """The rank that the body declares for its iteration number or condition: 0 or 1.

    The standard requires scalars; the runtimes pass the declared rank (measured: L13c).
    """
    declared = loop.body.params[position].declared
    shape = declared.shape if isinstance(declared, Tensor) else None
    return int(shape is not None and len(shape) == 1)
