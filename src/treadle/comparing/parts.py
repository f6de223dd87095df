"""Yields the values of two sides: all at once, or one window of a long loop after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.comparing.sides import Side
from treadle.recording import (
    FIRST_SIZE,
    LARGEST_SIZE,
    StagedModel,
    StagedRun,
    long_loops,
    next_size,
)
from treadle.tracing import Column, Selector

Feeds = Mapping[str, Any]
Outputs = tuple[Mapping[str, Any], Mapping[str, Any]]


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Recorded values of both sides, by path and name.

    A window covers `count` iterations from `start` on of the loop at the path `loop`; its iteration
    numbers start at zero. `around` has the values recorded before it.
    """

    got: Mapping[str, Column]
    wanted: Mapping[str, Column]
    loop: str = ""
    start: int = 0
    count: int = 0
    around: tuple[Mapping[str, Column], Mapping[str, Column]] = ({}, {})


def parts_of(
    got: Side, wanted: Side, feeds: Feeds, selector: Selector
) -> tuple[Outputs, Iterator[Part]]:
    """The outputs of plain runs, and the recorded values; both sides run in windows, or neither."""
    loops = _common_loops(got, wanted, feeds)
    plain = [_staged(side, feeds, loops, None) for side in (got, wanted)] if loops else []
    runs = [_staged(side, feeds, loops, selector) for side in (got, wanted)] if loops else []
    if not loops or None in plain or None in runs:
        outputs = got.outputs(feeds), wanted.outputs(feeds)
        return outputs, _whole(got, wanted, feeds, selector)
    made = [_outputs(side, run, loops) for side, run in zip((got, wanted), plain, strict=True)]
    return (made[0], made[1]), _windows([run for run in runs if run is not None], loops)


def _common_loops(got: Side, wanted: Side, feeds: Feeds) -> list[str]:
    """The long loops that both sides have."""
    if got.model is None or wanted.model is None:
        return []
    loops = long_loops(got.model, feeds)
    return loops if loops == long_loops(wanted.model, feeds) else []


def _whole(got: Side, wanted: Side, feeds: Feeds, selector: Selector) -> Iterator[Part]:
    yield Part(got.columns(feeds, selector), wanted.columns(feeds, selector))


def _staged(
    side: Side, feeds: Feeds, loops: Sequence[str], selector: Selector | None
) -> StagedRun | None:
    assert side.model is not None, "recordings have no loops"
    assert side.prepare is not None, "a side with a model runs"
    if selector is None:
        staged = StagedModel.of(side.model, loops, side.prepare)
    else:
        selector.expect_match(side.model)
        staged = StagedModel.of(side.model, loops, side.prepare, side.expose, selector)
    return None if staged is None else staged.run(feeds)


def _outputs(side: Side, run: StagedRun | None, loops: Sequence[str]) -> Mapping[str, Any]:
    assert run is not None, "both sides run in stages"
    assert side.model is not None, "both sides run"
    for loop in loops:
        run.until(loop)
        while not run.has_ended:
            run.window(LARGEST_SIZE)
        run.close()
    run.until("")
    names = [value.name for value in side.model.main.results if value is not None]
    return {name: run.value(name) for name in names}


def _windows(runs: Sequence[StagedRun], loops: Sequence[str]) -> Iterator[Part]:
    around: list[dict[str, Column]] = [{}, {}]
    for loop in loops:
        _extend(around, [run.until(loop) for run in runs])
        start, size = 0, 1 if any(run.is_nested for run in runs) else FIRST_SIZE
        while not all(run.has_ended for run in runs):
            (ran, one), (other_ran, other) = [run.window(size) for run in runs]
            count = max(ran, other_ran)
            yield Part(one, other, loop, start, count, (around[0], around[1]))
            start, size = start + count, next_size(size, max(map(_bytes, (one, other))))
        _extend(around, [run.close() for run in runs])
    _extend(around, [run.until("") for run in runs])
    yield Part(around[0], around[1])


def _extend(around: Sequence[dict[str, Column]], found: Sequence[Mapping[str, Column]]) -> None:
    for known, more in zip(around, found, strict=True):
        known.update(more)


def _bytes(columns: Mapping[str, Column]) -> int:
    return sum(column.bytes for column in columns.values())
