"""`treadle report`: writes a model as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

import treadle
from treadle.cli.options import Inputs, Piped, Target, feed_options
from treadle.cli.output import echo_json, working
from treadle.cli.verb import Verb, json_option, model_argument

_EXAMPLE = """
$ treadle report decoder.onnx -o report.html
$ treadle report lstm.onnx -o report.html --input x.npz
$ treadle report lstm.onnx -o report.html --random --dim T=100
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@click.option(
    "-o", "--output", type=Target(".html"), required=True, help="Write the page to this .html file."
)
@feed_options
@json_option
def report(
    model: Path | Piped,
    output: Path,
    inputs: Inputs,
    as_json: bool,
) -> None:
    """Write a page about a model that a browser opens without a server.

    The page shows each block as a graph, the carried values of loops, types, findings, engines and
    reasons. With inputs, given as for `treadle run`, the model runs once, and the page also shows
    every value over the iterations, the first NaN, and times.
    """
    from treadle.cli.feeds import collect

    given = model if isinstance(model, bytes) else str(model)
    feeds = None
    if inputs.are_given:
        loaded = treadle.load(model)
        feeds = collect(loaded, inputs)
    with working(f"writing {output}", quiet=as_json):
        treadle.write_report(given, output, feeds)
    if as_json:
        echo_json({"output": str(output), "bytes": output.stat().st_size})
    else:
        click.echo(f"wrote {output}", err=True)
