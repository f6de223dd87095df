"""One run for `treadle run`, with its time and trace, and the comparison with a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import treadle
from treadle.cli.archive import like, read_archive
from treadle.cli.event_lines import listener
from treadle.cli.output import echo, is_quiet, note
from treadle.recording import draws, long_loops
from treadle.report import Difference, as_data, compare, engine_counts
from treadle.tracing import Listener, Selector, has_calls

_MANY = 100_000
"""The iterations from which a loop's progress is shown on a terminal."""


class Ran(NamedTuple):
    """One run: the outputs by name, its duration, and the traced events."""

    outputs: Mapping[str, object]
    seconds: float
    traced: Sequence[dict[str, object]]


def selector_of(session: treadle.InferenceSession, patterns: tuple[str, ...]) -> Selector:
    """The selector of --trace; raises InputError for a pattern that certainly matches nothing."""
    selector, model = Selector.of(patterns, "--trace"), session.plan.model
    if not has_calls(model):
        selector.expect_match(model, "--trace")
    return selector


def is_watched(
    session: treadle.InferenceSession,
    feeds: Mapping[str, object],
    options: treadle.RunOptions | None,
    asked: bool | None,
) -> bool:
    """Whether to show the progress of loops: as asked, else on a terminal where it is cheap.

    That is a model that interp runs, or one with loops of many iterations, which run in windows.
    """
    if asked is not None:
        return asked
    if not sys.stderr.isatty() or is_quiet():
        return False
    if set(engine_counts(session.plan)) == {"interp"}:
        return True
    is_long = options is None and bool(long_loops(session.model, feeds, _MANY))
    return is_long and not draws(session.model)


def run_once(
    session: treadle.InferenceSession,
    feeds: Mapping[str, object],
    options: treadle.RunOptions | None,
    selector: Selector | None,
    quiet: bool,
    watched: bool = False,
) -> Ran:
    """Run the session once, with a line for each traced event unless `quiet`.

    `watched` shows the progress of loops on standard error.
    """
    traced: list[dict[str, object]] = []

    def report(line: str, event: dict[str, object]) -> None:
        traced.append(event)
        if not quiet:
            echo(line)

    hear: Listener | None = None
    if selector is not None:
        hear = listener(selector, session.plan.model, report)
    elif watched:
        hear = treadle.Progress()
    started = time.perf_counter()
    try:
        values = session.run(None, feeds, options, listener=hear)
    finally:
        if isinstance(hear, treadle.Progress):
            hear.close()
    seconds = time.perf_counter() - started
    if selector is not None and not traced:
        note(f"--trace: no value matched {selector}")
    names = (arg.name for arg in session.get_outputs())
    return Ran(dict(zip(names, values, strict=True)), seconds, traced)


def differences_from(
    outputs: Mapping[str, object], file: Path | None, rtol: float | None, atol: float | None
) -> list[Difference] | None:
    """The differences between the outputs and those of the file; None without a file."""
    if file is None:
        return None
    read = read_archive(file, "out:")
    expected = {name: like(value, outputs.get(name)) for name, value in read.items()}
    return compare(outputs, expected, rtol, atol)


def as_plain(ran: Ran, differences: list[Difference] | None) -> dict[str, object]:
    """A run as plain data for `--json`."""
    data = {"outputs": as_data(ran.outputs), "seconds": ran.seconds}
    if ran.traced:
        data["trace"] = ran.traced
    if differences is not None:
        data["differences"] = as_data(differences)
    return data
