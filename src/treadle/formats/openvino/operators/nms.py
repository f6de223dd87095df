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
def non_max_suppression(hand: LayerContext) -> Made:
    """[batch, class, box], then [batch, class, score], and their number."""
    chosen, scores = _chosen_softly(hand) if _is_soft(hand) else _chosen(hand)
    count = hand.leaf("Shape", chosen, start=0, end=1)
    if hand.truth("sort_result_descending", True):
        # rows with equal scores keep their order
        scores, order = hand.leaves("TopK", 2, scores, count, axis=0, largest=1, sorted=1)
        chosen = hand.leaf("Gather", chosen, order, axis=0)
    if hand.version < _FIRST_WITH_SCORES:
        return typed(hand, chosen, "output_type")
    places = hand.leaf("Slice", chosen, hand.whole(0), hand.whole(2), hand.whole(1))
    places = hand.leaf("CastLike", places, hand[1])
    rows = hand.leaf("Concat", places, hand.leaf("Unsqueeze", scores, hand.whole(1)), axis=1)
    return (
        typed(hand, chosen, "output_type"),
        rows,
        typed(hand, count, "output_type"),
    )


def _is_soft(hand: LayerContext) -> bool:
    if hand.get(_SIGMA) is None:
        return False
    known = hand.array(_SIGMA)
    return known is None or bool(np.any(known))


def _chosen_softly(hand: LayerContext) -> tuple[Value, Value]:
    count = hand.list64(2)
    return chosen_softly(hand, Bounds(count, *(_flat(hand, k) for k in (3, 4, _SIGMA))))


def _chosen(hand: LayerContext) -> tuple[Value, Value]:
    encoding = hand.text("box_encoding", "corner", "corner", "center")
    bounds = [hand.list64(2) if hand.get(2) is not None else hand.whole(0)]
    bounds += [_flat(hand, k) for k in (3, 4)]
    center = int(encoding == "center")
    chosen = hand.leaf("NonMaxSuppression", hand[0], hand[1], *bounds, center_point_box=center)
    return chosen, hand.leaf("GatherND", hand[1], chosen)


def _flat(hand: LayerContext, position: int) -> Value:
    value = hand.get(position)
    if value is None:
        return hand.constant(np.zeros(1, np.float32))
    return hand.leaf("Reshape", hand.cast(value, DType.FLOAT32), hand.whole(1))
