"""Loops and Ifs that adapters make: bodies written by another Rewriter, reading any outer value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treadle.ir import (
    Block,
    Carried,
    DType,
    Invariant,
    Iteration,
    Role,
    Stacked,
    Tensor,
    Type,
    Value,
    reads,
    substitute,
    with_operands,
)
from treadle.passes.versions.rewriter import Rewriter


@dataclass(frozen=True, slots=True)
class Turn:
    """What one iteration gives: the next carried values, items to stack, and whether to go on."""

    carried: Sequence[Value]
    stacked: Sequence[Value] = ()
    go: Value | None = None


Body = Callable[[Rewriter, Value, Sequence[Value]], Turn]
"""Writes an iteration: (its Rewriter, the iteration's number as int64, the carried values)."""


def repeated(at: Rewriter, trip: Value, start: Sequence[Value], body: Body) -> tuple[Value, ...]:
    """The carried values after `trip` iterations (a scalar), then the stacked ones.

    i, go = 0, True
    while go and i < trip: carried, item, go = body(i, carried); stacked.append(item); i += 1
    """
    inner = replace(at, steps=[], constants=[], path=f"{at.path}/loop_{len(at.steps)}")
    i = _param(inner, "iteration", Tensor(DType.INT64, ()))
    carried = [_param(inner, "carried", at.fact(value).type) for value in start]
    turn = body(inner, i, carried)
    results = (turn.go, *(_own(inner, value) for value in (*turn.carried, *turn.stacked)))
    outer = _outer(inner, (i, *carried), results)
    block = _closed(inner, (i, *carried), outer, results)
    roles: list[Role] = [Iteration(), *(Carried() for _ in carried), *(Invariant() for _ in outer)]
    return at.loop(trip, block, roles, (*start, *outer), [Stacked() for _ in turn.stacked])


def chosen(
    at: Rewriter, condition: Value, then: Callable[[Rewriter], Value],
    otherwise: Callable[[Rewriter], Value],
) -> Value:  # fmt: skip
    """The result of one of two branches, by an If; only that branch runs."""
    made = []
    for name, write in (("then", then), ("else", otherwise)):
        inner = replace(at, steps=[], constants=[], path=f"{at.path}/{name}_{len(at.steps)}")
        made.append((inner, (_own(inner, write(inner)),)))
    read = [value for inner, results in made for value in _outer(inner, (), results)]
    outer = list(dict.fromkeys(read))
    blocks = [_closed(inner, (), outer, results) for inner, results in made]
    return at.branch(condition, blocks[0], blocks[1], outer)[0]


def _closed(
    inner: Rewriter, own: Sequence[Value], outer: Sequence[Value], results: Sequence[Value | None]
) -> Block:
    """The block of what was written, with params for the outer values behind its own."""
    params = [_param(inner, "outer", inner.fact(value).type) for value in outer]
    given: dict[Value, Value | None] = dict(zip(outer, params, strict=True))
    steps = tuple(with_operands(step, given) for step in inner.steps)
    return Block(
        (*own, *params), tuple(inner.constants), steps, substitute(tuple(results), given),
        name="written",
    )  # fmt: skip


def any_of(at: Rewriter, flags: Value) -> Value:
    """Whether one of the bools is true, a scalar; false for none."""
    total = at.reduce("ReduceSum", at.cast(flags, DType.FLOAT32), None, keepdims=False)
    return at.op("Greater", total, at.const(np.float32(0)))


def _param(inner: Rewriter, hint: str, type_: Type | None) -> Value:
    value = inner.value(hint)
    inner.facts.know(value, type_)
    return value


def _own(inner: Rewriter, value: Value) -> Value:
    """The value, copied if no step of the body defines it."""
    made = {result for step in inner.steps for result in step.results}
    return value if value in made else inner.op("Identity", value)


def _outer(
    inner: Rewriter, params: Sequence[Value], results: Sequence[Value | None]
) -> list[Value]:
    """The values that the body reads and does not define, each once."""
    own = {*params, *(constant.value for constant in inner.constants)}
    own |= {value for step in inner.steps for value in step.results if value is not None}
    read = [value for step in inner.steps for value in reads(step)] + list(results)
    return [value for value in dict.fromkeys(read) if value is not None and value not in own]
