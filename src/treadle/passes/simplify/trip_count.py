"""Replaces conditions that only count by a trip count.

    next condition    always true                        none
    carried c from 0, c + 1                               read as the iteration number
    next condition    c + d < n, c the iteration number   trip count min(trip, max(n, d) - d + 1)

The initial condition of the loop stays. Declines if the counter may wrap around, if the limit is
not a scalar, and if the opset lacks an integer Max for an unknown limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treadle.ir import (
    Block,
    DType,
    Leaf,
    Loop,
    Step,
    Value,
    defining_steps,
    operator_of,
    ports,
    step_path,
    tensor,
)
from treadle.ops import resolve_copies
from treadle.passes.simplify.captures import free_reads, map_implicit_captures, replaced
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.induction import affine_in_iteration, step_of
from treadle.passes.simplify.loop_rebuild import rebuild_loop
from treadle.passes.simplify.step_builder import StepBuilder

NAME = "while loops with a trip count"
_LARGEST = np.iinfo(np.int64).max
_WHOLE_MAX = 12
_INT64 = 7


def infer_trip_counts(block: Block, at: PassContext) -> Block:
    """Give the loops of the open block a trip count, where it follows from the condition."""
    by: dict[Value, Value | None] = {}

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        writer = StepBuilder(at)
        for position, step in enumerate(inner.steps):
            if isinstance(step, Loop):
                where = step_path(path, step, position)
                step = _numbered(_unconditional(step, at), where, by, at)
                step = _counted(step, where, writer, at)
            writer.steps.append(step)
        return writer.into(replace(inner, steps=tuple(writer.steps)))

    return replaced(map_implicit_captures(block, change), by)


def _unconditional(loop: Loop, at: PassContext) -> Loop:
    view = ports(loop)
    if not at.literals or view.next_condition is None or at.truth(view.next_condition) is not True:
        return loop
    plain = rebuild_loop(loop, view._replace(next_condition=None))
    return replace(plain, body=_without_constant(plain.body, view.next_condition))


def _without_constant(body: Block, value: Value) -> Block:
    """The body without the Constant node of a value that nothing reads any more.

    The writer of ONNX gives every such loop a condition of this kind; to drop it is no change.
    """
    reads = {*body.results, *(read for step in body.steps for read in free_reads(step))}
    if value in reads:
        return body
    kept = [s for s in body.steps if not (operator_of(s) == "Constant" and value in s.results)]
    return replace(body, steps=tuple(kept)) if len(kept) < len(body.steps) else body


def _numbered(loop: Loop, path: str, by: dict[Value, Value | None], at: PassContext) -> Loop:
    """The loop with counters from 0 replaced by its iteration number."""
    view, made = ports(loop), defining_steps(loop.body)
    if view.iteration is None and view.sliced:  # no loop of ONNX has both
        return loop
    if view.iteration is not None and at.shape(view.iteration) != ():
        return loop
    number = view.iteration
    for port in view.carried:
        is_plain = at.dtype(port.param) is DType.INT64 and at.shape(port.param) == ()
        if not is_plain or at.whole(port.initial) != 0 or at.shape(port.initial) != ():
            continue
        if step_of(port.next, port.param, made, at) != 1:
            continue
        number = number or Value("iteration", tensor("int64"))
        by[port.param] = number
        at.note(NAME, path, f"{port.param.name} is the iteration number")
    return loop if number is view.iteration else rebuild_loop(loop, view._replace(iteration=number))


class _Bound(NamedTuple):
    """A bound: the loop continues after iteration i as long as i + ahead < limit."""

    ahead: int
    limit: Value


def _counted(loop: Loop, path: str, writer: StepBuilder, at: PassContext) -> Loop:
    bound = _bound(loop, at) if at.literals else None
    if bound is None:
        return loop
    trip = _trip(loop, bound, writer, at)
    if trip is None:
        return loop
    at.note(NAME, path, f"as far as {bound.limit.name}")
    view = ports(loop)
    return replace(rebuild_loop(loop, view._replace(next_condition=None)), trip=trip)


def _bound(loop: Loop, at: PassContext) -> _Bound | None:
    view, made = ports(loop), defining_steps(loop.body)
    last = resolve_copies(view.next_condition, made)
    maker = made.get(last) if last is not None else None
    if not isinstance(maker, Leaf) or maker.domain or view.sliced:
        return None
    if maker.op not in ("Less", "Greater") or not at.is_single(last, DType.BOOL):
        return None
    value, limit = maker.operands if maker.op == "Less" else reversed(maker.operands)
    found = affine_in_iteration(loop, value, made, at)
    inside = {*made, *loop.body.params}
    if found is None or found.back or limit is None or at.shape(limit) != ():
        return None
    if limit in inside and at.whole(limit) is None:
        return None
    is_counted = at.dtype(limit) in (DType.INT64, DType.INT32)
    return _Bound(found.first, limit) if is_counted and found.first >= 0 else None


def _trip(loop: Loop, bound: _Bound, writer: StepBuilder, at: PassContext) -> Value | None:
    most = _LARGEST if loop.trip is None else at.whole(loop.trip)
    limit = at.whole(bound.limit)
    if most is not None and limit is not None:
        count = min(most, max(limit - bound.ahead, 0) + 1)
        return writer.constant(np.array(count), "trips")
    if at.opset < _WHOLE_MAX or bound.ahead == 0 or limit is not None:
        return None
    if loop.trip is not None and (
        at.shape(loop.trip) != () or at.dtype(loop.trip) is not DType.INT64
    ):
        return None
    reached = bound.limit
    if at.dtype(reached) is DType.INT32:
        reached = writer.leaf("Cast", reached, to=_INT64)
    count_ = writer.leaf("Max", reached, writer.constant(np.array(bound.ahead), "first"))
    if bound.ahead > 1:
        count_ = writer.leaf("Sub", count_, writer.constant(np.array(bound.ahead - 1), "before"))
    if loop.trip is None or most == _LARGEST:
        return count_
    return writer.leaf("Min", loop.trip, count_)
