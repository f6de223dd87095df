"""`treadle reroll`: turns unrolled steps into loops again."""

from __future__ import annotations

from pathlib import Path

import click

import treadle
from treadle.cli.options import output_option
from treadle.cli.output import working
from treadle.cli.rewritten import finish
from treadle.cli.verb import Verb, json_option, model_argument

_EXAMPLE = """
$ treadle reroll unrolled.onnx -o small.onnx
$ treadle reroll transformer.onnx -o small.onnx --layers
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@output_option
@click.option("--layers", is_flag=True, help="Also equal layers with different weights.")
@json_option
def reroll(model: Path, output: Path | None, layers: bool, as_json: bool) -> None:
    """Turn repeated segments, as in unrolled exports, into loops.

    The model becomes smaller and loads faster. With --layers it may run slower.
    """
    with working(f"rolling up {model}", quiet=as_json):
        rolled, report = treadle.reroll(model, layers=layers, with_report=True)
    finish(model, rolled, report, output, as_json=as_json)
