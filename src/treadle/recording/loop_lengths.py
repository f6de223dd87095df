"""Which loops of a model are long for given inputs, and so run in windows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from treadle.ir import (
    Block,
    Branch,
    Leaf,
    Loop,
    Model,
    Tensor,
    Value,
    bodies,
    ports,
    step_path,
    walk,
)
from treadle.ops import RANDOM

LONG = 4_096
"""The number of iterations above which loops of the main block run in windows."""
FEW = 64
"""The number of times above which a body around a loop of unknown length is not run by itself."""
Known = Mapping[Value, np.ndarray]
"""The values known before a run: constants and inputs."""


def long_loops(model: Model, feeds: Mapping[str, Any], most: int | None = None) -> list[str]:
    """The paths of the main block's loops that may run more than `most` iterations, in order.

    `LONG` iterations if `most` is None. So are those that run another loop for more iterations: a
    window is then as short as one iteration of the outer loop.
    """
    most = LONG if most is None else most
    known = _known(model, feeds)
    return [
        step_path("main", step, position)
        for position, step in enumerate(model.main.steps)
        if isinstance(step, Loop)
        and (_may_be_long(step, known, most) or _has_long_inside(step, known, most))
    ]


def long_steps(
    model: Model, feeds: Mapping[str, Any], compiled: Collection[str] | None = None
) -> list[str]:
    """The paths of loops that may run more than `LONG` iterations, and of what is around them.

    In order, outer ones first. A loop whose length is unknown counts unless loops around it run
    more than `FEW` times, or an unknown number of times: a body is then run too often. So an outer
    loop in the list either runs in windows, or has a path inside it in the list. Given
    the paths of the steps on native code, other loops of the main block count from two iterations.
    """
    known = _known(model, feeds)
    found = list(_long_steps(model.main, "main", known, 1))
    if compiled is None:
        return found
    slow = [path for path in long_loops(model, feeds, 1) if path not in {*compiled, *found}]
    return [*found, *slow]


def _long_steps(block: Block, path: str, known: Known, around: int) -> Iterator[str]:
    """The paths in a block that runs `around` times, as far as that is known."""
    for position, step in enumerate(block.steps):
        if not isinstance(step, Loop | Branch):
            continue
        here = step_path(path, step, position)
        inner = list(_long_inside(step, here, known, around))
        if inner or (isinstance(step, Loop) and _is_long(step, known, around)):
            yield here
            yield from inner


def _long_inside(step: Loop | Branch, path: str, known: Known, around: int) -> Iterator[str]:
    if isinstance(step, Loop):
        around *= max(0, min(_bounds(step, known), default=FEW + 1))
    for name, body in bodies(step):
        inner = _known_inside(step, body, known)
        yield from _long_steps(body, f"{path}.{name}", inner, around)


def _is_long(loop: Loop, known: Known, around: int) -> bool:
    bounds = list(_bounds(loop, known))
    return all(bound > LONG for bound in bounds) and (bool(bounds) or around <= FEW)


def _known(model: Model, feeds: Mapping[str, Any]) -> Known:
    known = {p: np.asarray(feeds[p.name]) for p in model.main.params if p.name in feeds}
    return {constant.value: constant.array for constant in model.main.constants} | known


def _known_inside(step: Loop | Branch, body: Block, known: Known) -> Known:
    inner = {param: known[value] for param, value in _operands(step) if value in known}
    return inner | {constant.value: constant.array for constant in body.constants}


def draws(model: Model) -> bool:
    """Whether it draws random numbers, which windows would draw anew."""
    leaves = (visit.step for visit in walk(model) if isinstance(visit.step, Leaf))
    return any(leaf.op in RANDOM and not leaf.domain for leaf in leaves)


def has_loops(loop: Loop) -> bool:
    """Whether there are loops in the body of a loop, or in branches there."""
    return any(isinstance(visit, Loop) for visit in _inner_steps(loop.body))


def _inner_steps(block: Block) -> list[Any]:
    own = list(block.steps)
    return own + [each for s in own for _, body in bodies(s) for each in _inner_steps(body)]


def _may_be_long(loop: Loop, known: Known, most: int) -> bool:
    """Whether no known bound on the loop's iterations is at most `most`."""
    return all(bound > most for bound in _bounds(loop, known))


def _has_long_inside(step: Loop | Branch, known: Known, most: int) -> bool:
    """Whether a loop inside is known to be bounded by more than `most` iterations."""
    for _, body in bodies(step):
        inner = _known_inside(step, body, known)
        for each in body.steps:
            bounds = list(_bounds(each, inner)) if isinstance(each, Loop) else []
            if bounds and min(bounds) > most:
                return True
            if isinstance(each, Loop | Branch) and _has_long_inside(each, inner, most):
                return True
    return False


def _operands(step: Loop | Branch) -> list[tuple[Value, Value]]:
    """Parameters of bodies that are equal to a value outside, and that value."""
    if isinstance(step, Loop):
        pairs = [(each.param, each.operand) for each in ports(step).invariants]
    else:
        blocks = (step.then, step.otherwise)
        pairs = [pair for b in blocks for pair in zip(b.params, step.operands, strict=True)]
    return [(param, value) for param, value in pairs if value is not None]


def _bounds(loop: Loop, known: Known) -> list[int]:
    """The known bounds on the number of iterations: the trip count, and lengths of sliced axes."""
    trip = known.get(loop.trip) if loop.trip is not None else None
    found = [] if trip is None or np.size(trip) != 1 else [int(np.asarray(trip).item())]
    for port in ports(loop).sliced:
        array = None if port.operand is None else known.get(port.operand)
        type_ = None if port.operand is None else port.operand.type
        declared = type_.shape if isinstance(type_, Tensor) else None
        shape = (declared or ()) if array is None else array.shape
        if -len(shape) <= port.role.axis < len(shape):
            extent = shape[port.role.axis]
            found += [extent] if isinstance(extent, int) else []
    return found
