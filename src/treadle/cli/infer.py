"""`treadle infer`: infers a type for every value, bodies included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

import treadle
from treadle.cli.options import MODEL_TARGET, Piped
from treadle.cli.output import echo, echo_json, note, working
from treadle.cli.verb import Verb, json_option, model_argument
from treadle.errors import InputError

if TYPE_CHECKING:
    from treadle.ir import Block, Model, Value

_EXAMPLE = """
$ treadle infer decoder.onnx
$ treadle infer decoder.onnx -o typed.onnx
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@click.option(
    "-o",
    "--output",
    type=MODEL_TARGET,
    help="Write the model here, with the types on it: .onnx, .onnxtxt or .xml.",
)
@click.option("--print", "code", is_flag=True, help="Print the program, also with --output.")
@json_option
def infer(model: Path | Piped, output: Path | None, code: bool, as_json: bool) -> None:
    """Infer the type of every value.

    Types include shapes, also of values inside bodies.
    """
    from treadle.ir import show_model

    with working(f"inferring {model}", quiet=as_json):
        typed = treadle.infer(model)
    if output is not None:
        try:
            treadle.save(typed, output)
        except InputError as error:
            raise click.UsageError(str(error)) from error
    values = list(_values(typed))
    known = sum(value.type is not None for _, value in values)
    if as_json:
        echo_json({"values": [_data(*each) for each in values], "known": known})
        return
    if code or output is None:
        echo(show_model(typed))
    wrote = f"; wrote {output}" if output is not None else ""
    told = f"{known} of {len(values)} values have a type{wrote}"
    if output is None:
        note(told)
    else:
        echo(told)


def _values(model: Model) -> Iterator[tuple[str, Value]]:
    """Every value with the path of its block."""
    from treadle.ir import block_values, bodies, step_path

    pending: list[tuple[str, Block]] = [("main", model.main)]
    pending += [(str(identity), f.block) for identity, f in model.functions.items()]
    while pending:
        path, block = pending.pop(0)
        yield from ((path, value) for value in block_values(block))
        for position, step in enumerate(block.steps):
            at = step_path(path, step, position)
            pending += [(f"{at}.{name}", body) for name, body in bodies(step)]


def _data(path: str, value: Value) -> dict[str, str]:
    from treadle.ir import show_type

    return {
        "path": path,
        "name": value.name,
        "declared": show_type(value.declared),
        "inferred": show_type(value.inferred),
    }
