"""Reductions over negative axes: onnxruntime 1.31 does not reduce those of an empty tensor.

    ReduceSum of [0, 3] along -1 gives [0, 3], along 1 it gives [0, 1]

Known axes are therefore counted from the front. Declines if the axes or the rank are unknown, and
if the tensor certainly has elements.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.delegate.export_scope import ExportScope
from treadle.ir import Leaf, Operands, Tensor, Value, attribute

_REDUCES = "Reduce"
_AXES = 1


def counted_from_start(draft: ExportScope, step: Leaf, operands: Operands) -> tuple[Leaf, Operands]:
    """The step and its exported operands, with axes counted from the front."""
    if step.domain or not step.op.startswith(_REDUCES):
        return step, operands
    rank = _rank_of_empty(step.operands[0])
    if rank is None:
        return step, operands
    if "axes" in step.attributes:
        axes = _whole(step.attributes["axes"].value)
        named = {**step.attributes, "axes": attribute("axes", _positive(axes, rank))}
        return (replace(step, attributes=named) if min(axes, default=0) < 0 else step), operands
    given = operands[_AXES] if len(operands) > _AXES else None
    known = None if given is None else draft.known(given)
    axes = () if known is None else tuple(map(int, known.reshape(-1)))
    if min(axes, default=0) >= 0:
        return step, operands
    made = draft.constant(_positive(axes, rank))
    return step, (*operands[:_AXES], made, *operands[_AXES + 1 :])


def _rank_of_empty(value: Value | None) -> int | None:
    """The rank of a tensor that may be empty, if it is known."""
    type_ = value.type if value is not None else None
    if not isinstance(type_, Tensor) or type_.shape is None:
        return None
    has_elements = all(isinstance(dim, int) and dim > 0 for dim in type_.shape)
    return None if has_elements else len(type_.shape)


def _positive(axes: tuple[int, ...], rank: int) -> list[int]:
    return [axis + rank if axis < 0 else axis for axis in axes]


def _whole(value: object) -> tuple[int, ...]:
    return tuple(n for n in value if isinstance(n, int)) if isinstance(value, tuple) else ()
