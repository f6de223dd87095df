"""Control flow in old versions: Loop before opset 13, and If before opset 11."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treadle.infer import IncrementalInference, array_of
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
    Shape,
    Tensor,
    Type,
    Value,
    operator_of,
    ports,
)
from treadle.passes.versions.no_form import NoForm
from treadle.passes.versions.rewriter import Names

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


def expect_like_branches(step: Branch, facts: IncrementalInference) -> None:
    """Raise NoForm if the branches return different shapes and either may run."""
    if array_of(facts.fact(step.condition)) is not None:
        return
    for one, other in zip(step.then.results, step.otherwise.results, strict=True):
        left, right = (_shape(facts.fact(value).type) for value in (one, other))
        if left is None or right is None:
            continue
        known = zip(left, right, strict=False)
        unlike = any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in known)
        if unlike or len(left) != len(right):
            raise NoForm("the branches give different shapes, which If allows since opset 11")


def _shape(type_: Type | None) -> Shape | None:
    return type_.shape if isinstance(type_, Tensor) else None
