"""`treadle inspect`: describes a model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

import treadle
from treadle.cli.options import Piped
from treadle.cli.output import echo, echo_json, working
from treadle.cli.verb import Verb, json_option, model_argument

if TYPE_CHECKING:
    from treadle.build import Outlook
    from treadle.ir import Model

_EXAMPLE = """
$ treadle inspect decoder.onnx
$ treadle inspect decoder.onnx --code
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@click.option("--code", is_flag=True, help="Print the whole program instead, bodies nested.")
@json_option
def inspect(model: Path | Piped, code: bool, as_json: bool) -> None:
    """Describe a model, loop by loop.

    Prints its inputs, outputs and sizes, and every loop and branch.

    For a loop it prints the trip count, the carried, sliced, stacked and captured values, and the
    operators of the body. Types are those the file declares. The last lines tell which parts
    `treadle build` could compile for programs without Python.
    """
    from treadle.build import show_outlook
    from treadle.ir import show_model
    from treadle.report import as_data, show_summary, summarize_model

    with working(f"loading {model}", quiet=as_json):
        loaded = treadle.load(model)
    if code:
        shown = show_model(loaded)
        if as_json:
            echo_json({"code": shown})
        else:
            echo(shown)
        return
    summary = summarize_model(loaded)
    seen = _outlook(loaded) if summary.control_flow else None
    if as_json:
        told = {"outside_python": asdict(seen)} if seen else {}
        data = as_data(summary)
        assert isinstance(data, dict)
        echo_json({**data, **told})
        return
    echo(show_summary(summary))
    if seen:
        echo(f"\n{show_outlook(seen)}")


def _outlook(model: Model) -> Outlook | None:
    """The parts of the model that could run without Python; None for an invalid model."""
    from treadle.build import outlook

    try:
        return outlook(treadle.InferenceSession(model).plan)
    except treadle.TreadleError:
        return None
