"""`treadle specialize`: fixes extents and inputs that are the same in every run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

import treadle
from treadle.cli.options import Piped, extents_of, output_option
from treadle.cli.output import working
from treadle.cli.rewritten import finish
from treadle.cli.verb import Verb, json_option, model_argument

_EXAMPLE = """
$ treadle specialize decoder.onnx -o static.onnx --dim T=64
$ treadle specialize decoder.onnx -o static.onnx --dim T=64 -i limit=5 -i mask=@mask.npy
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@output_option
@click.option(
    "--dim",
    "extents",
    multiple=True,
    metavar="T=64",
    callback=extents_of,
    help="The extent of a symbol in the inputs' types.",
)
@click.option(
    "-i",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Make this input a constant: a number, true, a JSON list, or @FILE.npy.",
)
@json_option
def specialize(
    model: Path | Piped,
    output: Path | None,
    extents: Mapping[str, int],
    assignments: tuple[str, ...],
    as_json: bool,
) -> None:
    """Fix extents and inputs, and simplify the model.

    The result has static shapes as far as they follow, and no longer has the fixed inputs.
    """
    from treadle.cli.feeds import assignment

    with working(f"specializing {model}", quiet=as_json):
        loaded = treadle.load(model)
        types = {value.name: value.type for value in loaded.main.params}
        inputs = dict(assignment(text, types) for text in assignments)
        better, report = treadle.specialize(loaded, dims=extents, inputs=inputs, with_report=True)
    finish(model, better, report, output, as_json=as_json)
