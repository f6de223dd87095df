"""Broadcast alignment: numpy's rule, and the rule of opsets before 7, which name an axis."""

from __future__ import annotations

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext

_NUMPY_SINCE = 7


def aligned(hand: OpContext) -> tuple[Wire, Wire]:
    """The two operands, reshaped so that numpy's rule gives the alignment of the version."""
    one, two = hand[0], hand[1]
    axis = hand.attributes.get("axis")
    if hand.version >= _NUMPY_SINCE or not hand.integer("broadcast") or axis is None:
        return one, two
    rank, width = hand.rank(0), hand.rank(1)
    behind = rank - (axis % rank) - width
    return one, hand.unsqueeze(two, *range(width, width + behind))
