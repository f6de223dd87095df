"""`treadle trace`: records values of bodies, iteration by iteration, into an .npz file."""

from __future__ import annotations

import re
from pathlib import Path

import click

import treadle
from treadle.cli.options import Inputs, Piped, Target, feed_options, values_option
from treadle.cli.output import echo, echo_json, note, working
from treadle.cli.verb import Verb, engines_option, json_option, model_argument

_EXAMPLE = """
$ treadle trace lstm.onnx --input x.npz --values main/loop_0.body/h -o trace.npz
$ treadle trace lstm.onnx --random --values 'op:Softmax' --iterations 30:35
$ treadle trace lstm.onnx --random --around isnan --margin 2 -o trace.npz
"""


def _slice(ctx: click.Context, param: click.Parameter, given: str | None) -> slice | None:
    if given is None:
        return None
    if not re.fullmatch(r"\d*(:\d*){0,2}", given) or given in ("", ":", "::"):
        raise click.BadParameter(f'"{given}" is not of the form 30, 30:35 or 0:1000:10', ctx, param)
    parts = [int(part) if part else None for part in given.split(":")]
    if len(parts) == 1:
        assert parts[0] is not None, "the pattern needs a digit"
        return slice(parts[0], parts[0] + 1)
    if len(parts) == 3 and parts[2] == 0:
        raise click.BadParameter("the step is 0, wanted 1 or more", ctx, param)
    return slice(*parts)


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@feed_options
@values_option("What to record")
@click.option(
    "-o", "--output", type=Target(".npz"), help="Write the recorded values to this .npz file."
)
@click.option(
    "--iterations", metavar="A:B", callback=_slice, help="Only these iterations: 30, 30:35, ::100."
)
@click.option("--last", type=int, metavar="N", help="Only the last N iterations.")
@click.option(
    "--around", metavar="TEST", help='Only around iterations with isnan, isinf, or as ">1e6".'
)
@click.option(
    "--margin",
    type=int,
    default=5,
    show_default=True,
    help="Number of iterations to keep around each.",
)
@engines_option
@json_option
def trace(
    model: Path | Piped,
    inputs: Inputs,
    patterns: tuple[str, ...],
    output: Path | None,
    iterations: slice | None,
    last: int | None,
    around: str | None,
    margin: int,
    engines: list[str] | None,
    as_json: bool,
) -> None:
    """Record values of bodies in all or some iterations, and write them to a file.

    The file has PATH/NAME, iterations first, and PATH/NAME@at, the iteration numbers of each. If
    the run fails or is stopped, the values recorded so far are written.
    """
    from treadle.cli.feeds import collect
    from treadle.recording import long_loops
    from treadle.report import plural, show_bytes, table

    recorder = treadle.Recorder(
        select=patterns, iterations=iterations, last=last, around=around, margin=margin
    )
    with working(f"preparing {model}", quiet=as_json):
        session = treadle.InferenceSession(model, engines=engines)
    feeds = collect(session.model, inputs)
    stoppable = treadle.RunOptions() if long_loops(session.model, feeds) else None
    has_ended = False
    try:
        with working(f"running {model}", quiet=as_json):
            session.run(None, feeds, stoppable, listener=recorder)
        has_ended = True
    finally:
        if output is not None and (has_ended or recorder.paths()):
            recorder.to_npz(output)
    rows = [
        (f"{each.path}/{each.name}", plural(len(each), "time"), show_bytes(each.bytes))
        for each in recorder.columns
    ]
    if as_json:
        echo_json({"output": str(output or ""), "recorded": {row[0]: row[1] for row in rows}})
        return
    if rows:
        echo(table(rows, indent=2))
    else:
        note("nothing was recorded: no value was made in the iterations asked for")
    if output is not None:
        note(f"wrote {output}")
