"""NonMaxSuppression before opset 10: a Loop that selects one box of every class at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.masks import places
from treadle.passes.versions.adapters.repeat import Turn, repeated
from treadle.passes.versions.adapters.steps import operand, two
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, down

_LAST = 2
"""The axis of the boxes in masks and scores, [batches, classes, boxes]."""

Edges = tuple[Value, Value, Value, Value]
"""The least and greatest coordinates along both axes."""


@down("NonMaxSuppression", 10)
def selected_boxes(at: Rewriter, step: Leaf) -> Adapted:
    """The best box that is left, in each iteration and for each class; then those it covers go.

    live = scores > score_threshold
    for _ in range(max_output_boxes_per_class):
        best = first place of the greatest live score; found = any(live)
        live &= not covered by best
    """
    boxes, scores = two(step)
    limits = [at.reshape(v, 1) if (v := operand(step, k)) else None for k in (2, 3, 4)]
    least_overlap = limits[1] or at.const(np.zeros(1, np.float32))
    edges = _edges(at, boxes, centered=at.attributes(step)["center_point_box"] == 1)
    live = at.op("Not", at.op("IsNaN", scores))
    if limits[2] is not None:
        live = at.op("Greater", scores, limits[2])
    numbers = places(at, at.extent(boxes, 1))

    def select(inner: Rewriter, _: Value, carried: Sequence[Value]) -> Turn:
        best, is_found = _best(inner, carried[0], scores)
        is_best = inner.op("Equal", inner.unsqueeze(best, _LAST), numbers)
        goes = inner.op("Or", is_best, _covered(inner, is_best, edges, least_overlap))
        left = inner.op("And", carried[0], inner.op("Not", goes))
        return Turn([left], [best, is_found])

    trip = _trips(at, limits[0], at.extent(boxes, 1))
    _, best, is_found = repeated(at, trip, [live], select)
    return _indices(at, best, is_found)


def _trips(at: Rewriter, most: Value | None, count: Value) -> Value:
    """How many boxes of a class are selected at most, a scalar."""
    if most is None:
        return at.const(np.int64(0))
    fewer = at.op("Less", most, count)
    return at.squeeze(at.op("Where", fewer, most, count), 0)


def _edges(at: Rewriter, boxes: Value, *, centered: bool) -> Edges:
    """The edges of the boxes, each [batches, 1, boxes]."""
    columns = [at.slice(boxes, k, k + 1, 2) for k in range(4)]
    a, b, c, d = (at.op("Transpose", column, perm=[0, 2, 1]) for column in columns)
    if centered:
        halves = [at.op("Div", size, at.scalar_like(boxes, 2)) for size in (c, d)]
        low = [at.op("Sub", middle, half) for middle, half in zip((a, b), halves, strict=True)]
        high = [at.op("Add", middle, half) for middle, half in zip((a, b), halves, strict=True)]
    else:
        low = [at.op("Min", *ends) for ends in ((a, c), (b, d))]
        high = [at.op("Max", *ends) for ends in ((a, c), (b, d))]
    return low[0], low[1], high[0], high[1]


def _best(at: Rewriter, live: Value, scores: Value) -> tuple[Value, Value]:
    """The first place of the greatest live score, int64[batches, classes], and if there is one."""
    lowest = at.scalar_like(scores, -np.inf)
    masked = at.op("Where", live, scores, lowest)
    greatest = at.reduce("ReduceMax", masked, [_LAST])
    is_top = at.op("And", live, at.op("Not", at.op("Less", masked, greatest)))
    best = at.op("ArgMax", at.cast(is_top, DType.INT32), axis=_LAST, keepdims=0)
    count = at.reduce("ReduceSum", at.cast(live, DType.FLOAT32), [_LAST], keepdims=False)
    return best, at.op("Greater", count, at.const(np.float32(0)))


def _covered(at: Rewriter, is_best: Value, edges: Edges, least: Value) -> Value:
    """Whether each box shares more than `least` of its union with the best one of its class."""
    zero = at.const(np.float32(0))
    top = [at.reduce("ReduceSum", at.op("Where", is_best, e, zero), [_LAST]) for e in edges]
    sides = []
    for k in (0, 1):
        high, low = at.op("Min", edges[k + 2], top[k + 2]), at.op("Max", edges[k], top[k])
        sides.append(at.op("Max", at.op("Sub", high, low), zero))
    shared = at.op("Mul", *sides)
    own, other = (
        at.op("Mul", at.op("Sub", e[2], e[0]), at.op("Sub", e[3], e[1])) for e in (top, edges)
    )
    union = at.op("Sub", at.op("Add", own, other), shared)
    one = at.const(np.float32(1))
    is_large = at.op("Greater", union, zero)
    share = at.op("Div", shared, at.op("Where", is_large, union, one))
    for area in (shared, own, other):
        is_large = at.op("And", is_large, at.op("Greater", area, zero))
    return at.op("And", is_large, at.op("Greater", share, least))


def _indices(at: Rewriter, best: Value, is_found: Value) -> Value:
    """The rows (batch, class, box), int64[count, 3], of what was found in each iteration."""
    found = at.op("Transpose", is_found, perm=[1, 2, 0])
    where = at.op("NonZero", at.cast(found, DType.INT32))
    flat = at.reshape(at.op("Transpose", best, perm=[1, 2, 0]), -1)
    chosen = at.compress(flat, at.reshape(found, -1), 0)
    return at.concat(at.op("Transpose", at.slice(where, 0, 2, 0), perm=[1, 0]),
                     at.unsqueeze(chosen, 1), axis=1)  # fmt: skip
