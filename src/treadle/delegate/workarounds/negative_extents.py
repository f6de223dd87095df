"""Steps for which onnxruntime infers an extent below 0: it aborts the process at a Slice of such.

Such extents come of negative sizes, of windows that are longer than their input, and of sums
that overflow. The step fails in a run anyway, so it is declined. Where constants determine the
extents by way of other steps, which onnxruntime folds before it infers again, it is declined too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treadle import ops
from treadle.checks import known_extents
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

_MOST_SIZE, _MOST_EXTENT = 2**16, 2**31


def negative_extents_refusal(draft: ExportScope, step: Leaf, operands: Operands) -> str:
    """Why the extents of a result may be below 0 when onnxruntime infers them; "" otherwise."""
    sizes = None if step.domain else _SIZES.get(step.op)
    if sizes is None or all(map(has_known_extents, step.results)):
        return ""
    given = [operands[position] if len(operands) > position else None for position in sizes]
    contents = [None if value is None else content_of(draft, value) for value in given]
    if not _grows_safely(step, contents) and _is_below_0(draft, step, operands, sizes, contents):
        return "onnxruntime aborts the process at an extent below 0"
    for value, content in zip(given, contents, strict=True):
        if value is not None and content is None and draft.is_fixed(value):
            return "onnxruntime may fold its sizes to extents below 0"
    return ""


def _grows_safely(step: Leaf, contents: Sequence[np.ndarray | None]) -> bool:
    """Whether sizes of 0 or more determine the result, and nothing is so large that it overflows.

    It saves onnx's rule, which takes 70 microseconds.
    """
    known = [content for content in contents if content is not None]
    extents = (extent for value in step.operands for extent in known_extents(value) or ())
    return (
        bool(known)
        and all(((each >= 0) & (each <= _MOST_SIZE)).all() for each in known)
        and all(extent is None or extent <= _MOST_EXTENT for extent in extents)
    )


def _is_below_0(
    draft: ExportScope,
    step: Leaf,
    operands: Operands,
    sizes: Sequence[int],
    contents: Sequence[np.ndarray | None],
) -> bool:
    """Whether onnx's type rule infers an extent below 0."""
    types = [None if value is None else value.inferred for value in step.operands]
    known = [None if value is None else draft.known(value) for value in operands]
    for position, content in zip(sizes, contents, strict=True):
        known[position : position + 1] = [content] * (len(known) > position)
    return ops.has_negative_extents(step, types, known)
