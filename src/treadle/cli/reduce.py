"""`treadle reduce`: finds the smallest model on which a command still fails."""

from __future__ import annotations

from pathlib import Path

import click

import treadle
from treadle.cli.options import Inputs, Piped, feed_options
from treadle.cli.output import echo, echo_json, note
from treadle.cli.verb import Verb, json_option, model_argument

_EXAMPLE = """
$ treadle reduce decoder.onnx --random --dim T=5 --check "python run.py {model} {inputs}" -o small
$ treadle reduce decoder.onnx --input in.npz --check "./runtime {model}" -o small --timeout 5
"""


@click.command("reduce", cls=Verb, example=_EXAMPLE)
@model_argument
@feed_options
@click.option(
    "--check",
    "command",
    required=True,
    metavar="CMD",
    help="A shell command that fails on the model; {model} and {inputs} in it are the files.",
)
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for the smallest case; an interrupted search continues there.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1),
    default=60.0,
    show_default=True,
    help="Seconds for one try; a timeout counts as a failure.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(1),
    default=600.0,
    show_default=True,
    help="Seconds for the whole search.",
)
@click.option(
    "--tries",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    help="The greatest number of tries.",
)
@json_option
def reduce(
    model: Path | Piped,
    inputs: Inputs,
    command: str,
    folder: Path,
    timeout: float,
    seconds: float,
    tries: int,
    as_json: bool,
) -> None:
    """Find the smallest model, trip counts and inputs on which a command still fails.

    Each try runs in its own process. A smaller case is accepted if the command ends with the same
    code, or the same signal, as on MODEL. The folder gets model.onnx, inputs.npz and a README.md to
    attach to a bug report.
    """
    from treadle.cli.archive import read_archive, write_archive
    from treadle.cli.feeds import collect
    from treadle.reduction import Archive, Case, reduce_case

    loaded = treadle.load(model)
    feeds = collect(loaded, inputs)
    before = Case(loaded, feeds)
    files = Archive(write_archive, lambda path: read_archive(path, "in:"))
    found = reduce_case(
        before, command, folder, files, timeout=timeout, seconds=seconds, most_tries=tries,
        tell=note,
    )  # fmt: skip
    old, new = before.size, found.case.size
    if as_json:
        sizes = {"nodes": new[0], "outputs": new[1], "elements": new[2]}
        echo_json(
            {**sizes, "code": found.outcome.code, "tries": found.tries, "done": found.is_done}
        )
        return
    more = "" if found.is_done else "; a limit was reached, the same command continues"
    echo(
        f"{folder}: {new[0]} of {old[0]} nodes, {new[2]} of {old[2]} elements; the command"
        f" {found.outcome.words} ({found.tries} tries{more})"
    )
