"""Steps for which onnxruntime infers an extent below 0: it aborts the process at a Slice of such.

Such extents come of negative sizes, of windows that are longer than their input, and of sums
that overflow. The step fails in a run anyway, so it is declined. Where constants determine the
extents by way of other steps, which onnxruntime folds before it infers again, it is declined too.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from treadle import ops
from treadle.checks import known_extents
from treadle.delegate.export_scope import ExportScope
from treadle.ir import Leaf, Operands, Value

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
_DEEPEST, _MOST_FOLDED = 16, 64
"""The steps from a constant to a size that are evaluated, and the elements of each."""


def negative_extents_refusal(draft: ExportScope, step: Leaf, operands: Operands) -> str:
    """Why the extents of a result may be below 0 when onnxruntime infers them; "" otherwise."""
    sizes = None if step.domain else _SIZES.get(step.op)
    if sizes is None or all(map(_is_known, step.results)):
        return ""
    types = [None if value is None else value.inferred for value in step.operands]
    contents = [
        None if value is None else _content(draft, value) if place in sizes else draft.known(value)
        for place, value in enumerate(operands)
    ]
    if ops.has_negative_extents(step, types, contents):
        return "onnxruntime aborts the process at an extent below 0"
    for position in sizes:
        value = operands[position] if len(operands) > position else None
        if value is not None and contents[position] is None and draft.is_fixed(value):
            return "onnxruntime may fold its sizes to extents below 0"
    return ""


def note_fixed(draft: ExportScope, step: Leaf) -> None:
    """Record the results of a leaf that constants determine, or the extents of its operand."""
    tells_extents = not step.domain and step.op in ("Shape", "Size") and _is_known(step.operands[0])
    operands = draft.reads(step.operands)
    draft.note_fixed(step, () if tells_extents else operands)
    for position, value in enumerate(step.results):
        made = None if value is None else draft.read(value)
        if made is not None and made.name in draft.shared.fixed:
            draft.shared.makers[made.name] = step, position, operands


def _content(draft: ExportScope, value: Value, depth: int = _DEEPEST) -> np.ndarray | None:
    """The content of an exported value that is constant, or that a few exact steps make of such."""
    found = draft.known(value)
    if found is not None or value.name not in draft.shared.makers or not depth:
        return found
    if value.name not in draft.shared.folded:
        step, position, operands = draft.shared.makers[value.name]
        draft.shared.folded[value.name] = None
        if step.op in ("Shape", "Size"):
            fed = [_of_extents(step.operands[0])]
        else:
            fed = [None if each is None else _content(draft, each, depth - 1) for each in operands]
        is_made = all(
            each is None or array is not None for each, array in zip(operands, fed, strict=True)
        )
        results = ops.fold(step, fed, _MOST_FOLDED) if is_made else None
        draft.shared.folded[value.name] = None if results is None else results[position]
    return draft.shared.folded[value.name]


def _of_extents(value: Value | None) -> np.ndarray | None:
    """An array of the value's inferred shape, whose elements share one place in memory."""
    extents = known_extents(value)
    known = [extent for extent in extents or () if extent is not None]
    if extents is None or len(known) < len(extents):
        return None
    return np.broadcast_to(np.zeros((), np.float32), known)


def _is_known(value: Value | None) -> bool:
    extents = known_extents(value)
    return value is None or (extents is not None and None not in extents)
