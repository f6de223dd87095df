"""`treadle.Predictor`: runs a model over the rows of batches, for data pipelines."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from treadle import formats, passes
from treadle.arguments import expect, expect_member, mapping_of, names_of
from treadle.boundary import public
from treadle.errors import RunError, TreadleError
from treadle.ir import Model
from treadle.locks import ForkSafeLock
from treadle.options import SessionOptions
from treadle.predict.axes import given_axes, proven_axes
from treadle.predict.columns import Column, Rows, Texts
from treadle.predict.groups import groups
from treadle.predict.layout import Layout, layout_of
from treadle.predict.outcomes import Piece, column_of_pieces, pieces_of
from treadle.predict.stacking import feed_of, row_bytes, row_lengths
from treadle.predict.tables import column, kind_of
from treadle.predict.typed import Failed, input_kind, living, typed_columns
from treadle.session import InferenceSession
from treadle.sources import loaded

__all__ = ["Predictor"]

_MOST_ROWS = 4096
_MOST_BYTES = 2**26
_FEW_BYTES = 2**20
"""More than `_MOST_ROWS` rows run together if their cells take no more bytes than this."""
_ERROR = "error"


class Predictor:
    """Runs a model on the rows of batches; for Ray, Dask, Spark, multiprocessing, or a plain loop.

    A batch is a dict of numpy arrays, a pandas.DataFrame or a pyarrow.Table. The result is of the
    same kind and has the same rows in the same order, the columns of the batch, and a column for
    each output: lists if rows have different lengths.

    `model` is a path, bytes, or any other source of `treadle.load`. `columns` maps inputs to
    columns, by default of the same name. `outputs` are names of outputs, or a mapping from them to
    names of columns; by default all.

    Rows whose cells have equal shapes run together along the batch axis. The batch axis is
    `batch_axis` of every input and output; by default the axis along which inference proves rows
    independent. If there is none, rows run one by one, and `axes.reason` explains why. Nothing is
    padded unless `lengths` names the input that takes the lengths of rows: rows then run together
    with zeros behind the shorter ones, and outputs for each step are cut back.

    `errors`: "column" gives a failed row nulls, and its message in a column `error`; "raise"
    raises. A Predictor pickles its arguments, and opens its session at the first call.

    Raises InputError for columns and arguments that do not fit the model.
    """

    @public
    def __init__(
        self,
        model: object,
        columns: Mapping[str, str] | None = None,
        outputs: Sequence[str] | Mapping[str, str] | None = None,
        *,
        batch_axis: int | None = None,
        lengths: str | None = None,
        errors: Literal["column", "raise"] = "column",
        options: SessionOptions | None = None,
    ) -> None:
        expect_member(errors, ("column", "raise"), "errors")
        expect(lengths, (str, type(None)), "lengths", "the name of an input, or None")
        if batch_axis is not None:
            expect(batch_axis, int, "batch_axis", "a number, or None")
        self._source = _source(model)
        self._options, self._errors = options, errors
        read = loaded(self._source)[0]
        typed = InferenceSession(self._source, options).model
        given, lengths = _given_columns(columns), lengths or ""
        self._columns = _columns(typed, given, lengths)
        self._outputs = _outputs(typed, outputs)
        axes = (
            proven_axes(read, {*self._columns}, lengths)
            if batch_axis is None
            else given_axes(typed, batch_axis, lengths)
        )
        self._layout = layout_of(typed, axes, lengths)
        ranks, along = self._layout.ranks, axes.inputs
        self._kinds = {
            v.name: input_kind(v.name, v.type, ranks.get(v.name), along.get(v.name))
            for v in typed.main.params
        }
        self._session: InferenceSession | None = None
        self._lock = ForkSafeLock()

    @property
    def layout(self) -> Layout:
        """The batch axes, and the reason if rows run one by one."""
        return self._layout

    def __repr__(self) -> str:
        most = self._layout.axes.most
        together = "one by one" if most == 1 else "together"
        return f"<Predictor of {_named(self._source)}: rows run {together}>"

    def describe(self) -> str:
        """A text of all that decides the results: the model's digest, columns, axes, settings."""
        data = self._source
        content = Path(data).read_bytes() if isinstance(data, str) else data
        digest = hashlib.sha256(content).hexdigest()
        settings = (self._columns, self._outputs, self._layout, self._errors, self._options)
        return f"{digest} {settings!r}"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=ForkSafeLock())

    @public
    def __call__(self, batch: Any) -> Any:
        """The batch with the outputs of its rows.

        Raises InputError for a batch that lacks a column the model needs; with errors="raise",
        RunError with the number of the first row that fails.
        """
        kind = kind_of(batch)
        count = kind.rows(batch)
        given = {n: column(kind, batch, c, n) for n, c in self._columns.items()}
        columns, failed = typed_columns(given, self._kinds)
        alive = living(count, failed, columns)
        lengths = row_lengths(columns, self._layout, alive, failed)
        work = _Work(columns, lengths, failed, {output: [] for output in self._outputs})
        alive[list(failed)] = False
        for rows in groups(columns, self._layout, alive):
            for part in self._parts(rows, work):
                self._run(part, work)
        return kind.with_columns(batch, self._made(work, count))

    def _parts(self, rows: Rows, work: _Work) -> Iterator[Rows]:
        """Split the rows of a group into calls of a limited size in memory."""
        bytes_of_row = max(row_bytes(work.columns, int(rows[0])), 1)
        usual = max(1, min(_MOST_ROWS, _MOST_BYTES // bytes_of_row))
        most = self._layout.axes.most or max(usual, _FEW_BYTES // bytes_of_row)
        for start in range(0, len(rows), most):
            yield rows[start : start + most]

    def _run(self, rows: Rows, work: _Work) -> None:
        """Run rows together.

        If that fails, half of them at a time, so that a bad row does not fail the others.
        """
        try:
            feed = feed_of(work.columns, rows, self._layout, work.lengths)
            outputs = self._opened().run([*self._outputs], feed)
            named = dict(zip(self._outputs, outputs, strict=True))
            pieces = pieces_of(named, rows, self._layout, work.lengths)
        except TreadleError as error:
            if len(rows) == 1:
                work.failed[int(rows[0])] = str(error)
                return
            middle = len(rows) // 2
            self._run(rows[:middle], work)
            self._run(rows[middle:], work)
            return
        for name, piece in pieces.items():
            work.pieces[name].append(piece)

    def _opened(self) -> InferenceSession:
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = InferenceSession(self._source, self._options)
        return self._session

    def _made(self, work: _Work, count: int) -> dict[str, Column | Texts]:
        """A column for each output, and one for errors.

        Raises RunError if errors are to be raised.
        """
        failed = np.array(sorted(work.failed), np.int64)
        if len(failed) and self._errors == "raise":
            raise RunError(f"row {failed[0]} failed: {work.failed[int(failed[0])]}")
        made: dict[str, Column | Texts] = {
            name: column_of_pieces(work.pieces[output], count, failed)
            for output, name in self._outputs.items()
        }
        if self._errors == "column":
            made[_ERROR] = Texts(count, work.failed)
        return made


@dataclass(frozen=True, slots=True)
class _Work:
    """One batch: its columns and the lengths of rows; the outputs so far, and why rows failed."""

    columns: Mapping[str, Column]
    lengths: np.ndarray
    failed: Failed
    pieces: Mapping[str, list[Piece]]


def _source(model: object) -> Any:
    """A source that pickles and is quick to open: a path unchanged, else the bytes of a file."""
    if isinstance(model, str | os.PathLike) and "\n" not in os.fsdecode(model):
        return os.path.abspath(os.fsdecode(model))
    return formats.onnx.to_bytes(passes.to_onnx_loops(loaded(model)[0]))


def _given_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    if columns is None:
        return {}
    return mapping_of(columns, "columns", "a dict of columns by input")


def _named(source: str | bytes) -> str:
    return os.path.basename(source) if isinstance(source, str) else "a model"


def _columns(model: Model, columns: Mapping[str, str], lengths: str) -> dict[str, str]:
    defaults = {c.value for c in model.main.constants}
    names = [v.name for v in model.main.params if v not in defaults and v.name != lengths]
    names_of(list(columns), [v.name for v in model.main.params], "columns")
    return {name: columns.get(name, name) for name in dict.fromkeys([*names, *columns])}


def _outputs(model: Model, outputs: Any) -> dict[str, str]:
    names = [value.name for value in model.main.results if value is not None]
    if outputs is None:
        return {name: name for name in names}
    given = dict(outputs) if isinstance(outputs, Mapping) else None
    chosen = names_of(list(given) if given is not None else outputs, names, "outputs")
    return {name: given[name] if given is not None else name for name in chosen}
