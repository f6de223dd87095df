"""`treadle map`: runs a model over the rows of a Parquet file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import click

import treadle
from treadle.cli.options import FILE, Piped, Target
from treadle.cli.output import echo, echo_json, is_quiet
from treadle.cli.verb import Verb, json_option, model_argument

_EXAMPLE = """
$ treadle map f.onnx --input a.parquet --output b.parquet --columns x=signal
$ treadle map f.onnx --input a.parquet --output b.parquet --workers 2 --resume
"""


def _pairs(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in ",".join(given).split(","):
        name, equals, column = text.partition("=")
        if text and not equals:
            raise click.BadParameter(f"{text!r} is no NAME=COLUMN")
        if text:
            found[name.strip()] = column.strip()
    return found


@click.command("map", cls=Verb, example=_EXAMPLE)
@model_argument
@click.option("--input", "source", type=FILE, required=True, help="The Parquet file to read.")
@click.option(
    "--output", "target", type=Target(".parquet"), required=True, help="The Parquet file to write."
)
@click.option(
    "--columns",
    multiple=True,
    callback=_pairs,
    metavar="INPUT=COLUMN",
    help="The column of an input; by default that of the same name.",
)
@click.option(
    "--outputs",
    multiple=True,
    callback=_pairs,
    metavar="OUTPUT=COLUMN",
    help="The outputs to keep, and their columns; by default all.",
)
@click.option(
    "--batch-axis", type=int, help="The axis of rows; by default the one inference proves."
)
@click.option("--lengths", metavar="INPUT", help="The input that takes lengths: rows are padded.")
@click.option("--workers", type=click.IntRange(1), default=1, help="The number of processes.")
@click.option(
    "--rows",
    type=click.IntRange(1),
    default=65_536,
    show_default=True,
    help="The number of rows a process takes at a time.",
)
@click.option("--resume", is_flag=True, help="Continue the same command after an interrupt.")
@json_option
def map(  # noqa: A001 - the verb's name
    model: Path | Piped,
    source: Path,
    target: Path,
    columns: Mapping[str, str],
    outputs: Mapping[str, str],
    batch_axis: int | None,
    lengths: str | None,
    workers: int,
    rows: int,
    resume: bool,
    as_json: bool,
) -> None:
    """Run a model on every row of a Parquet file.

    The output has the same rows in the same order, their columns, a column for each output, and
    `error`. Rows that fail have nulls and a message there, and the exit code is 1.
    """
    from treadle.predict import map_parquet

    threads = treadle.SessionOptions(intra_op_num_threads=1 if workers > 1 else 0)
    predictor = treadle.Predictor(
        model, columns, outputs or None, batch_axis=batch_axis, lengths=lengths, options=threads
    )
    with _Bar(quiet=as_json or is_quiet()) as bar:
        done = map_parquet(
            predictor, source, target, workers=workers, rows_of_part=rows, resume=resume,
            advance=bar.advance,
        )  # fmt: skip
    told = {"rows": done.rows, "failed": done.failed, "resumed": done.resumed}
    if as_json:
        echo_json(told)
    else:
        failed = f", {done.failed} of them failed, see the column error" if done.failed else ""
        resumed = f", {done.resumed} of them done before" if done.resumed else ""
        echo(f"{done.rows} rows{failed}{resumed}: {target}")
    click.get_current_context().exit(1 if done.failed else 0)


class _Bar:
    """A progress bar with rate and time left, on a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet

    def __enter__(self) -> Self:
        import sys

        self.progress = None
        if self.quiet or not sys.stderr.isatty():
            return self
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self.progress = Progress(
            TextColumn("rows"), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[rate]} rows/s"), TimeRemainingColumn(),
            console=Console(stderr=True),
        )  # fmt: skip
        self.progress.start()
        self.task = self.progress.add_task("rows", total=None, rate="")
        return self

    def advance(self, done: int, rows: int) -> None:
        """Show the number of finished rows, and of all rows."""
        if self.progress is None:
            return
        speed = self.progress.tasks[0].speed
        rate = f"{speed:,.0f}" if speed else ""
        self.progress.update(self.task, completed=done, total=rows, rate=rate)

    def __exit__(self, *_: object) -> None:
        if self.progress is not None:
            self.progress.stop()
