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
    long_steps,
    next_size,
)
from treadle.tracing import Column, Selector

Feeds = Mapping[str, Any]
Columns = Mapping[str, Column]
Known = tuple[dict[str, Column], dict[str, Column]]
"""Recorded values of both sides."""
Runs = Sequence[StagedRun | None]
"""The runs of both sides; None where one side has run fewer iterations, or another branch."""
Outputs = tuple[Mapping[str, Any], Mapping[str, Any]]


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Recorded values of both sides, by path and name.

    It covers `count` iterations of an outermost loop, from `start` on, whose numbers start at zero
    in the part. `loop` is the path of the loop of which it has a window, or an iteration. `around`
    has the values recorded before it.
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
    long = _common_steps(got, wanted, feeds)
    plain = [_staged(side, feeds, long, None) for side in (got, wanted)] if long else []
    runs = [_staged(side, feeds, long, selector) for side in (got, wanted)] if long else []
    if not long or None in plain or None in runs:
        outputs = got.outputs(feeds), wanted.outputs(feeds)
        return outputs, _whole(got, wanted, feeds, selector)
    made = [_outputs(side, run) for side, run in zip((got, wanted), plain, strict=True)]
    return (made[0], made[1]), _parts_of_model(runs)


def _common_steps(got: Side, wanted: Side, feeds: Feeds) -> list[str]:
    """The long loops that both sides have, and what is around them."""
    if got.model is None or wanted.model is None:
        return []
    long = long_steps(got.model, feeds)
    return long if long == long_steps(wanted.model, feeds) else []


def _whole(got: Side, wanted: Side, feeds: Feeds, selector: Selector) -> Iterator[Part]:
    yield Part(got.columns(feeds, selector), wanted.columns(feeds, selector))


def _staged(
    side: Side, feeds: Feeds, long: Sequence[str], selector: Selector | None
) -> StagedRun | None:
    assert side.model is not None, "recordings have no loops"
    assert side.prepare is not None, "a side with a model runs"
    if selector is None:
        staged = StagedModel.of(side.model, long, side.prepare)
    else:
        selector.expect_match(side.model)
        staged = StagedModel.of(side.model, long, side.prepare, side.expose, selector)
    return None if staged is None else StagedRun.of(staged, feeds)


def _outputs(side: Side, run: StagedRun | None) -> Mapping[str, Any]:
    assert run is not None, "both sides run in stages"
    assert side.model is not None, "both sides run"
    _run_to_end(run)
    names = [value.name for value in side.model.main.results if value is not None]
    return {name: run.value(name) for name in names}


def _run_to_end(run: StagedRun) -> None:
    for loop in run.loops:
        run.until(loop)
        if run.is_stepped:
            while (body := run.enter()) is not None:
                _run_to_end(body)
                run.leave(body)
        else:
            while not run.has_ended:
                run.window(LARGEST_SIZE)
        run.close()
    run.until("")


def _parts_of_model(runs: Runs) -> Iterator[Part]:
    known: Known = ({}, {})
    yield from _parts_of_block(runs, known)
    yield Part(*known)


def _parts_of_block(runs: Runs, known: Known, outside: Known = ({}, {})) -> Iterator[Part]:
    """The parts of the loops and branches of a block, which both sides run, or one of them.

    `known` takes the values of the block itself; `outside` has those recorded before.
    """
    first = next(run for run in runs if run is not None)
    for loop in first.loops:
        _extend(known, [{} if run is None else run.until(loop) for run in runs])
        own = _from_iteration(known, first.at[0]) if first.at else known
        around = ({**outside[0], **own[0]}, {**outside[1], **own[1]})
        if any(run is not None and run.is_stepped for run in runs):
            yield from _parts_of_bodies(runs, loop, around)
        else:
            yield from _windows(runs, loop, around)
        _extend(known, [{} if run is None else run.close() for run in runs])
    _extend(known, [{} if run is None else run.until("") for run in runs])


def _parts_of_bodies(runs: Runs, loop: str, around: Known) -> Iterator[Part]:
    """The parts of a loop or branch, body by body."""
    while True:
        entered = [None if run is None else run.enter() for run in runs]
        own = [body for body in entered if body is not None]
        if not own:
            return
        is_same = len(own) < 2 or own[0].block == own[1].block
        pairs = [entered] if is_same else [[own[0], None], [None, own[1]]]
        for pair in pairs:
            yield from _parts_of_body(pair, loop, around)
        for run, body in zip(runs, entered, strict=True):
            if run is not None and body is not None:
                run.leave(body)


def _parts_of_body(bodies: Runs, loop: str, around: Known) -> Iterator[Part]:
    known: Known = ({}, {})
    yield from _parts_of_block(bodies, known, around)
    at = next(body.at for body in bodies if body is not None)
    if at:
        yield Part(*_from_iteration(known, at[0]), loop, at[0], 1, around)
    else:
        _extend(around, known)
        yield Part(*known, around=around)


def _windows(runs: Runs, loop: str, around: Known) -> Iterator[Part]:
    """The windows of a loop."""
    own = [run for run in runs if run is not None]
    at, start = own[0].at, 0
    size = 1 if any(run.is_nested for run in own) else FIRST_SIZE
    while not all(run.has_ended for run in own):
        ran = [(0, {}) if run is None else run.window(size) for run in runs]
        (count, one), (other_count, other) = ran
        found = (one, other)
        if at:
            moved = _moved(one, start, len(at)), _moved(other, start, len(at))
            yield Part(*_from_iteration(moved, at[0]), loop, at[0], 1, around)
        else:
            yield Part(one, other, loop, start, max(count, other_count), around)
        start += max(count, other_count)
        size = next_size(size, max(map(_bytes, found)))


def _moved(columns: Columns, start: int, loop: int) -> Columns:
    return {name: column.shifted(start, loop) for name, column in columns.items()}


def _from_iteration(sides: tuple[Columns, Columns], number: int) -> tuple[Columns, Columns]:
    """The columns with iterations of the outermost loop numbered from this one on."""
    one, other = sides
    return _moved(one, -number, 0), _moved(other, -number, 0)


def _extend(known: Known, found: Sequence[Columns]) -> None:
    for columns, more in zip(known, found, strict=True):
        columns.update(more)


def _bytes(columns: Mapping[str, Column]) -> int:
    return sum(column.bytes for column in columns.values())
