"""The elements that a nest changes: from where, and how many."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from treadle.ir import DType
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.scalar import functions
from treadle.jit.schedule.steps.changed_elements import (
    FARTHEST,
    PLACES_TOGETHER,
    ChangedElements,
    Limit,
)


def changed_span(
    context: CodegenContext, changed: ChangedElements, shape: Sequence[Index]
) -> tuple[tuple[Index, ...], tuple[Index, ...]]:
    """The first index along each axis, and the number of elements, of those that change.

    Some more may be among them.
    """
    spans = [_along(context, changed, shape, axis) for axis in range(len(shape))]
    firsts, counts = tuple(first for first, _ in spans), [count for _, count in spans]
    for condition in changed.conditions:
        truth, b = context.access.scalar(condition.truth), context.builder.builder
        sides = [context.builder.index(counts[0]), context.builder.index(0)]
        counts[0] = b.select(truth, *(sides if condition.holds else sides[::-1]))
    return firsts, tuple(counts)


def _along(
    context: CodegenContext, changed: ChangedElements, shape: Sequence[Index], axis: int
) -> tuple[Index, Index]:
    """The first index along an axis, and the number of elements."""
    w, extent = context.builder, shape[axis]
    places = [
        (limit.is_first, _place(context, limit)) for limit in changed.limits if limit.axis == axis
    ]
    if not places:
        return 0, extent
    first = reduce(w.most, [place for is_first, place in places if is_first], 0)
    end = reduce(w.least, [place for is_first, place in places if not is_first], extent)
    if axis == len(shape) - 1:
        mask = w.index(-PLACES_TOGETHER)
        first = w.builder.and_(w.index(first), mask)
        end = w.least(w.builder.and_(w.index(w.add(end, PLACES_TOGETHER - 1)), mask), extent)
    first = w.least(first, extent)
    return first, w.most(w.add(end, w.multiply(first, -1)), 0)


def _place(context: CodegenContext, limit: Limit) -> Index:
    """The place of a limit, which is at least -FARTHEST and at most FARTHEST before it is moved."""
    w = context.builder
    number = functions.cast(w, context.access.scalar(limit.number), limit.number.dtype, DType.INT64)
    return w.add(w.most(w.least(number, FARTHEST), -FARTHEST), limit.offset)
