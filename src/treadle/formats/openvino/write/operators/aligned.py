"""Broadcast alignment: numpy's rule, and the rule of opsets before 7, which name an axis."""

from __future__ import annotations

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext

_NUMPY_SINCE = 7


def aligned(context: OpContext) -> tuple[Wire, Wire]:
    """The two operands, reshaped so that numpy's rule gives the alignment of the version."""
    one, two = context[0], context[1]
    axis = context.attributes.get("axis")
    if context.version >= _NUMPY_SINCE or not context.integer("broadcast") or axis is None:
        return one, two
    rank, width = context.rank(0), context.rank(1)
    behind = rank - (axis % rank) - width
    return one, context.unsqueeze(two, *range(width, width + behind))
