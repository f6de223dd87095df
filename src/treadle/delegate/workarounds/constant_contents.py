"""Contents of exported values that constants determine, which onnxruntime computes as it loads."""

from __future__ import annotations

import numpy as np

from treadle import ops
from treadle.checks import known_extents
from treadle.delegate.export_scope import ExportScope
from treadle.errors import Unsupported
from treadle.ir import Leaf, Literal, Operands, Value

_DEEPEST, _MOST_FOLDED = 16, 64
"""The steps from a constant to a content that are evaluated, and the elements of each."""


def note_fixed(draft: ExportScope, step: Leaf) -> None:
    """Record the results of a leaf that constants determine, or the extents of its operand."""
    is_shape = not step.domain and step.op in ("Shape", "Size")
    tells_extents = is_shape and has_known_extents(step.operands[0])
    operands = draft.reads(step.operands)
    draft.note_fixed(step, () if tells_extents else operands)
    for position, value in enumerate(step.results):
        made = None if value is None else draft.read(value)
        if made is not None and made.name in draft.shared.fixed:
            draft.shared.makers[made.name] = step, position, operands


def note_constant(draft: ExportScope, step: Leaf, results: Operands) -> None:
    """Record the content of a Constant that holds numbers."""
    if step.domain or step.op != "Constant" or results[0] is None:
        return
    held = [each.value for each in step.attributes.values()]
    if len(held) != 1:
        raise Unsupported(step.op, step.version, "it has not exactly one attribute")
    array = held[0].array if isinstance(held[0], Literal) else np.array(held[0])
    if array.dtype.kind in "biuf":
        draft.shared.contents[results[0].name] = array


def content_of(draft: ExportScope, value: Value, depth: int = _DEEPEST) -> np.ndarray | None:
    """The content of an exported value that is constant, or computed from constants exactly."""
    found = draft.known(value)
    if found is not None or value.name not in draft.shared.makers or not depth:
        return found
    if value.name not in draft.shared.folded:
        step, position, operands = draft.shared.makers[value.name]
        draft.shared.folded[value.name] = None
        if step.op in ("Shape", "Size"):
            fed = [_of_extents(step.operands[0])]
        else:
            fed = [
                None if each is None else content_of(draft, each, depth - 1) for each in operands
            ]
        is_made = all(
            each is None or array is not None for each, array in zip(operands, fed, strict=True)
        )
        results = ops.fold(step, fed, _MOST_FOLDED) if is_made else None
        draft.shared.folded[value.name] = None if results is None else results[position]
    return draft.shared.folded[value.name]


def has_known_extents(value: Value | None) -> bool:
    """Whether all extents of a value were inferred; an absent one has none that could be open."""
    extents = known_extents(value)
    return value is None or (extents is not None and None not in extents)


def _of_extents(value: Value | None) -> np.ndarray | None:
    """An array of the value's inferred shape, whose elements share one place in memory."""
    extents = known_extents(value)
    known = [extent for extent in extents or () if extent is not None]
    if extents is None or len(known) < len(extents):
        return None
    return np.broadcast_to(np.zeros((), np.float32), known)
