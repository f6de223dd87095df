"""Puts the outputs of feeds together to columns: each row gets its part, in the order of the batch.

Outputs that have one shape a row become a stacked column, those that differ in their first extent
a ragged one; both without Python work for each row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle.errors import RunError
from treadle.predict.columns import Column, Loose, Ragged, Rows, Stacked, column_of, ragged
from treadle.predict.layout import Layout


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """An output of rows that ran together.

    `values` has the rows first; if `lengths` are given, cells are cut to them along `time`. An
    output without a batch axis is `shared`: each row gets the whole value.
    """

    rows: Rows
    values: Any
    shared: bool = False
    lengths: np.ndarray | None = None
    time: int = 0


def pieces_of(
    outputs: Mapping[str, Any], rows: Rows, layout: Layout, lengths: np.ndarray
) -> dict[str, Piece]:
    """The outputs of one feed; raises RunError if one lacks rows along its batch axis."""
    return {n: _piece(n, value, rows, layout, lengths) for n, value in outputs.items()}


def _piece(name: str, value: Any, rows: Rows, layout: Layout, lengths: np.ndarray) -> Piece:
    axis = layout.axes.outputs.get(name)
    if axis is None or not isinstance(value, np.ndarray):
        return Piece(rows, value, shared=True)
    found = value.shape[axis] if axis < value.ndim else 1
    if found != len(rows):
        raise RunError(f'the output "{name}" has {found} rows along axis {axis}, not {len(rows)}')
    moved = np.moveaxis(value, axis, 0)
    if not layout.lengths or name not in layout.cut:
        return Piece(rows, moved)
    return Piece(rows, moved, lengths=lengths[rows], time=layout.cut[name])


def column_of_pieces(pieces: Sequence[Piece], count: int, failed: Rows) -> Column:
    """The column of an output for all rows; the failed ones are null."""
    arrays = [p for p in pieces if not p.shared]
    if len(arrays) != len(pieces) or not pieces:
        return column_of(_cells(pieces, count))
    if len({piece.values.dtype for piece in arrays}) == 1:
        if all(piece.lengths is None for piece in arrays):
            shapes = {piece.values.shape[1:] for piece in arrays}
            if len(shapes) == 1:
                return _stacked(arrays, count, failed)
        if _differ_in_first_extent(arrays):
            return _ragged(arrays, count, failed)
    return Loose(_cells(pieces, count))


def _stacked(pieces: Sequence[Piece], count: int, failed: Rows) -> Stacked:
    if len(pieces) == 1 and len(pieces[0].rows) == count:
        return Stacked(np.ascontiguousarray(pieces[0].values))
    values = np.zeros((count, *pieces[0].values.shape[1:]), pieces[0].values.dtype)
    for piece in pieces:
        values[piece.rows] = piece.values
    return Stacked(values, failed)


def _differ_in_first_extent(pieces: Sequence[Piece]) -> bool:
    return (
        all(piece.values.ndim > 1 and piece.time == 0 for piece in pieces)
        and len({piece.values.shape[2:] for piece in pieces}) == 1
    )


def _ragged(pieces: Sequence[Piece], count: int, failed: Rows) -> Ragged | Stacked:
    lengths = np.zeros(count, np.int64)
    for piece in pieces:
        lengths[piece.rows] = _lengths(piece)
    first = pieces[0].values
    made = ragged(np.empty((lengths.sum(), *first.shape[2:]), first.dtype), lengths, failed)
    for piece in pieces:
        places = made.starts[piece.rows, None] + np.arange(piece.values.shape[1])
        if piece.lengths is None:
            made.values[places] = piece.values
        else:
            there = np.arange(piece.values.shape[1]) < piece.lengths[:, None]
            made.values[places[there]] = piece.values[there]
    if not len(failed) and (lengths == lengths[0]).all():
        return Stacked(made.values.reshape(count, lengths[0], *first.shape[2:]))
    return made


def _lengths(piece: Piece) -> np.ndarray | int:
    return piece.values.shape[1] if piece.lengths is None else piece.lengths


def _cells(pieces: Sequence[Piece], count: int) -> list[Any]:
    cells: list[Any] = [None] * count
    for piece in pieces:
        for number, row in enumerate(piece.rows.tolist()):
            cells[row] = piece.values if piece.shared else _cell(piece, number)
    return cells


def _cell(piece: Piece, number: int) -> Any:
    cell = piece.values[number]
    if piece.lengths is None:
        return cell
    return cell[(*(slice(None),) * piece.time, slice(int(piece.lengths[number])))]
