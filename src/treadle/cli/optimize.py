"""`treadle optimize`: simplifies a model without changing its outputs."""

from __future__ import annotations

from pathlib import Path

import click

import treadle
from treadle.cli.options import Piped, output_option
from treadle.cli.output import working
from treadle.cli.rewritten import finish
from treadle.cli.verb import Verb, json_option, model_argument

_EXAMPLE = """
$ treadle optimize decoder.onnx -o smaller.onnx
$ treadle optimize decoder.onnx --json
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@output_option
@json_option
def optimize(model: Path | Piped, output: Path | None, as_json: bool) -> None:
    """Remove redundant work, and move invariant work out of loops.

    Prints the changes by kind and by body. The outputs stay the same.
    """
    with working(f"optimizing {model}", quiet=as_json):
        better, report = treadle.optimize(model, with_report=True)
    finish(model, better, report, output, as_json=as_json)
