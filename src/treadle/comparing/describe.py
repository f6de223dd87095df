"""Describes the first difference: the step, the iteration, and its operands on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from treadle.comparing.comparison import FirstDifference
from treadle.comparing.matching import Match
from treadle.comparing.order import OutputPosition
from treadle.comparing.unequal import Bounds, Unequal, element
from treadle.tracing import Column

Columns = Mapping[str, Column]


def describe(
    pair: Match,
    found: Unequal,
    position: OutputPosition | None,
    columns: tuple[Columns, Columns],
    matches: Iterable[Match],
    bounds: Bounds,
    start: int = 0,
) -> FirstDifference:
    """Describe the first difference: the step at `position` defines the value of `pair`.

    `columns` has the recorded values of both sides; `start` is added to the outermost iteration.
    """
    path, operator, why = pair.wanted, "", "the values differ"
    inputs: dict[str, tuple[Any, Any]] = {}
    if position is not None:
        path, operator = position.step or pair.wanted, position.operator
        why = _why(pair, found, position)
        by_name = {m.got: m for m in matches}
        for name in position.operands:
            inputs |= _input(name, position, found, by_name, *columns)
    if found.only and position is not None and position.owner:
        path, operator = position.owner, _operator(position.owner)
    return FirstDifference(
        path, operator or _operator(path), pair.wanted, shifted(found.iterations, start), why,
        found.got, found.wanted, element(found.got, found.wanted, bounds), inputs,
    )  # fmt: skip


def shifted(iterations: tuple[int, ...], start: int) -> tuple[int, ...]:
    """Iteration numbers in the whole loop, for those in a window that begins at `start`."""
    return (iterations[0] + start, *iterations[1:]) if iterations else ()


def _operator(path: str) -> str:
    """The operator that a path names: `loop_3` is a Loop."""
    return path.rpartition("/")[2].rpartition("_")[0].capitalize()


def _why(pair: Match, found: Unequal, position: OutputPosition) -> str:
    if found.only:
        side = "the first side" if found.only == "got" else "the second side"
        return f"only {side} computes {pair.wanted} in this iteration"
    if pair.wanted.endswith("@trips"):
        return f"it runs {found.got} iterations, wanted {found.wanted}"
    if pair.wanted.endswith("@taken"):
        return "it takes its other branch"
    if not position.operator:
        return "its result differs from its input"
    return "its inputs agree, its results do not"


def _input(
    name: str,
    position: OutputPosition,
    found: Unequal,
    by_name: Mapping[str, Match],
    one: Columns,
    other: Columns,
) -> dict[str, tuple[Any, Any]]:
    """The operand of this name on both sides: of the step's block, or the nearest outer one."""
    path, iterations = position.path, found.iterations
    while path:
        pair = by_name.get(f"{path}/{name}")
        if pair is not None:
            values = [
                _at(columns, iterations) for columns in (one.get(pair.got), other.get(pair.wanted))
            ]
            return {name: (values[0], values[1])}
        path = path.rpartition("/")[0]
    return {}


def _at(column: Column | None, iterations: tuple[int, ...]) -> Any:
    """The last value in these iterations; None if there is none."""
    if column is None:
        return None
    depth = column.loops
    rows = (column.at == list(iterations[:depth])).all(axis=1).nonzero()[0]
    return column.made[rows[-1]] if len(rows) else None
