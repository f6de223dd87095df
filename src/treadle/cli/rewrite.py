"""`treadle rewrite`: applies named rewrites."""

from __future__ import annotations

from pathlib import Path

import click

import treadle
from treadle.cli.options import output_option
from treadle.cli.output import echo, echo_json, working
from treadle.cli.rewritten import finish
from treadle.cli.verb import Verb, json_option

_EXAMPLE = """
$ treadle rewrite --list
$ treadle rewrite model.onnx scan-to-loop,if-to-where -o simpler.onnx
"""
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(cls=Verb, example=_EXAMPLE)
@click.argument("model", type=_FILE, required=False)
@click.argument("names", required=False, metavar="NAME[,NAME]")
@output_option
@click.option("--list", "listed", is_flag=True, help="List the rewrites, one per line.")
@click.option(
    "--paths",
    multiple=True,
    default=("*",),
    metavar="GLOB",
    help="Paths of the steps to rewrite; by default all. May be repeated.",
)
@click.option("--capacity", type=int, help="How many items the buffers of static-cache hold.")
@click.option(
    "--for",
    "portable",
    multiple=True,
    metavar="RUNTIME",
    help="Runtimes that must accept the result.",
)
@json_option
def rewrite(
    model: Path | None,
    names: str | None,
    output: Path | None,
    listed: bool,
    paths: tuple[str, ...],
    capacity: int | None,
    portable: tuple[str, ...],
    as_json: bool,
) -> None:
    """Apply rewrites of loops and branches by their names."""
    if listed:
        _list(as_json)
        return
    if model is None:
        raise click.UsageError("give a model and the name of a rewrite; --list has the names")
    with working(f"rewriting {model}", quiet=as_json):
        loaded = treadle.load(model)
        if names is None:
            raise click.UsageError("give the name of a rewrite; --list has the names")
        rewritten, report = treadle.rewrite(
            loaded,
            *(name.strip() for name in names.split(",")),
            paths=paths,
            capacity=capacity,
            portable=portable,
            with_report=True,
        )
    finish(model, rewritten, report, output, as_json=as_json)


def _list(as_json: bool) -> None:
    from treadle.passes import REWRITES
    from treadle.report import table

    if as_json:
        echo_json({name: each.about for name, each in REWRITES.items()})
        return
    echo(table([(name, each.about) for name, each in REWRITES.items()]))
