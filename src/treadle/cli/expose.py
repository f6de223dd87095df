"""`treadle expose`: makes values of bodies outputs of the main graph, for any runtime."""

from __future__ import annotations

from pathlib import Path

import click

import treadle
from treadle.cli.options import output_option, values_option
from treadle.cli.output import echo, echo_json, note, working
from treadle.cli.verb import Verb, json_option, model_argument

_EXAMPLE = """
$ treadle expose lstm.onnx -o exposed.onnx --values main/loop_0.body/h
$ treadle expose lstm.onnx -o exposed.onnx --values 'op:Softmax' --values 'main/loop_0@trips'
$ treadle expose lstm.onnx -o exposed.xml --values 'role:carried' --capacity 100
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@output_option
@values_option("What to expose", "; LOOP@trips")
@click.option(
    "--capacity",
    type=int,
    metavar="N",
    help="Use tensors of N elements instead of sequences.",
)
@json_option
def expose(
    model: Path,
    output: Path | None,
    patterns: tuple[str, ...],
    capacity: int | None,
    as_json: bool,
) -> None:
    """Make values of bodies, iteration by iteration, outputs of the main graph.

    The result is an ordinary model. Its outputs PATH/NAME are tensors with an axis for each loop,
    or flat sequences with the iterations of each element as PATH/NAME@at.
    """
    from treadle.report import as_data, table

    with working(f"exposing {model}", quiet=as_json):
        loaded = treadle.load(model)
        exposed = treadle.expose(loaded, patterns, capacity=capacity)
        if output is not None:
            treadle.save(exposed, output)
    added = exposed.main.results[len(loaded.main.results) :]
    types = {value.name: value.type for value in added if value is not None}
    if as_json:
        echo_json({"output": str(output or ""), "exposed": as_data(types)})
        return
    echo(table([(name, str(type_)) for name, type_ in types.items()], indent=2))
    if output is not None:
        note(f"wrote {output}")
