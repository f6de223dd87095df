"""The two sides of a comparison: a model in a runtime, a recording, or a file of activations."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from treadle import formats, passes, recording
from treadle.arguments import expect_member, path_text, shown
from treadle.comparing.matching import is_raw_bytes
from treadle.comparing.runtimes import RUNTIMES, prepared_in, prepared_on
from treadle.errors import InputError, InputTypeError
from treadle.ir import (
    Branch,
    Call,
    Function,
    Leaf,
    Loop,
    Model,
    Type,
    dtype_of,
    show_array,
    walk_block,
)
from treadle.recording import Prepare
from treadle.session import InferenceSession
from treadle.sources import valid
from treadle.tracing import Column, Recorder, Selector, read_npz

Feeds = Mapping[str, Any]


@dataclass(eq=False)
class Side:
    """One side of a comparison and its values; `label` names it in messages.

    `model` is what runs, with functions and calls expanded; None for a recording. `prepare` makes
    it ready in its runtime. `given` are the columns of a recording.
    """

    label: str
    model: Model | None = None
    prepare: Prepare | None = None
    given: Sequence[Column] = ()
    refused: list[str] = field(default_factory=list)

    def outputs(self, feeds: Feeds) -> dict[str, Any]:
        """The outputs of a plain run; none of a recording."""
        if self.model is None or self.prepare is None:
            return {}
        return self.prepare(self.model)(feeds)

    def columns(self, feeds: Feeds, selector: Selector) -> dict[str, Column]:
        """The selected values by path and name, with counts and decisions of loops and branches."""
        if self.model is None or self.prepare is None:
            return {each.full_name: each for each in self.given}
        exposure = self.expose(self.model, selector)
        outputs = self.prepare(exposure.model)(feeds)
        found = recording.columns(exposure, outputs, never_made=True)
        return {f"{each.path}/{each.name}": each for each in found}

    def expose(self, model: Model, selector: Selector, window: str = "") -> passes.Exposure:
        """The model, or a part of it, with the selected values as outputs.

        Counts and decisions of loops and branches are exposed too, except for the loop at the path
        `window`. Values that cannot be exposed are added to `refused`.
        """

        def expand(step: Leaf | Call, types: Sequence[Type | None]) -> Function | None:
            return formats.schema_function(step, types, model.opsets)

        extras = _extras(model, window)
        exposure = passes.expose(model, Selector((*selector.patterns, *extras)), expand)
        self.refused += [f"{each.name}: {each.reason}" for each in exposure.refused]
        return exposure


def _extras(model: Model, window: str = "") -> list[str]:
    """Selectors of what loops and branches did, where there are some beside that at `window`."""
    kinds = {type(visit.step) for visit in walk_block(model.main) if visit.path != window}
    asked = {Loop: "*@trips", Branch: "*@taken"}
    return [pattern for kind, pattern in asked.items() if kind in kinds]


def side_of(given: Any, name: str) -> Side:
    """The side given as `a` or `b`."""
    if isinstance(given, Side):
        return given
    if isinstance(given, Recorder):
        return Side(name, given=given.columns)
    if isinstance(given, tuple):
        if len(given) != 2:
            raise InputError(f"{name} is a tuple of {len(given)}, wanted (model, runtime)")
        source, runtime = given
        expect_member(runtime, RUNTIMES, f"the runtime of {name}")
        return _of_model(prepared(source), f"{name} ({runtime})", runtime)
    if isinstance(given, InferenceSession):
        return Side(name, prepared(given.model), prepared_on(given._named_engines))
    if isinstance(given, dict) and all(isinstance(v, _RECORDED) for v in given.values()):
        return Side(name, given=columns_of({k: np.asarray(v) for k, v in given.items()}))
    if isinstance(given, str | os.PathLike) and path_text(given, name).endswith(".npz"):
        return Side(str(given), given=_of_file(Path(os.fspath(given))))
    if given is None or isinstance(given, int | float):
        wanted = "a model, a session, (model, runtime), a recording or an .npz file"
        raise InputTypeError(f"{name} is {shown(given)}, wanted {wanted}")
    return _of_model(prepared(given), name, "treadle")


_RECORDED = np.ndarray | np.generic


def _of_model(model: Model, label: str, runtime: str) -> Side:
    return Side(label, model, prepared_in(runtime))


def prepared(source: object) -> Model:
    """The model with calls expanded, so that paths are those of what runs."""
    model = valid(source, "compared")

    def expand(step: Leaf | Call, types: Sequence[Type | None]) -> Function | None:
        return formats.schema_function(step, types, model.opsets)

    return passes.expanded(model, expand)


def _of_file(path: Path) -> list[Column]:
    return columns_of(read_npz(path))


def columns_of(arrays: Mapping[str, np.ndarray]) -> list[Column]:
    """Columns from arrays by name, iterations first; `NAME@at` has the iteration numbers.

    Without `NAME@at` an array is loose: what it is matched with says how many of its leading axes
    are those of loops.
    """
    found = []
    for name, given in arrays.items():
        if name.endswith(("@at", "@lengths")):
            continue
        path, _, last = name.rpartition("/")
        array = _known(name, given)
        numbers = _numbers(name, array, arrays.get(f"{name}@at"))
        if not array.ndim:
            found.append(Column(path, last, array[None]))
            continue
        extents = () if numbers is not None else array.shape[:1]
        found.append(Column(path, last, array, numbers, extents, is_loose=numbers is None))
    return found


_RAW_BYTES = (1, 2, 4, 8)
_MOST_ITERATIONS = 2**31


def _known(name: str, array: np.ndarray) -> np.ndarray:
    """The array in the machine's byte order; raises InputError for elements that no model has.

    Raw bytes are elements of a type unknown to numpy: `fitted` gives them a type.
    """
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8", "backslashreplace")
    if array.dtype.kind in "iufc":
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
    is_raw = is_raw_bytes(array) and array.dtype.itemsize in _RAW_BYTES
    if not is_raw and (is_raw_bytes(array) or dtype_of(array.dtype) is None):
        raise InputError(f"{name} has elements of {array.dtype}, which no value of a model has")
    return array


def _numbers(name: str, array: np.ndarray, given: np.ndarray | None) -> np.ndarray | None:
    """The iteration numbers of the rows; raises InputError unless there is one for each."""
    if given is None:
        return None
    is_table = given.ndim == 2 and given.dtype.kind in "iu"
    if not array.ndim or not is_table or len(given) != len(array):
        shapes = f"{show_array(array)} and {name}@at {show_array(given)}"
        raise InputError(f"{name} is {shapes}; wanted int64[rows, loops] for as many rows")
    if given.size and not 0 <= int(given.min()) <= int(given.max()) < _MOST_ITERATIONS:
        raise InputError(
            f"{name}@at has numbers from {given.min()} to {given.max()}; wanted iterations, from 0"
            f" to {_MOST_ITERATIONS - 1}"
        )
    return given.astype(np.int64, copy=False)
