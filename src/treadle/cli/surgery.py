"""`treadle surgery`: extracts, merges and renames parts of models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import treadle
from treadle.cli.output import echo_json, note
from treadle.cli.verb import Verb, WholeSummary, json_option, model_argument

if TYPE_CHECKING:
    from treadle.ir import Model

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUTPUT = click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the model here: .onnx or .onnxtxt.",
)


class _Parts(WholeSummary, click.Group):
    """The commands of `treadle surgery`."""


@click.group(
    cls=_Parts,
    epilog="\b\nExample:\n  $ treadle surgery extract model.onnx main/loop_3.body -o body.onnx",
)
def surgery() -> None:
    """Extract, merge, rename, inline, outline and replace parts of models.

    A value that only a body reads counts as read. `treadle surgery COMMAND --help` has an example
    of each.
    """


def _write(model: Model, output: Path, *, as_json: bool) -> None:
    treadle.save(model, output)
    if as_json:
        inputs = [param.name for param in model.main.params]
        outputs = [value.name for value in model.main.results if value is not None]
        echo_json({"output": str(output), "inputs": inputs, "outputs": outputs})
        return
    note(f"wrote {output}")


def _pairs(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    for text in given:
        if "=" not in text:
            raise click.BadParameter(f'"{text}" is not of the form OLD=NEW', ctx, param)
    return dict(text.split("=", 1) for text in given)


@surgery.command(cls=Verb, example="$ treadle surgery extract m.onnx main/loop_3.body -o b.onnx")
@model_argument
@click.argument("path", required=False)
@click.option("--input", "inputs", multiple=True, metavar="NAME", help="A value to start from.")
@click.option("--to", "outputs", multiple=True, metavar="NAME", help="A value to end at.")
@_OUTPUT
@json_option
def extract(
    model: Path,
    path: str | None,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    output: Path,
    as_json: bool,
) -> None:
    """Write a body, or the steps between values, as a model of its own."""
    from treadle.surgery import extract as extracted

    if path is not None and (inputs or outputs):
        raise click.UsageError("give the path of a body, or --input and --to")
    _write(extracted(model, path, inputs=inputs, outputs=outputs), output, as_json=as_json)


@surgery.command(cls=Verb, example="$ treadle surgery merge a.onnx b.onnx y=x -o both.onnx")
@click.argument("first", type=_FILE)
@click.argument("second", type=_FILE)
@click.argument("pairs", nargs=-1, required=True, metavar="OUTPUT=INPUT", callback=_pairs)
@_OUTPUT
@json_option
def merge(first: Path, second: Path, pairs: dict[str, str], output: Path, as_json: bool) -> None:
    """Write one model of two: outputs of the first feed inputs of the second."""
    from treadle.surgery import merge as merged

    _write(merged(first, second, pairs), output, as_json=as_json)


@surgery.command(cls=Verb, example="$ treadle surgery rename m.onnx 'layer_*=enc/*' -o n.onnx")
@model_argument
@click.argument("names", nargs=-1, metavar="OLD=NEW", callback=_pairs)
@click.option("--prefix", default="", help="A prefix for all other names.")
@_OUTPUT
@json_option
def rename(model: Path, names: dict[str, str], prefix: str, output: Path, as_json: bool) -> None:
    """Rename values and their uses."""
    from treadle.surgery import rename as renamed

    _write(renamed(model, names, prefix=prefix), output, as_json=as_json)


@surgery.command(cls=Verb, example="$ treadle surgery inline model.onnx 'local::*' -o flat.onnx")
@model_argument
@click.argument("functions", nargs=-1, metavar="GLOB")
@_OUTPUT
@json_option
def inline(model: Path, functions: tuple[str, ...], output: Path, as_json: bool) -> None:
    """Replace calls of functions by their steps."""
    from treadle.surgery import inline as inlined

    _write(inlined(model, functions or "*"), output, as_json=as_json)


@surgery.command(cls=Verb, example="$ treadle surgery outline m.onnx main/loop_3.body f -o n.onnx")
@model_argument
@click.argument("path")
@click.argument("name")
@_OUTPUT
@json_option
def outline(model: Path, path: str, name: str, output: Path, as_json: bool) -> None:
    """Move the steps of a body into a new function."""
    from treadle.surgery import outline as outlined

    _write(outlined(model, path, name), output, as_json=as_json)


@surgery.command(cls=Verb, example="$ treadle surgery replace m.onnx main/loop_3 p.onnx -o n.onnx")
@model_argument
@click.argument("path")
@click.argument("part", type=_FILE)
@_OUTPUT
@json_option
def replace(model: Path, path: str, part: Path, output: Path, as_json: bool) -> None:
    """Replace a step or a body by another model."""
    from treadle.surgery import replace as replaced

    _write(replaced(model, path, part), output, as_json=as_json)
