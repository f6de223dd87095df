"""`treadle unroll`: writes loops out as straight-line code."""

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
    help="The paths of the loops; by default all. May be repeated.",
)
@click.option(
    "--most", type=int, help="The greatest number of iterations of a loop that may end earlier."
)
@click.option(
    "--by", type=int, help="Keep the loop, and run this many iterations of its body in each."
)
@click.option(
    "--padded", is_flag=True, help="Stacked outputs of --most rows, and the output PATH@trips."
)
@click.option(
    "--truncate",
    is_flag=True,
    help="Stop after --most iterations in any case, and add the output PATH@unfinished.",
)
@click.option(
    "--max-nodes",
    type=int,
    default=100_000,
    show_default=True,
    help="The greatest number of nodes.",
)
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
    """Write the iterations of loops out one after the other.

    The metadata of every node hold its original path (treadle.source_path) and iteration
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
