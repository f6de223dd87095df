"""Steps for which onnxruntime infers an extent below 0: it aborts the process at a Slice of such.

Such extents come of negative sizes, of windows that are longer than their input, and of sums
that overflow. The step fails in a run anyway, so it is declined. Where constants determine the
extents by way of other steps, which onnxruntime folds before it infers again, it is declined too.
"""

from __future__ import annotations

from collections.abc import Mapping

from treadle import ops
from treadle.delegate.export_scope import ExportScope
from treadle.delegate.workarounds.constant_contents import content_of, has_known_extents
from treadle.ir import Leaf, Operands

_SIZES: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(
        (
            "AveragePool", "Concat", "Conv", "ConvInteger", "ConvTranspose", "DepthToSpace",
            "Flatten", "LpPool", "MaxPool", "MaxUnpool", "QLinearConv", "SpaceToDepth",
        ),
        (),
    ),
    **dict.fromkeys(("CenterCropPad", "Expand", "Split", "Tile", "TopK", "Upsample"), (1,)),
    "Col2Im": (1, 2),
    "Pad": (1, 3),
    "Resize": (2, 3),
}  # fmt: skip
"""Operators whose rule subtracts, multiplies or copies numbers, and the operands with these."""


def negative_extents_refusal(draft: ExportScope, step: Leaf, operands: Operands) -> str:
    """Why the extents of a result may be below 0 when onnxruntime infers them; "" otherwise."""
    sizes = None if step.domain else _SIZES.get(step.op)
    if sizes is None or all(map(has_known_extents, step.results)):
        return ""
    types = [None if value is None else value.inferred for value in step.operands]
    contents = [
        None
        if value is None
        else content_of(draft, value)
        if place in sizes
        else draft.known(value)
        for place, value in enumerate(operands)
    ]
    if ops.has_negative_extents(step, types, contents):
        return "onnxruntime aborts the process at an extent below 0"
    for position in sizes:
        value = operands[position] if len(operands) > position else None
        if value is not None and contents[position] is None and draft.is_fixed(value):
            return "onnxruntime may fold its sizes to extents below 0"
    return ""
