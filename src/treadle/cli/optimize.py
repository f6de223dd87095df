"""`treadle optimize`: the same model with less to do."""

from __future__ import annotations

from pathlib import Path

import click

import treadle
from treadle.cli.output import echo, echo_json, working
from treadle.cli.verb import Verb, json_option, model_argument

_EXAMPLE = """
$ treadle optimize decoder.onnx -o smaller.onnx
$ treadle optimize decoder.onnx --json
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the model here: .onnx or .onnxtxt.",
)
@json_option
def optimize(model: Path, output: Path | None, as_json: bool) -> None:
    """Leave out what need not be done, or not in every iteration.

    Prints what was done, by kind and by the body it was done in. The outputs stay the same.
    """
    from treadle.api import optimize_with_report
    from treadle.report import as_data

    with working(f"optimizing {model}", quiet=as_json):
        better, report = optimize_with_report(model)
        if output is not None:
            treadle.save(better, output)
    if as_json:
        echo_json(
            {"output": str(output or ""), "counts": report.counts, "done": as_data(report.done)}
        )
        return
    echo(str(report) if report.done else f"{model}: nothing to do")
    if output is not None:
        click.echo(f"wrote {output}", err=True)
