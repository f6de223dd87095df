"""NonMaxSuppression: selects boxes that do not overlap a better one.

Versions 1, 3 and 4 return only [batch, class, box], and only the selected rows, as OpenVINO's CPU
plugin does; their documentation pads with rows of -1.
"""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.formats.openvino.operators.select import typed
from treadle.formats.openvino.operators.soft import Bounds, chosen_softly
from treadle.ir import DType, Value

_FIRST_WITH_SCORES = 5
_SIGMA = 5


@layer("NonMaxSuppression", 1, 3, 4, 5, 9)
def non_max_suppression(context: LayerContext) -> Made:
    """[batch, class, box], then [batch, class, score], and their number."""
    chosen, scores = _chosen_softly(context) if _is_soft(context) else _chosen(context)
    count = context.leaf("Shape", chosen, start=0, end=1)
    if context.truth("sort_result_descending", True):
        # rows with equal scores keep their order
        scores, order = context.leaves("TopK", 2, scores, count, axis=0, largest=1, sorted=1)
        chosen = context.leaf("Gather", chosen, order, axis=0)
    if context.version < _FIRST_WITH_SCORES:
        return typed(context, chosen, "output_type")
    places = context.leaf("Slice", chosen, context.whole(0), context.whole(2), context.whole(1))
    places = context.leaf("CastLike", places, context[1])
    rows = context.leaf(
        "Concat", places, context.leaf("Unsqueeze", scores, context.whole(1)), axis=1
    )
    return (
        typed(context, chosen, "output_type"),
        rows,
        typed(context, count, "output_type"),
    )


def _is_soft(context: LayerContext) -> bool:
    if context.get(_SIGMA) is None:
        return False
    known = context.array(_SIGMA)
    return known is None or bool(np.any(known))


def _chosen_softly(context: LayerContext) -> tuple[Value, Value]:
    count = context.list64(2)
    return chosen_softly(context, Bounds(count, *(_flat(context, k) for k in (3, 4, _SIGMA))))


def _chosen(context: LayerContext) -> tuple[Value, Value]:
    encoding = context.text("box_encoding", "corner", "corner", "center")
    bounds = [context.list64(2) if context.get(2) is not None else context.whole(0)]
    bounds += [_flat(context, k) for k in (3, 4)]
    center = int(encoding == "center")
    chosen = context.leaf(
        "NonMaxSuppression", context[0], context[1], *bounds, center_point_box=center
    )
    return chosen, context.leaf("GatherND", context[1], chosen)


def _flat(context: LayerContext, position: int) -> Value:
    value = context.get(position)
    if value is None:
        return context.constant(np.zeros(1, np.float32))
    return context.leaf("Reshape", context.cast(value, DType.FLOAT32), context.whole(1))
