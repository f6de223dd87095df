"""Infers Scan-8, the Scan with a batch axis; later versions are read as Loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from treadle.infer.context import Inference, Scope
from treadle.infer.facts import UNKNOWN, Fact, meet_dims, meet_types
from treadle.infer.leaf import resolved
from treadle.ir import Call, Dim, Shape, Symbol, Tensor


def infer_scan_8(run: Inference, call: Call, facts: Sequence[Fact], scope: Scope) -> list[Fact]:
    """Infer Scan-8 for operands (sequence_lens, *states, *sequences), batch first (Operators.md).

    state    [batch, ...]        the body sees [...]
    sequence [batch, time, ...]  the body sees [...]
    results  [batch, ...] per state, [batch, time, ...] per stacked element
    """
    given = facts[1:]
    count = resolved(call.attributes, scope.attributes)["num_scan_inputs"].value
    states = len(given) - (count if isinstance(count, int) else 0)
    params = [_inner(fact, 1 if k < states else 2) for k, fact in enumerate(given)]
    captured = [run.of(value) for value in call.captures]
    body = call.blocks["body"]
    place_ = scope.body("body", repeats=True)
    elements = run.block(body, [*params, *captured], place_)
    batch = reduce(meet_dims, [_dim(fact, 0) for fact in given])
    time = reduce(meet_dims, [_dim(fact, 1) for fact in given[states:]])
    if time is None:
        time = Symbol(f"{scope.path}.trips")
    outer = [_outer(fact, (batch,)) for fact in elements[:states]]
    outer = [
        replace(fact, type=meet_types(start.type, fact.type))
        for start, fact in zip(given, outer, strict=False)
    ]
    return outer + [_outer(fact, (batch, time)) for fact in elements[states:]]


def _dim(fact: Fact, axis: int) -> Dim:
    match fact.type:
        case Tensor(_, shape) if shape is not None and len(shape) > axis:
            return shape[axis]
    return None


def _inner(fact: Fact, axes: int) -> Fact:
    match fact.type:
        case Tensor(dtype, shape):
            return Fact(Tensor(dtype, None if shape is None else shape[axes:]))
    return UNKNOWN


def _outer(fact: Fact, axes: Shape) -> Fact:
    match fact.type:
        case Tensor(dtype, shape):
            return Fact(Tensor(dtype, None if shape is None else (*axes, *shape)))
    return Fact(Tensor())
