"""`treadle convert`: a model of one format written in another."""

from __future__ import annotations

from pathlib import Path

import click

import treadle
from treadle.cli.options import MODEL_TARGET, Piped
from treadle.cli.output import echo_json, note, working
from treadle.cli.verb import Verb, json_option, model_argument

_EXAMPLE = """
$ treadle convert model.xml -o model.onnx
$ treadle convert model.xml -o model.onnx --external-data
$ treadle convert model.onnx -o model.xml
$ treadle convert model.onnx -o model.onnxtxt
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@click.option(
    "-o",
    "--output",
    type=MODEL_TARGET,
    help="Write the model here: .onnx, .onnxtxt, or .xml for OpenVINO IR.",
)
@click.option(
    "--external-data",
    is_flag=True,
    help="Leave large weights in the file they lie in, and refer to them.",
)
@json_option
def convert(model: Path | Piped, output: Path | None, external_data: bool, as_json: bool) -> None:
    """Write the model in another format.

    Reads and writes ONNX and OpenVINO IR (.xml with its .bin).
    """
    from treadle.ir import Branch, Loop, walk

    with working(f"converting {model}", quiet=as_json):
        loaded = treadle.load(model)
        if output is None:
            raise click.UsageError("say where to write it: -o model.onnx")
        treadle.save(loaded, output, external_data=external_data)
    steps = [visit.step for visit in walk(loaded)]
    loops = sum(isinstance(step, Loop) for step in steps)
    branches = sum(isinstance(step, Branch) for step in steps)
    if as_json:
        counts = {"steps": len(steps), "loops": loops, "branches": branches}
        echo_json({"output": str(output), **counts})
        return
    note(f"wrote {output}: steps {len(steps)}, loops {loops}, branches {branches}")
