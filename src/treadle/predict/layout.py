"""How rows become feeds: the batch axes of inputs and outputs, and the time axes of padded rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treadle.errors import InputError
from treadle.ir import Model, Symbol, Tensor, Value
from treadle.predict.axes import BatchAxes

_INT64 = np.dtype(np.int64)


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows become feeds: the batch axes, and the time axes of padded rows.

    `lengths` is the input that takes the length of each row, with the dtype `counts`; "" if nothing
    is padded. `times` maps inputs to the time axis of a row, without the batch axis; `cut` maps
    outputs to theirs.
    """

    axes: BatchAxes
    ranks: Mapping[str, int | None]
    lengths: str = ""
    counts: np.dtype[Any] = _INT64
    times: Mapping[str, int] = field(default_factory=dict)
    cut: Mapping[str, int] = field(default_factory=dict)

    def time_of(self, name: str) -> int | None:
        """The axis of an input along which its cells are padded; None if they are not."""
        return self.times.get(name) if self.lengths else None


def layout_of(model: Model, axes: BatchAxes, lengths: str) -> Layout:
    """The layout of a model; raises InputError if `lengths` is not an input that can take them."""
    params = {value.name: value for value in model.main.params}
    ranks = {name: _rank(value) for name, value in params.items()}
    if not lengths:
        return Layout(axes, ranks)
    if lengths not in params or ranks[lengths] != 1:
        known = ", ".join(name for name, rank in ranks.items() if rank == 1) or "none has one axis"
        raise InputError(
            f'lengths names "{lengths}", which is not an input with one axis ({known})'
        )
    if axes.most == 1:
        raise InputError(f"rows cannot be padded, since they cannot run together: {axes.reason}")
    times, symbols = {}, set()
    for name, value in params.items():
        open_ = _open_axes(value, axes.inputs.get(name))
        if name != lengths and axes.inputs.get(name) is not None and len(open_) == 1:
            ((axis, dim),) = open_
            times[name] = axis
            symbols.add(dim)
    outputs = (value for value in model.main.results if value is not None)
    cut = {}
    for value in outputs:
        open_ = _open_axes(value, axes.outputs.get(value.name))
        found = [axis for axis, dim in open_ if dim in symbols]
        if len(found) == 1:
            cut[value.name] = found[0]
    found_type = params[lengths].type
    dtype = found_type.dtype if isinstance(found_type, Tensor) else None
    counts = _INT64 if dtype is None else dtype.numpy
    return Layout(axes, ranks, lengths, counts, times, cut)


def _rank(value: Value) -> int | None:
    found = value.type if value.type is not None else value.declared
    return len(found.shape) if isinstance(found, Tensor) and found.shape is not None else None


def _open_axes(value: Value, batch: int | None) -> list[tuple[int, object]]:
    """The axes of a row with a dynamic extent, counted without the batch axis, and their names."""
    found = value.type if value.type is not None else value.declared
    shape = found.shape if isinstance(found, Tensor) and found.shape is not None else ()
    rest = [dim for axis, dim in enumerate(shape) if axis != batch]
    return [(axis, dim) for axis, dim in enumerate(rest) if isinstance(dim, Symbol)]
