"""Elements by index: Gather, GatherND, GatherElements."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value


@layer("Gather", 1, 7, 8)
def gather(hand: LayerContext) -> Made:
    """Items along an axis; the first `batch_dims` axes of data and indices are paired.

    Gather-8 counts negative indices from the end, as ONNX does.
    """
    axis = hand.axis(2)
    batch = hand.integer("batch_dims", 0) if hand.version > 1 else 0
    if batch < 0:
        batch += hand.rank(1)
    if not batch:
        return hand.leaf("Gather", hand[0], hand[1], axis=axis)
    rank = hand.rank(0)
    axis %= rank
    if axis < batch:
        raise IrError("CF909", f"the axis {axis} is one of the {batch} batch dims")
    order = [*range(batch), axis, *(k for k in range(batch, rank) if k != axis)]
    moved = hand.transpose(hand[0], order)
    places = hand.leaf("Unsqueeze", hand.int64(1), hand.whole(-1))
    found = hand.leaf("GatherND", moved, places, batch_dims=batch)
    return _back(hand, found, batch, axis)


def _back(hand: LayerContext, found: Value, batch: int, axis: int) -> Value:
    """Transpose [batch, indices, before the axis, after it] to [batch, before, indices, after]."""
    many, before = hand.rank(1) - batch, axis - batch
    total = hand.rank(0) - 1 + many
    order = [
        *range(batch),
        *range(batch + many, batch + many + before),
        *range(batch, batch + many),
        *range(batch + many + before, total),
    ]
    return hand.transpose(found, order)


@layer("GatherND", 5, 8)
def gather_nd(hand: LayerContext) -> Made:
    """Slices by index vectors; version 5 merges all batch axes into one."""
    batch = hand.integer("batch_dims", 0)
    found = hand.leaf("GatherND", hand[0], hand.int64(1), batch_dims=batch)
    if hand.version > 5 or batch < 2:
        return found
    rest = hand.leaf("Shape", found, start=batch)
    shape = hand.leaf("Concat", hand.whole(-1), rest, axis=0)
    return hand.leaf("Reshape", found, shape)


@layer("GatherElements", 6)
def gather_elements(hand: LayerContext) -> Made:
    """Elements selected by an index along an axis."""
    return hand.leaf("GatherElements", hand[0], hand[1], axis=hand.integer("axis"))
