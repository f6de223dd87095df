"""Collects the findings of a comparison, part by part: matches, first difference, errors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from treadle.comparing.comparison import FirstDifference
from treadle.comparing.describe import describe, shifted
from treadle.comparing.growth import largest_errors
from treadle.comparing.matching import Match, by_provenance, fitted, is_called, match
from treadle.comparing.order import Key, order_of
from treadle.comparing.parts import Part
from treadle.comparing.unequal import Bounds, first_unequal
from treadle.ir import Model
from treadle.tracing import Column

Columns = Mapping[str, Column]


class Survey:
    """Takes the parts of a comparison in the order of execution, and holds the findings.

    `got` and `wanted` are the recorded values of the main block and of the part with the first
    difference, or of the last part if there is none. `growth` has the errors of values in windows,
    by their name on the second side; `loops` are the paths of these loops.
    """

    def __init__(
        self,
        got: Model | None,
        wanted: Model | None,
        names: Mapping[str, str],
        bounds: Bounds,
    ) -> None:
        self._models, self._names, self.bounds = (got, wanted), names, bounds
        self._orders = [{} if model is None else order_of(model) for model in (got, wanted)]
        self._key: Key | None = None
        self._seen: tuple[dict[str, Column], dict[str, Column]] = ({}, {})
        self._made: set[str] = set()
        self._errors: dict[str, dict[int, np.ndarray]] = {}
        self.loops: set[str] = set()
        self.matches: list[Match] = []
        self.first: FirstDifference | None = None
        self.got: Columns = {}
        self.wanted: Columns = {}

    def add(self, part: Part) -> None:
        """Compare a part."""
        one, other = dict(part.got), dict(part.wanted)
        if not (one and other):
            one |= _not_made(other, one, self._orders[0])
            other |= _not_made(one, other, self._orders[1])
        placed: set[str] = set()
        got, wanted = self._models
        if got is not None and wanted is not None:
            before, one = set(one), by_provenance(one, got, wanted)
            placed = set(one) - before
        self._match(one, other, placed, by_data=part.loop not in self.loops)
        self.loops |= {part.loop} if part.loop else set()
        pairs = [pair for pair in self.matches if pair.got in one or pair.wanted in other]
        for pair in pairs:
            if pair.got in one and pair.wanted in other:
                one[pair.got], other[pair.wanted] = fitted(one[pair.got], other[pair.wanted])
        part = replace(part, got=one, wanted=other)
        is_first = False
        for pair in pairs:
            mine = one.get(pair.got) or _none_of(other[pair.wanted])
            theirs = other.get(pair.wanted) or _none_of(one[pair.got])
            is_first |= self._compare(pair, mine, theirs, part)
            if part.loop:
                self._add_errors(pair.wanted, _errors(mine, theirs, part), part.start)
        if is_first or self.first is None:
            self.got, self.wanted = {**self.got, **one}, {**self.wanted, **other}

    def _add_errors(self, name: str, errors: np.ndarray, start: int) -> None:
        known = self._errors.setdefault(name, {})
        known[start] = np.maximum(known[start], errors) if start in known else errors

    def finish(self) -> None:
        """Drop values that neither side computed; raises InputError for an unknown given name."""
        self.matches = [p for p in self.matches if {p.got, p.wanted} & self._made]
        missing = {k: v for k, v in self._names.items() if not self._is_matched(k, v)}
        if missing:
            match(*self._seen, missing, self.bounds)

    @property
    def growth(self) -> Mapping[str, np.ndarray]:
        """The largest absolute error in each iteration, for values of loops that ran in windows."""
        return {name: _in_one(parts) for name, parts in self._errors.items()}

    @property
    def unmatched(self) -> tuple[list[str], list[str]]:
        """The values of each side that were computed, and not compared."""
        got, wanted = (
            [name for name in seen if name not in paired and name in self._made]
            for seen, paired in zip(self._seen, self._paired, strict=True)
        )
        return got, wanted

    @property
    def _paired(self) -> tuple[set[str], set[str]]:
        return {pair.got for pair in self.matches}, {pair.wanted for pair in self.matches}

    def _match(self, one: Columns, other: Columns, placed: Collection[str], by_data: bool) -> None:
        """Pair the values seen so far that are not paired yet."""
        for seen, columns in zip(self._seen, (one, other), strict=True):
            for name, column in columns.items():
                seen.setdefault(name, column)
                self._made |= {name} if len(column) else set()
        left = [
            {name: column for name, column in seen.items() if name not in names}
            for seen, names in zip(self._seen, self._paired, strict=True)
        ]
        known = {k: v for k, v in self._names.items() if _has(left[0], k) and _has(left[1], v)}
        self.matches += match(left[0], left[1], known, self.bounds, placed, by_data=by_data)

    def _is_matched(self, got: str, wanted: str) -> bool:
        return any(
            pair.how == "given" and is_called(pair.got, got) and is_called(pair.wanted, wanted)
            for pair in self.matches
        )

    def _compare(self, pair: Match, got: Column, wanted: Column, part: Part) -> bool:
        """Keep the first difference of a pair, if it is earlier than all so far."""
        found = first_unequal(got, wanted, self.bounds)
        if found is None:
            return False
        mine, theirs = (
            order.get(name)
            for order, name in zip(self._orders, (pair.got, pair.wanted), strict=True)
        )
        position, numbers = theirs or mine, shifted(found.iterations, part.start)
        key = position.key(numbers) if position else (*numbers, self.matches.index(pair))
        if self._key is not None and key >= self._key:
            return False
        around = part.around
        columns = dict(around[0]) | dict(part.got), dict(around[1]) | dict(part.wanted)
        self._key = key
        self.first = describe(
            pair, found, mine or position, columns, self.matches, self.bounds, part.start
        )
        return True


def _has(columns: Columns, name: str) -> bool:
    return any(is_called(full, name) for full in columns)


def _not_made(made: Columns, own: Columns, places: Collection[str]) -> dict[str, Column]:
    """The values that one side has made in a part, as those that the other one has not made."""
    return {n: _none_of(c) for n, c in made.items() if n in places and n not in own}


def _none_of(column: Column) -> Column:
    """The same value without any occurrence."""
    return replace(column, made=[], numbers=np.zeros((0, column.loops), np.int64), extents=())


def _in_one(parts: Mapping[int, np.ndarray]) -> np.ndarray:
    """The errors of parts, by the iteration with which each begins; zero where there is none."""
    whole = np.zeros(max(start + len(errors) for start, errors in parts.items()), np.float32)
    for start, errors in parts.items():
        whole[start : start + len(errors)] = errors
    return whole


def _errors(got: Column, wanted: Column, part: Part) -> np.ndarray:
    """The errors in each iteration of a window; zero where they are undefined."""
    errors = np.zeros(part.count, np.float32)
    found = largest_errors(got, wanted)[: part.count]
    errors[: len(found)] = found
    return errors
