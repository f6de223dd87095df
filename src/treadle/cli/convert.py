"""`treadle convert`: writes a model in another format, opset or element type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import treadle
from treadle.cli.options import MODEL_TARGET, Piped
from treadle.cli.output import echo, echo_json, note, working
from treadle.cli.verb import Verb, json_option, model_argument

if TYPE_CHECKING:
    from treadle import Report
    from treadle.ir import Model

_EXAMPLE = """
$ treadle convert model.xml -o model.onnx
$ treadle convert model.xml -o model.onnx --external-data
$ treadle convert model.onnx -o model.xml
$ treadle convert model.onnx -o older.onnx --opset 13 --ir-version 8
$ treadle convert model.onnx -o half.onnx --dtype float16 --keep op:Softmax
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
    help="Leave large weights in their file, and refer to it.",
)
@click.option("--opset", type=int, help="Write it in the operators of this opset, 9 or newer.")
@click.option("--ir-version", type=int, help="The IR version of the file; needs --opset.")
@click.option(
    "--outputs",
    type=click.Choice(["stacked"]),
    help="Make input and output sequences tensors where --opset has none: NAME, NAME@lengths.",
)
@click.option(
    "--dtype", metavar="TYPE", help="Replace all float32 by float16, bfloat16 or float64."
)
@click.option(
    "--keep",
    multiple=True,
    metavar="SELECTOR",
    help="Values that stay float32: a glob over names and paths, op:Softmax, role:carried.",
)
@json_option
def convert(
    model: Path | Piped,
    output: Path | None,
    external_data: bool,
    opset: int | None,
    ir_version: int | None,
    outputs: str | None,
    dtype: str | None,
    keep: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write the model in another format, for another opset, or in another element type.

    Reads and writes ONNX and OpenVINO IR (.xml with its .bin). With --opset the report lists the
    replaced operators; operators without a form in the opset are an error that lists all of them.
    """
    if opset is None and ir_version is not None:
        raise click.UsageError("--ir-version needs --opset")
    if opset is None and outputs is not None:
        raise click.UsageError("--outputs needs --opset")
    if dtype is None and keep:
        raise click.UsageError("--keep needs --dtype")
    with working(f"converting {model}", quiet=as_json):
        loaded, report = treadle.load(model), None
        if output is None:
            raise click.UsageError("give the file to write: -o model.onnx")
        if dtype is not None:
            loaded, report = treadle.convert_dtype(loaded, dtype, keep=keep, with_report=True)
        if opset is not None:
            loaded, changes = treadle.convert_version(
                loaded, opset, ir_version=ir_version, outputs=outputs, with_report=True
            )
            report = changes if report is None else report + changes
        treadle.save(loaded, output, external_data=external_data)
    _tell(output, loaded, report, as_json)


def _tell(output: Path, model: Model, report: Report | None, as_json: bool) -> None:
    from treadle.ir import Branch, Loop, walk
    from treadle.report import as_data

    steps = [visit.step for visit in walk(model)]
    loops = sum(isinstance(step, Loop) for step in steps)
    branches = sum(isinstance(step, Branch) for step in steps)
    if as_json:
        counts = {"steps": len(steps), "loops": loops, "branches": branches}
        done = {} if report is None else {"counts": report.counts, "done": as_data(report.done)}
        echo_json({"output": str(output), **counts, **done})
        return
    if report is not None and report.done:
        echo(str(report))
    note(f"wrote {output}: steps {len(steps)}, loops {loops}, branches {branches}")
