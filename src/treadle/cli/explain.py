"""`treadle explain`: which engine runs which region, and why."""

from __future__ import annotations

from pathlib import Path

import click

import treadle
from treadle.cli.output import echo, echo_json, working
from treadle.cli.verb import Verb, engines_option, json_option, model_argument
from treadle.report import explain as explain_plan
from treadle.report import plan_data

_EXAMPLE = """
$ treadle explain decoder.onnx
$ treadle explain decoder.onnx --engines interp
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@engines_option
@json_option
def explain(model: Path, engines: list[str] | None, as_json: bool) -> None:
    """Show which engine runs which part, and why.

    A region is a stretch of nodes, or a loop or branch, that one engine runs as a whole.
    """
    with working(f"planning {model}", quiet=as_json):
        plan = treadle.InferenceSession(model, engines=engines).plan
    if as_json:
        echo_json(plan_data(plan))
    else:
        echo(explain_plan(plan))
