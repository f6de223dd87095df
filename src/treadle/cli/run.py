"""`treadle run`: runs a model on data from files, the command line, or random data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import treadle
from treadle.cli.options import FILE, Inputs, Piped, Target, feed_options
from treadle.cli.output import echo, echo_json, note, working
from treadle.cli.verb import Verb, compile_option, engines_option, json_option, model_argument
from treadle.errors import ComparisonError

if TYPE_CHECKING:
    from treadle.options import CompileMode

_EXAMPLE = """
$ treadle run decoder.onnx -i start=1 -i scores='[0.5, 0.25]' --output out.npz
$ treadle run decoder.onnx --input in.npz --assert-output expected.npz
$ treadle run decoder.onnx --random --dim T=5 --trace 'main/loop_3.body/*'
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@feed_options
@click.option("--output", type=Target(".npz"), help="Write the outputs here, an .npz file.")
@click.option(
    "--assert-output", "expected", type=FILE, help="Compare the outputs with this .npz file."
)
@click.option("--rtol", type=float, help="Relative tolerance of floats; by default by dtype.")
@click.option("--atol", type=float, help="Absolute tolerance of floats; by default by dtype.")
@engines_option
@compile_option
@click.option(
    "--max-iterations", type=int, help="Stop after this number of iterations of all loops together."
)
@click.option("--max-seconds", type=float, help="Stop after this number of seconds.")
@click.option("--max-bytes", type=int, help="Stop if loops hold more bytes than this.")
@click.option(
    "--trace",
    "patterns",
    multiple=True,
    metavar="SELECTOR",
    help="Print the selected values in every iteration (runs on interp): a glob over names, paths,"
    " steps; op:Softmax; role:carried.",
)
@click.option(
    "--progress/--no-progress",
    default=None,
    help="Show iterations, their rate and the time left; by default on a terminal, of loops"
    " that are long or run on interp.",
)
@json_option
@click.pass_context
def run(
    ctx: click.Context,
    /,
    model: Path | Piped,
    inputs: Inputs,
    output: Path | None,
    expected: Path | None,
    rtol: float | None,
    atol: float | None,
    engines: list[str] | None,
    compile_mode: CompileMode,
    patterns: tuple[str, ...],
    progress: bool | None,
    as_json: bool,
    **bounds: Any,
) -> None:
    """Run a model and describe its outputs.

    An .npz file has a key for each input, or `in:NAME`; sequences are `NAME[0]`, `NAME[1]` ...
    --assert-output compares whole numbers exactly and floats by a tolerance for their dtype.
    """
    from treadle.cli import running
    from treadle.cli.archive import write_archive
    from treadle.cli.feeds import collect
    from treadle.report import (
        seconds_compiling,
        show_differences,
        show_seconds,
        show_values,
    )

    with working(f"preparing {model}", quiet=as_json or bool(patterns)):
        seen = ["interp"] if patterns else None
        options = treadle.SessionOptions(compile=compile_mode)
        session = treadle.InferenceSession(model, options, engines=engines or seen)
    selector = running.selector_of(session, patterns) if patterns else None
    feeds = collect(session.model, inputs)
    limits = treadle.RunOptions(**bounds) if any(b is not None for b in bounds.values()) else None
    watched = not (as_json or patterns) and running.is_watched(session, feeds, limits, progress)
    with working(f"running {model}", quiet=as_json or bool(patterns) or watched):
        ran = running.run_once(session, feeds, limits, selector, as_json, watched)
    if output is not None:
        write_archive(output, ran.outputs)
    differences = running.differences_from(ran.outputs, expected, rtol, atol)
    if as_json:
        told = running.as_plain(ran, differences)
        echo_json({**told, "compiling": seconds_compiling(session.plan)})
        ctx.exit(1 if differences else 0)
    echo(show_values(ran.outputs))
    compiling = seconds_compiling(session.plan)
    of_that = f", {show_seconds(compiling)} of it compiling" if compiling else ""
    note(f"ran in {show_seconds(ran.seconds)}{of_that}")
    if differences:
        found = show_differences(differences).splitlines()
        raise ComparisonError(f"the outputs are not those of {expected}:", found)
    if expected is not None:
        echo(f"the outputs are those of {expected}")
