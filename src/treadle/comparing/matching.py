"""Matches values of two sides: by a map, by name, by provenance, by data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from treadle.comparing.unequal import Bounds, first_unequal
from treadle.errors import InputError, did_you_mean
from treadle.ir import Model, walk_block
from treadle.passes import ITERATION, SOURCE_PATH
from treadle.tracing import Column, Iterations, QualifiedName

How = Literal["given", "name", "provenance", "data"]
Columns = Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class Match:
    """The value `got` of the first side is the value `wanted` of the second."""

    got: str
    wanted: str
    how: How


def match(
    got: Columns,
    wanted: Columns,
    names: Mapping[str, str],
    bounds: Bounds,
    placed: Collection[str] = (),
    *,
    by_data: bool = True,
) -> list[Match]:
    """Pairs of values, each value in at most one pair; ambiguous ones stay unmatched.

    `placed` are the names that values of `got` have by their provenance. With `by_data=False`
    values of unlike names stay alone.
    """
    found = [Match(*_named(got, wanted, *pair), "given") for pair in names.items()]
    taken = {each.got for each in found}
    others = {each.wanted for each in found}
    free = [n for n in got if n in wanted and n not in taken and n not in others]
    found += [Match(name, name, "provenance" if name in placed else "name") for name in free]
    taken, others = {each.got for each in found}, {each.wanted for each in found}
    left = {name: column for name, column in got.items() if name not in taken}
    right = {name: column for name, column in wanted.items() if name not in others}
    return [*found, *_by_data(left, right, bounds)] if by_data else found


def _named(got: Columns, wanted: Columns, one: str, other: str) -> tuple[str, str]:
    return _only(got, one, "the first side"), _only(wanted, other, "the second side")


def _only(columns: Columns, name: str, side: str) -> str:
    found = [full for full, column in columns.items() if name in (full, column.name)]
    found = found or [full for full in columns if is_called(full, name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f'names: "{name}" is {len(found)} values of {side}: {", ".join(found)}')
    raise InputError(f'names: {side} has no "{name}"; {did_you_mean(name, list(columns))}')


def is_called(full: str, name: str) -> bool:
    """Whether a value has this name: path and name, or the name alone, which may have slashes."""
    return full == name or full.endswith(f"/{name}")


def _by_data(got: Columns, wanted: Columns, bounds: Bounds) -> Iterator[Match]:
    """Values that agree in every iteration, if there is exactly one candidate on either side."""
    kinds: dict[Any, tuple[list[str], list[str]]] = {}
    for side, columns in enumerate((got, wanted)):
        for name, column in columns.items():
            kind = _kind(column)
            if kind is not None:
                kinds.setdefault(kind, ([], []))[side].append(name)
    for mine, theirs in kinds.values():
        alike = [
            (a, b)
            for a in mine
            for b in theirs
            if first_unequal(*fitted(got[a], wanted[b]), bounds) is None
        ]
        for a, b in alike:
            if sum(a in pair for pair in alike) == sum(b in pair for pair in alike) == 1:
                yield Match(a, b, "data")


def fitted(got: Column, wanted: Column) -> tuple[Column, Column]:
    """Both columns inside the same number of loops, where one is loose, and of known types."""
    one, other = got.fitted(wanted.loops), wanted.fitted(got.loops)
    return _typed(one, other), _typed(other, one)


def is_raw_bytes(array: object) -> bool:
    """Whether an array holds bytes alone, as files do for element types unknown to numpy."""
    return isinstance(array, np.ndarray) and array.dtype.type is np.void and not array.dtype.names


def _typed(column: Column, other: Column) -> Column:
    """Raw bytes as elements of the other's type, or as whole numbers if that has none either."""
    raw = column.made
    if not isinstance(raw, np.ndarray) or not is_raw_bytes(raw):
        return column
    alike, width = other.rows(), raw.dtype.itemsize
    fits = alike is not None and not is_raw_bytes(alike) and alike.dtype.itemsize == width
    dtype = alike.dtype if alike is not None and fits else np.dtype(f"u{width}")
    return replace(column, made=raw.view(dtype))


def _kind(column: Column) -> Any:
    """A key that equal values share; None for values with too little content to match."""
    rows = column.rows()
    if rows is None or not rows.size or rows.dtype.kind in "bOU":
        return None
    if rows.dtype.kind in "fc" and np.unique(rows[:_LOOKED_AT]).size < 2:
        return None
    return rows.dtype, rows.shape if column.is_loose else column.stacked().shape


_LOOKED_AT = 64


def results_by_step(model: Model) -> dict[tuple[str, int], QualifiedName]:
    """The place of every result, by the path of its step and its number there."""
    return {
        (visit.path, number): QualifiedName(visit.path.rpartition("/")[0], value.name)
        for visit in walk_block(model.main)
        for number, value in enumerate(visit.step.results)
        if value is not None
    }


def by_provenance(columns: Columns, model: Model, wanted: Model) -> dict[str, Column]:
    """The columns of an unrolled model as columns of the loop it was unrolled from.

    The metadata of a copied step hold its original path and iteration. Columns are returned under
    the names of `wanted`; values without a name there are unchanged.
    """
    places = results_by_step(wanted)
    there = {place.full_name for place in places.values()}
    parts: dict[QualifiedName, list[tuple[Iterations, Column]]] = {}
    left, moved = dict(columns), set[str]()
    for visit in walk_block(model.main):
        known = dict(visit.step.info.metadata)
        if SOURCE_PATH not in known or ITERATION not in known:
            continue
        numbers = tuple(map(int, known[ITERATION].split(",")))
        if len(numbers) != known[SOURCE_PATH].count(".body/"):
            continue  # it stands for the loop itself, such as for a part of a stacked result
        for number, value in enumerate(visit.step.results):
            full = "" if value is None else f"{visit.path.rpartition('/')[0]}/{value.name}"
            place = places.get((known[SOURCE_PATH], number))
            if place is not None and full in left:
                parts.setdefault(place, []).append((numbers, left[full]))
                if full not in there:  # the last iteration's may be the loop's result too
                    moved.add(full)
    left = {name: column for name, column in left.items() if name not in moved}
    return left | {place.full_name: _joined(place, found) for place, found in parts.items()}


def _joined(place: QualifiedName, parts: Sequence[tuple[Iterations, Column]]) -> Column:
    times = [
        ((*numbers, *inner), value)
        for numbers, column in sorted(parts, key=lambda part: part[0])
        for inner, value in column.items()
    ]
    at = np.array([numbers for numbers, _ in times], np.int64).reshape(len(times), -1)
    return Column(*place, [value for _, value in times], at)
