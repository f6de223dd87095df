"""Control flow in old versions: Loop before opset 13, and If before opset 11."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from treadle.infer import IncrementalInference, differ
from treadle.ir import (
    Branch,
    Carried,
    Constant,
    DType,
    Info,
    Invariant,
    Leaf,
    Literal,
    Loop,
    Role,
    Shape,
    Tensor,
    Type,
    Value,
    operator_of,
    ports,
)
from treadle.passes.versions.rewriter import Names, Rewriter

HANDLED = ("If", "Loop", "Scan")
"""Operators with bodies, which are converted and whose types are checked."""

UNLIKE_BRANCHES_SINCE = 11
_NO_STATE_SINCE = 13


def with_a_state(step: Loop, names: Names) -> tuple[Loop, list[Constant]]:
    """Add an unused state to the Loop if its version requires one and it has none."""
    view = ports(step)
    if operator_of(step) != "Loop" or step.info.version >= _NO_STATE_SINCE or view.carried:
        return step, []
    type_ = Tensor(DType.BOOL, ())

    def value(hint: str) -> Value:
        return Value(names.fresh(hint), type_)

    start = Constant(value("no_state"), Literal.of(np.array(True)))
    param, following = value("no_state_in"), value("no_state_out")
    copy = Leaf("", "Identity", 1, (param,), (following,), info=Info(op="Identity", version=1))
    body = step.body
    go, *stacked = body.results
    claims = (
        (body.claims[0], replace(body.claims[0], type=type_), *body.claims[1:])
        if body.claims
        else ()
    )
    invariants = sum(isinstance(role, Invariant) for role in step.roles)
    at = len(step.roles) - invariants
    assert all(isinstance(role, Invariant) for role in step.roles[at:])
    body = replace(
        body,
        params=(*body.params[:at], param, *body.params[at:]),
        steps=(*body.steps, copy),
        results=(go, following, *stacked),
        claims=claims,
    )
    made = replace(
        step,
        roles=(*step.roles[:at], Carried(), *step.roles[at:]),
        operands=(start.value, *step.operands),
        body=body,
        results=(value("no_state_end"), *step.results),
    )
    return made, [start]


def has_unlike_branches(step: Branch, facts: IncrementalInference) -> bool:
    """Whether the branches return different shapes and either may run."""
    return any(_is_unlike(one, other) for one, other in _shapes(step, facts))


def _is_unlike(left: Shape | None, right: Shape | None) -> bool:
    if left is None or right is None:
        return False
    return len(left) != len(right) or any(map(differ, left, right))


def _shapes(
    step: Branch, facts: IncrementalInference
) -> Iterator[tuple[Shape | None, Shape | None]]:
    for pair in zip(step.then.results, step.otherwise.results, strict=True):
        left, right = (_shape(facts.fact(value).type) for value in pair)
        yield left, right


def by_loops(at: Rewriter, step: Branch) -> tuple[Value, ...]:
    """The branches as loops of one iteration or none: a carried value may change its shape.

    for _ in range(condition): results = then()
    for _ in range(1 - condition): results = otherwise()
    """
    runs = at.cast(at.reshape(step.condition), DType.INT64)
    rests = at.op("Sub", at.const(np.int64(1)), runs)
    values = tuple(
        _nothing(at, pair, shapes)
        for pair, shapes in zip(
            zip(step.then.results, step.otherwise.results, strict=True),
            _shapes(step, at.facts),
            strict=True,
        )
    )
    for trip, block in ((runs, step.then), (rests, step.otherwise)):
        unread = tuple(at.value("unread") for _ in values)
        body = replace(
            block,
            params=(*unread, *block.params),
            results=(None, *block.results),
            claims=(),
        )
        roles: list[Role] = [*(Carried() for _ in values), *(Invariant() for _ in block.params)]
        values = at.loop(trip, body, roles, (*values, *step.operands))
    return values


def _nothing(
    at: Rewriter,
    results: tuple[Value | None, Value | None],
    shapes: tuple[Shape | None, Shape | None],
) -> Value:
    """An empty tensor of the results' element type, and of their rank if both have one."""
    left, right = shapes
    rank = len(left) if left is not None and right is not None and len(left) == len(right) else 1
    dtype = at.dtype(results[0])
    return at.const(np.zeros((0,) * rank, dtype.numpy), dtype)


def _shape(type_: Type | None) -> Shape | None:
    return type_.shape if isinstance(type_, Tensor) else None
