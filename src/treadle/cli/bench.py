"""`treadle bench`: the time of a model, compared with onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import treadle
from treadle.cli.options import Inputs, Piped, feed_options
from treadle.cli.output import echo, echo_json, working
from treadle.cli.verb import Verb, compile_option, json_option, model_argument

if TYPE_CHECKING:
    from treadle.options import CompileMode

_EXAMPLE = """
$ treadle bench decoder.onnx --random --dim T=100
$ treadle bench decoder.onnx --input in.npz --against onnxruntime,interp --threads 1
"""


def _names(ctx: click.Context, param: click.Parameter, given: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in given.split(",") if name.strip())


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@feed_options
@click.option(
    "--against",
    metavar="A,B",
    default="onnxruntime",
    show_default=True,
    callback=_names,
    help="Other contenders: onnxruntime (alone), jit, interp.",
)
@click.option(
    "--threads",
    type=click.IntRange(0),
    default=0,
    help="Threads of each contender; 0: its default.",
)
@click.option(
    "--seconds", type=click.FloatRange(0.01), default=2.0, show_default=True,
    help="Total time of the warm calls.",
)  # fmt: skip
@compile_option
@json_option
def bench(
    model: Path | Piped,
    inputs: Inputs,
    against: tuple[str, ...],
    threads: int,
    seconds: float,
    compile_mode: CompileMode,
    as_json: bool,
) -> None:
    """Time loading, the first call, compiling, warm calls, and memory.

    Each contender is loaded and called once in a new process, without and with the cache on disk;
    then all are called in turn. The outputs are compared.
    """
    from treadle.cli.feeds import collect

    with working(f"timing {model}", quiet=as_json):
        feeds = collect(treadle.load(model), inputs)
        found = treadle.bench(
            model, feeds, against=against, threads=threads, seconds=seconds, compile=compile_mode
        )
    if as_json:
        echo_json(found.as_plain())
    else:
        echo(str(found))
