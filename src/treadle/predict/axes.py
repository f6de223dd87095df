"""The batch axis of a model's inputs and outputs: given by the caller, or proven by inference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from treadle import passes
from treadle.batching import Mixed, batch_axes
from treadle.errors import InputError
from treadle.ir import Model, Tensor, Value, admits

_FIRST_AXES = (0, 1)
_MANY = 7919
"""An extent that no model has of its own: an input that takes it takes any number of rows."""


@dataclass(frozen=True, slots=True)
class BatchAxes:
    """The batch axis of each input and output by name; None if it is shared by all rows.

    `most` is the number of rows that may run together, None for any number; `reason` explains why
    it is 1.
    """

    inputs: Mapping[str, int | None]
    outputs: Mapping[str, int | None]
    most: int | None = None
    reason: str = ""


def given_axes(model: Model, axis: int, lengths: str) -> BatchAxes:
    """The axes given by a caller: this axis of every input and output that has it.

    `lengths` is the input that takes the lengths of rows, along its only axis; "" for none.
    """
    inputs = {v.name: 0 if v.name == lengths else _within(v, axis) for v in model.main.params}
    if not any(number is not None for number in inputs.values()):
        raise InputError(f"batch_axis is {axis}, and no input of the model has such an axis")
    outputs = {v.name: _within(v, axis) for v in model.main.results if v is not None}
    return BatchAxes(inputs, outputs)


def proven_axes(model: Model, fed: set[str], lengths: str) -> BatchAxes:
    """The first of the axes 0 and 1 along which rows are proven to be independent.

    `fed` are the inputs that get a column. Inputs that lack this axis, or have a fixed extent
    there, are shared by all rows that run together. If the model takes one row only, its axes are
    returned for that.
    """
    prepared = passes.prepare(model)
    params = [value for value in model.main.params if value.name in fed - {lengths}]
    reasons = []
    for rows, axis in product((_MANY, 1), _FIRST_AXES):
        axes = {v.name: axis for v in params if takes(v, axis, rows)}
        if not axes:
            continue
        axes |= {lengths: 0} if lengths else {}
        try:
            outputs = batch_axes(prepared, axes)
        except Mixed as why:
            reasons.append(f"along axis {axis}: {why}")
            continue
        inputs = {v.name: axes.get(v.name) for v in model.main.params}
        if rows > 1:
            return BatchAxes(inputs, outputs)
        return BatchAxes(inputs, outputs, 1, "the model takes one row at a time")
    reason = (
        "; ".join(dict.fromkeys(reasons)) or "no input has an axis 0 or 1 that can be a batch axis"
    )
    return BatchAxes({}, {}, 1, reason)


def takes(value: Value, axis: int, rows: int) -> bool:
    """Whether an input of the model can have this extent along an axis."""
    found = value.declared if value.declared is not None else value.type
    shape = found.shape if isinstance(found, Tensor) else None
    return shape is not None and axis < len(shape) and admits(shape[axis], rows)


def _within(value: Value, axis: int) -> int | None:
    rank = rank_of(value)
    return None if rank is None or not -rank <= axis < rank else axis % rank


def rank_of(value: Value) -> int | None:
    """The rank of an input or output; None if it is not known."""
    found = value.type if value.type is not None else value.declared
    shape = found.shape if isinstance(found, Tensor) else None
    return None if shape is None else len(shape)
