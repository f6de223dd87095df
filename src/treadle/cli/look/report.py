"""`treadle report`: writes a model as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

import treadle
from treadle.cli.compare import pairs_of, side_of
from treadle.cli.options import Inputs, Piped, Target, feed_options
from treadle.cli.output import echo_json, note, working
from treadle.cli.verb import Verb, json_option, model_argument

_EXAMPLE = """
$ treadle report decoder.onnx -o report.html
$ treadle report lstm.onnx -o report.html --input x.npz
$ treadle report lstm.onnx -o report.html --random --dim T=100
$ treadle report lstm.onnx -o report.html --input x.npz --against lstm.onnx@onnxruntime
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@click.option(
    "-o", "--output", type=Target(".html"), required=True, help="Write the page to this .html file."
)
@feed_options
@click.option(
    "--against",
    metavar="B",
    help="Mark the first difference from B, a model, MODEL@RUNTIME or .npz file as for compare.",
)
@click.option(
    "--names",
    multiple=True,
    metavar="A=B",
    callback=pairs_of,
    help="Match the value A of the model with the value B of --against.",
)
@json_option
@click.pass_context
def report(
    ctx: click.Context,
    /,
    model: Path | Piped,
    output: Path,
    inputs: Inputs,
    against: str | None,
    names: Mapping[str, str],
    as_json: bool,
) -> None:
    """Write a page about a model that a browser opens without a server.

    The page shows each block as a graph, the carried values of loops, types, findings, engines and
    reasons. With inputs, given as for `treadle run`, the model runs once, and the page also shows
    every value over the iterations, the first NaN, and times. `--against` adds how its values
    differ from those of another model, runtime or recording.
    """
    from treadle.cli.feeds import collect

    given = model if isinstance(model, bytes) else str(model)
    if names and against is None:
        raise click.UsageError("--names needs --against", ctx)
    other = None if against is None else side_of(against, ctx)
    feeds = comparison = None
    if inputs.are_given or other is not None:
        loaded = treadle.load(model)
        feeds = collect(loaded, inputs)
    if other is not None:
        with working(f"comparing {model} and {against}", quiet=as_json):
            comparison = treadle.compare(given, other, feeds, names=names)
    with working(f"writing {output}", quiet=as_json):
        treadle.write_report(given, output, feeds, comparison)
    if as_json:
        agrees = {} if comparison is None else {"agrees": bool(comparison)}
        echo_json({"output": str(output), "bytes": output.stat().st_size, **agrees})
    else:
        note(f"wrote {output}")
