"""Soft NonMaxSuppression, which ONNX lacks: it becomes a loop that lowers scores.

    while a score is left and fewer than max_output_boxes_per_class boxes are chosen:
        choose the box with the best score
        of the others: score *= exp(-0.5 / soft_nms_sigma * iou ** 2)
        leave out those whose score is score_threshold or less

All batches and classes are processed together; a dropped score is -inf. A sigma computed at run
time may be 0: then no score is lowered, and a box whose iou is above iou_threshold is dropped. The
threshold has no effect otherwise (as specified, and in OpenVINO 2026.4.1).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treadle.formats.openvino.block_builder import LayerBlockBuilder
from treadle.formats.openvino.layer_context import LayerContext
from treadle.ir import Block, Carried, DType, Invariant, Loop, Role, Stacked, Tensor, Value

_OUT = np.array(-np.inf, np.float32)


class Bounds(NamedTuple):
    """The limits of the selection: an int64 vector of one, and float32 vectors of one."""

    most: Value
    overlap: Value
    score: Value
    sigma: Value


class _Boxes(NamedTuple):
    """Corners [batch, box, 2] and areas [batch, 1, box]."""

    low: Value
    high: Value
    area: Value


def chosen_softly(context: LayerContext, bounds: Bounds) -> tuple[Value, Value]:
    """Rows of [batch, class, box], and the scores at their selection."""
    draft = context.draft
    scores = context.cast(context[1], DType.FLOAT32)
    high_enough = context.leaf("Greater", scores, bounds.score)
    scores = context.leaf("Where", high_enough, scores, draft.constant(_OUT))
    negative = context.leaf("Div", draft.constant(np.array(-0.5, np.float32)), bounds.sigma)
    soft = context.leaf("Greater", bounds.sigma, context.constant(np.array(0, np.float32)))
    scale = context.leaf("Where", soft, negative, context.constant(np.array(0, np.float32)))
    overlap = context.leaf("Where", soft, draft.constant(-_OUT), bounds.overlap)
    count = context.leaf("Min", bounds.most, context.leaf("Shape", scores, start=2, end=3))
    given = (*_boxes(context), overlap, bounds.score, scale)
    body = _body(draft, tuple(map(draft.type_of, (scores, *given))))
    results = tuple(
        draft.value(f"{context.layer.name}/{what}") for what in ("left", "box", "score")
    )
    roles: tuple[Role, ...] = (Carried(), *(Invariant() for _ in given))
    stacks = (Stacked(0), Stacked(0))
    info = replace(draft.info("Loop"), domain="openvino")
    trip = draft.scalar(count)
    draft.steps.append(Loop(trip, None, roles, (scores, *given), body, stacks, results, info))
    return _rows(context, *results[1:])


def _boxes(context: LayerContext) -> _Boxes:
    boxes = context.cast(context[0], DType.FLOAT32)
    first, second = context.leaves("Split", 2, boxes, axis=2, num_outputs=2)
    if context.text("box_encoding", "corner", "corner", "center") == "center":
        half = context.leaf("Mul", second, context.constant(np.array(0.5, np.float32)))
        low, high = context.leaf("Sub", first, half), context.leaf("Add", first, half)
    else:
        low, high = context.leaf("Min", first, second), context.leaf("Max", first, second)
    area = _product(context.draft, context.leaf("Sub", high, low))
    return _Boxes(low, high, context.leaf("Unsqueeze", area, context.whole(1)))


def _product(draft: LayerBlockBuilder, sides: Value) -> Value:
    return draft.leaf("ReduceProd", sides, draft.whole(-1), keepdims=0)


def _rows(context: LayerContext, boxes: Value, scores: Value) -> tuple[Value, Value]:
    """The rows of the stacks that are a selection, ordered by batch, class and time."""
    boxes, scores = (context.transpose(each, [1, 2, 0]) for each in (boxes, scores))
    places = context.leaf("NonZero", context.leaf("Greater", scores, context.constant(_OUT)))
    places = context.transpose(places, [1, 0])
    box = context.leaf("Unsqueeze", context.leaf("GatherND", boxes, places), context.whole(1))
    pair = context.leaf("Slice", places, context.whole(0), context.whole(2), context.whole(1))
    rows = context.leaf("Concat", pair, box, axis=1)
    return rows, context.leaf("CastLike", context.leaf("GatherND", scores, places), context[1])


def _body(outer: LayerBlockBuilder, types: tuple[Tensor, ...]) -> Block:
    # [scores; low, high, area, iou_threshold, score_threshold, scale] -> [scores; box, score]
    draft = LayerBlockBuilder("choose", f"{outer.path}.body")
    draft.origin = replace(outer.origin, name="choose")
    names = ("scores", "low", "high", "area", "iou_threshold", "score_threshold", "scale")
    params = [draft.param(name, type_) for name, type_ in zip(names, types, strict=True)]
    scores, low, high, area, overlap, least, scale = params
    last = draft.whole(-1)
    index = draft.leaf("ArgMax", scores, axis=-1, keepdims=1)
    best = draft.leaf("GatherElements", scores, index, axis=-1)
    shared = _overlap(draft, _Boxes(low, high, area), index)
    square = draft.leaf("Mul", draft.leaf("Mul", scale, shared), shared)
    lowered = draft.leaf("Mul", scores, draft.leaf("Exp", square))
    apart = draft.leaf("LessOrEqual", shared, overlap)
    kept = draft.leaf("And", apart, draft.leaf("Greater", lowered, least))
    kept = draft.leaf("And", kept, draft.leaf("Not", _is_at(draft, scores, index)))
    left = draft.leaf("Where", kept, lowered, draft.constant(_OUT))
    number = draft.leaf("ReduceSum", draft.leaf("Cast", kept, to=7), keepdims=0)
    some = draft.leaf("Greater", number, draft.constant(np.array(0)))
    stacks = (draft.leaf("Squeeze", each, last) for each in (index, best))
    return draft.build(some, left, *stacks)


def _is_at(draft: LayerBlockBuilder, scores: Value, index: Value) -> Value:
    """Whether a box is the selected one, [batch, class, box]."""
    count = draft.leaf("Squeeze", draft.leaf("Shape", scores, start=2, end=3))
    numbers = [draft.constant(np.array(number)) for number in (0, 1)]
    return draft.leaf("Equal", draft.leaf("Range", numbers[0], count, numbers[1]), index)


def _overlap(draft: LayerBlockBuilder, boxes: _Boxes, index: Value) -> Value:
    """Intersection over union of every box and the selected one; 0 if either has no area."""
    both = draft.leaf("Mul", index, draft.whole(1, 1))
    low, high = (draft.leaf("GatherElements", each, both, axis=1) for each in boxes[:2])
    area = draft.leaf("Unsqueeze", _product(draft, draft.leaf("Sub", high, low)), draft.whole(-1))
    ends = [draft.leaf("Unsqueeze", each, draft.whole(1)) for each in boxes[:2]]
    chosen = [draft.leaf("Unsqueeze", each, draft.whole(2)) for each in (low, high)]
    start, end = (
        draft.leaf(op, one, two) for op, one, two in zip(("Max", "Min"), ends, chosen, strict=True)
    )
    zero = draft.constant(np.array(0, np.float32))
    side = draft.leaf("Max", draft.leaf("Sub", end, start), zero)
    common = _product(draft, side)
    union = draft.leaf("Sub", draft.leaf("Add", boxes.area, area), common)
    solid = draft.leaf("Greater", draft.leaf("Min", boxes.area, area), zero)
    return draft.leaf("Where", solid, draft.leaf("Div", common, union), zero)
