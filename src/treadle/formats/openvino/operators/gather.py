"""Elements by index: Gather, GatherND, GatherElements."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value


@layer("Gather", 1, 7, 8)
def gather(context: LayerContext) -> Made:
    """Items along an axis; the first `batch_dims` axes of data and indices are paired.

    Gather-8 counts negative indices from the end, as ONNX does.
    """
    axis = context.axis(2)
    batch = context.integer("batch_dims", 0) if context.version > 1 else 0
    if batch < 0:
        batch += context.rank(1)
    if not batch:
        return context.leaf("Gather", context[0], context[1], axis=axis)
    rank = context.rank(0)
    axis %= rank
    if axis < batch:
        raise IrError("CF909", f"the axis {axis} is one of the {batch} batch dims")
    order = [*range(batch), axis, *(k for k in range(batch, rank) if k != axis)]
    moved = context.transpose(context[0], order)
    places = context.leaf("Unsqueeze", context.int64(1), context.whole(-1))
    found = context.leaf("GatherND", moved, places, batch_dims=batch)
    return _back(context, found, batch, axis)


def _back(context: LayerContext, found: Value, batch: int, axis: int) -> Value:
    """Transpose [batch, indices, before the axis, after it] to [batch, before, indices, after]."""
    many, before = context.rank(1) - batch, axis - batch
    total = context.rank(0) - 1 + many
    order = [
        *range(batch),
        *range(batch + many, batch + many + before),
        *range(batch, batch + many),
        *range(batch + many + before, total),
    ]
    return context.transpose(found, order)


@layer("GatherND", 5, 8)
def gather_nd(context: LayerContext) -> Made:
    """Slices by index vectors; version 5 merges all batch axes into one."""
    batch = context.integer("batch_dims", 0)
    found = context.leaf("GatherND", context[0], context.int64(1), batch_dims=batch)
    if context.version > 5 or batch < 2:
        return found
    rest = context.leaf("Shape", found, start=batch)
    shape = context.leaf("Concat", context.whole(-1), rest, axis=0)
    return context.leaf("Reshape", found, shape)


@layer("GatherElements", 6)
def gather_elements(context: LayerContext) -> Made:
    """Elements selected by an index along an axis."""
    return context.leaf("GatherElements", context[0], context[1], axis=context.integer("axis"))
