"""`treadle profile`: measures where the time of a run is spent."""

from __future__ import annotations

from pathlib import Path

import click

import treadle
from treadle.cli.options import Inputs, Piped, Target, feed_options
from treadle.cli.output import echo, echo_json, note, working
from treadle.cli.verb import Verb, engines_option, json_option, model_argument

_EXAMPLE = """
$ treadle profile decoder.onnx --random --dim T=100
$ treadle profile lstm.onnx --input x.npz --trace trace.json
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@feed_options
@click.option(
    "--runs", type=click.IntRange(1), default=20, show_default=True, help="The number of runs."
)
@click.option(
    "--trace", "target", type=Target(".json"),
    help="Write the last run to this .json file, for Chrome and Perfetto.",
)  # fmt: skip
@engines_option
@json_option
def profile(
    model: Path | Piped,
    inputs: Inputs,
    runs: int,
    target: Path | None,
    engines: list[str] | None,
    as_json: bool,
) -> None:
    """Measure where the time of a run is spent.

    Times are given per region, per loop with its first, steady and last iteration, per loop nest of
    native code, per operator on interp and in onnxruntime, and per host call, with its reason.
    """
    from treadle.cli.feeds import collect

    with working(f"preparing {model}", quiet=as_json):
        session = treadle.InferenceSession(model, engines=engines)
    feeds = collect(session.model, inputs)
    with working(f"running {model}", quiet=as_json):
        found = treadle.profile(session, feeds, runs=runs)
    if target is not None:
        found.write_trace(target)
    if as_json:
        echo_json(found.as_plain())
        return
    echo(str(found))
    if target is not None:
        note(f"wrote {target}")
