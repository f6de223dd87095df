"""`treadle check`: whether the model is well formed."""

from __future__ import annotations

from pathlib import Path

import click

import treadle
from treadle.cli.output import echo, echo_json, working
from treadle.cli.verb import Verb, json_option, model_argument
from treadle.report import as_data, count_findings, show_findings

_EXAMPLE = """
$ treadle check decoder.onnx
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@json_option
@click.pass_context
def check(ctx: click.Context, model: Path, as_json: bool) -> None:
    """Say what is wrong with a model, or may be.

    Findings are grouped by path. The exit code is 1 if one of them is an error.
    """
    with working(f"checking {model}", quiet=as_json):
        findings = treadle.check(model)
    counts = count_findings(findings)
    if as_json:
        echo_json({"findings": as_data(findings), "counts": counts})
    else:
        echo(f"{model}: {show_findings(findings)}" if not findings else show_findings(findings))
    if counts["error"]:
        ctx.exit(1)
