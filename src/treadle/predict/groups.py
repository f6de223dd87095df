"""Stacks rows that can run together into feeds, and splits outputs into rows.

rows of one length   ->  one feed, stacked along the batch axis
with lengths         ->  one feed, shorter rows padded with zeros, and the length of each row
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treadle.errors import InputError
from treadle.ir import Model, Symbol, Tensor, Value, show_shape
from treadle.predict.axes import BatchAxes

Row = Mapping[str, np.ndarray]
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


def layout_of(model: Model, axes: BatchAxes, lengths: str) -> Layout:
    """The layout of a model; raises InputError if `lengths` is not an input that can take them."""
    params = {value.name: value for value in model.main.params}
    ranks = {name: _rank(value) for name, value in params.items()}
    if not lengths:
        return Layout(axes, ranks)
    if lengths not in params or ranks[lengths] != 1:
        told = ", ".join(name for name, rank in ranks.items() if rank == 1) or "none has one axis"
        raise InputError(f'lengths names "{lengths}", which is not an input with one axis ({told})')
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


def expect_row(row: Row, layout: Layout) -> None:
    """Raise InputError if a cell does not have the rank its input requires of one row."""
    for name, array in row.items():
        rank, axis = layout.ranks.get(name), layout.axes.inputs.get(name)
        wanted = None if rank is None else rank - (axis is not None)
        if wanted is not None and array.ndim != wanted:
            raise InputError(
                f'a cell for the input "{name}" has the shape {show_shape(array.shape)}, wanted'
                f" {wanted} axes: those of the input{'' if axis is None else ' without the batch'}"
            )


def groups(rows: Mapping[int, Row], layout: Layout) -> Iterator[list[int]]:
    """Group the numbers of rows that run together, in order."""
    found: dict[tuple[object, ...], list[int]] = {}
    for number, row in rows.items():
        found.setdefault(_key(row, layout), []).append(number)
    yield from found.values()


def _key(row: Row, layout: Layout) -> tuple[object, ...]:
    return tuple(_kind(name, array, layout) for name, array in sorted(row.items()))


def _kind(name: str, array: np.ndarray, layout: Layout) -> tuple[object, ...]:
    if layout.axes.inputs.get(name) is None:
        return name, array.shape, array.tolist() if array.dtype == object else array.tobytes()
    time = layout.times[name] if layout.lengths and name in layout.times else None
    return name, array.dtype, tuple(n for axis, n in enumerate(array.shape) if axis != time)


def feed_of(rows: Sequence[Row], layout: Layout) -> dict[str, np.ndarray]:
    """The feed of rows that run together."""
    first = rows[0]
    feed: dict[str, np.ndarray] = {}
    for name in first:
        axis = layout.axes.inputs.get(name)
        cells = [row[name] for row in rows]
        if axis is None:
            feed[name] = first[name]
        elif layout.lengths and name in layout.times:
            feed[name] = np.stack(_padded(cells, layout.times[name]), axis)
        else:
            feed[name] = np.stack(cells, axis)
    if layout.lengths:
        feed[layout.lengths] = np.array([_length(row, layout) for row in rows], layout.counts)
    return feed


def _length(row: Row, layout: Layout) -> int:
    found = {row[name].shape[axis] for name, axis in layout.times.items() if name in row}
    if len(found) != 1:
        raise InputError(f"a row has several lengths: {', '.join(map(str, sorted(found)))}")
    return int(found.pop())


def _padded(cells: Sequence[np.ndarray], axis: int) -> list[np.ndarray]:
    longest = max(cell.shape[axis] for cell in cells)
    made = []
    for cell in cells:
        shape = (*cell.shape[:axis], longest, *cell.shape[axis + 1 :])
        wide = np.zeros(shape, cell.dtype)
        wide[(*(slice(None),) * axis, slice(cell.shape[axis]))] = cell
        made.append(wide)
    return made


def rows_of(
    outputs: Mapping[str, Any], rows: Sequence[Row], layout: Layout
) -> Iterator[dict[str, Any]]:
    """Split the outputs of a feed into rows."""
    for number, row in enumerate(rows):
        yield {name: _cell(name, value, number, row, layout) for name, value in outputs.items()}


def _cell(name: str, value: Any, number: int, row: Row, layout: Layout) -> Any:
    axis = layout.axes.outputs.get(name)
    if axis is None or not isinstance(value, np.ndarray):
        return value
    cell = np.take(value, number, axis)
    if layout.lengths and name in layout.cut:
        time = layout.cut[name]
        cell = cell[(*(slice(None),) * time, slice(_length(row, layout)))]
    return cell
