"""`treadle.Predictor`: runs a model over the rows of batches, for data pipelines."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from treadle import formats, passes
from treadle.arguments import expect, expect_member, names_of
from treadle.boundary import public
from treadle.errors import InputError, RunError, TreadleError
from treadle.feeds import convert
from treadle.ir import Model, Tensor, Type
from treadle.options import SessionOptions
from treadle.predict.axes import proven_axes, told_axes
from treadle.predict.groups import Layout, Row, expect_row, feed_of, groups, layout_of, rows_of
from treadle.predict.tables import Cells, column, kind_of
from treadle.session import InferenceSession
from treadle.sources import loaded

__all__ = ["Predictor"]

_MOST_ROWS = 4096
_MOST_BYTES = 2**26
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
        if batch_axis is not None:
            expect(batch_axis, int, "batch_axis", "a number, or None")
        self._source = _source(model)
        self._options, self._errors = options, errors
        read = loaded(self._source)[0]
        typed = InferenceSession(self._source, options).model
        given, lengths = {} if columns is None else dict(columns), lengths or ""
        self._columns = _columns(typed, given, lengths)
        self._outputs = _outputs(typed, outputs)
        axes = (
            proven_axes(read, {*self._columns}, lengths)
            if batch_axis is None
            else told_axes(typed, batch_axis, lengths)
        )
        self._layout = layout_of(typed, axes, lengths)
        self._types: dict[str, Type | None] = {v.name: v.type for v in typed.main.params}
        self._session: InferenceSession | None = None
        self._lock = threading.Lock()

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
        self.__dict__.update(state, _lock=threading.Lock())

    @public
    def __call__(self, batch: Any) -> Any:
        """The batch with the outputs of its rows.

        Raises InputError for a batch that lacks a column the model needs; with errors="raise",
        RunError with the number of the first row that fails.
        """
        kind = kind_of(batch)
        count = kind.rows(batch)
        cells = {n: column(kind, batch, c, n) for n, c in self._columns.items()}
        results: list[dict[str, Any] | str] = ["not run"] * count
        rows: dict[int, Row] = {}
        for number in range(count):
            row = self._row(cells, number)
            if isinstance(row, str):
                results[number] = row
            else:
                rows[number] = row
        for group in groups(rows, self._layout):
            for part in self._parts(group, rows):
                self._run(part, rows, results)
        return kind.with_columns(batch, self._made(results))

    def _row(self, cells: Mapping[str, Cells], number: int) -> Row | str:
        """The cells of a row as arrays of the model's types, or the reason why they are invalid."""
        try:
            row = {name: self._cell(name, found[number]) for name, found in cells.items()}
            expect_row(row, self._layout)
        except TreadleError as error:
            return str(error)
        return row

    def _cell(self, name: str, cell: Any) -> np.ndarray:
        if cell is None:
            raise InputError(f'the cell for the input "{name}" is null')
        try:
            return _array(cell, self._types[name])
        except InputError as error:
            raise InputError(f'the cell for the input "{name}": {error}') from None

    def _parts(self, group: list[int], rows: Mapping[int, Row]) -> Iterator[list[int]]:
        """Split the rows of a group into calls of a limited size in memory."""
        bytes_of_row = sum(array.nbytes for array in rows[group[0]].values())
        most = self._layout.axes.most or max(
            1, min(_MOST_ROWS, _MOST_BYTES // max(bytes_of_row, 1))
        )
        for start in range(0, len(group), most):
            yield group[start : start + most]

    def _run(
        self, part: list[int], rows: Mapping[int, Row], results: list[dict[str, Any] | str]
    ) -> None:
        """Run rows together.

        If that fails, one by one, so that a bad row does not fail the others.
        """
        chosen = [rows[number] for number in part]
        try:
            feed = feed_of(chosen, self._layout)
            outputs = self._opened().run([*self._outputs], feed)
        except TreadleError as error:
            if len(part) == 1:
                results[part[0]] = str(error)
                return
            for number in part:
                self._run([number], rows, results)
            return
        named = dict(zip(self._outputs, outputs, strict=True))
        for number, made in zip(part, rows_of(named, chosen, self._layout), strict=True):
            results[number] = made

    def _opened(self) -> InferenceSession:
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = InferenceSession(self._source, self._options)
        return self._session

    def _made(self, results: Sequence[dict[str, Any] | str]) -> dict[str, Cells]:
        """A column for each output, and one for errors.

        Raises RunError if errors are to be raised.
        """
        failed = [number for number, found in enumerate(results) if isinstance(found, str)]
        if failed and self._errors == "raise":
            raise RunError(f"row {failed[0]} failed: {results[failed[0]]}")
        made: dict[str, Cells] = {
            name: [None if isinstance(found, str) else found[output] for found in results]
            for output, name in self._outputs.items()
        }
        if self._errors == "column":
            made[_ERROR] = [found if isinstance(found, str) else None for found in results]
        return made


def _array(cell: Any, type_: Type | None) -> np.ndarray:
    """A cell as an array of the type's dtype: floats are rounded to it, other numbers must fit."""
    dtype = type_.dtype if isinstance(type_, Tensor) else None
    array = np.asarray(cell)
    if dtype is None or array.dtype == dtype.numpy != np.dtype(object):
        return array
    if array.dtype.kind == dtype.numpy.kind == "f":
        return array.astype(dtype.numpy)
    made = convert(array.tolist(), Tensor(dtype, None))
    assert isinstance(made, np.ndarray), "a tensor is an array"
    return made


def _source(model: object) -> Any:
    """A source that pickles and is quick to open: a path unchanged, else the bytes of a file."""
    if isinstance(model, str | os.PathLike) and "\n" not in os.fsdecode(model):
        return os.path.abspath(os.fsdecode(model))
    return formats.onnx.to_bytes(passes.to_onnx_loops(loaded(model)[0]))


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
