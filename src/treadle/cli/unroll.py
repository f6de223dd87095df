"""`treadle unroll`: loops as straight lines of their iterations."""

from __future__ import annotations

from pathlib import Path

import click

import treadle
from treadle.cli.options import output_option
from treadle.cli.output import working
from treadle.cli.rewritten import finish
from treadle.cli.verb import Verb, json_option, model_argument

_EXAMPLE = """
$ treadle unroll decoder.onnx -o straight.onnx --most 20
$ treadle unroll scan.onnx -o faster.onnx --loops main/scan_3 --by 4
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@output_option
@click.option(
    "--loops",
    multiple=True,
    default=("*",),
    metavar="GLOB",
    help="The paths of the loops; all of them without. May be given several times.",
)
@click.option("--most", type=int, help="So many iterations for a loop that may end earlier.")
@click.option("--by", type=int, help="Keep the loop, and do so many iterations in each of its own.")
@click.option(
    "--padded", is_flag=True, help="Stacked outputs of --most rows, and the output PATH@trips."
)
@click.option(
    "--truncate",
    is_flag=True,
    help="Stop after --most iterations all the same, and add the output PATH@unfinished.",
)
@click.option("--max-nodes", type=int, default=100_000, show_default=True, help="The most nodes.")
@json_option
def unroll(
    model: Path,
    output: Path | None,
    loops: tuple[str, ...],
    most: int | None,
    by: int | None,
    padded: bool,
    truncate: bool,
    max_nodes: int,
    as_json: bool,
) -> None:
    """Write loops out as straight lines of their iterations.

    Every node says in its metadata where it was (treadle.source_path) and in which iteration
    (treadle.iteration).
    """
    with working(f"unrolling {model}", quiet=as_json):
        straight, report = treadle.unroll(
            model,
            loops=loops,
            most=most,
            by=by,
            padded=padded,
            truncate=truncate,
            max_nodes=max_nodes,
            with_report=True,
        )
    finish(model, straight, report, output, as_json=as_json)
