"""`treadle compare`: the first place where two models, runtimes or recordings differ."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

import treadle
from treadle.cli.options import Inputs, feed_options, values_option
from treadle.cli.output import echo, echo_json, working
from treadle.cli.verb import Verb, json_option
from treadle.errors import or_nearest

_EXAMPLE = """
$ treadle compare model.onnx@jit model.onnx@onnxruntime --input x.npz
$ treadle compare exported.onnx reference.onnx --random --values 'main/loop_3.body/*'
$ treadle compare exported.onnx activations.npz --input x.npz --names main/loop_0.body/h=h
"""


def pairs_of(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """The names of `--names A=B`; raises BadParameter for another form."""
    found = {}
    for text in given:
        name, equals, other = text.partition("=")
        if not equals:
            raise click.BadParameter(f'"{text}" is not of the form A_NAME=B_NAME', ctx, param)
        found[name] = other
    return found


@click.command(cls=Verb, example=_EXAMPLE)
@click.argument("a")
@click.argument("b")
@feed_options
@values_option("What is looked at")
@click.option(
    "--names",
    multiple=True,
    metavar="A=B",
    callback=pairs_of,
    help="Match the value A of the first side with the value B of the second.",
)
@click.option("--rtol", type=float, help="Relative tolerance of floats; by default by dtype.")
@click.option("--atol", type=float, help="Absolute tolerance of floats; by default by dtype.")
@json_option
@click.pass_context
def compare(
    ctx: click.Context,
    /,
    a: str,
    b: str,
    inputs: Inputs,
    patterns: tuple[str, ...],
    names: Mapping[str, str],
    rtol: float | None,
    atol: float | None,
    as_json: bool,
) -> None:
    """Find the first place where A and B differ; B is the reference.

    A side is a model, MODEL@RUNTIME (treadle, jit, interp, onnxruntime, openvino, reference), or an
    .npz file of recorded values. The exit code is 1 if they differ.
    """
    from treadle.cli.feeds import collect
    from treadle.report import as_data

    sides = side_of(a, ctx), side_of(b, ctx)
    models = [side[0] for side in sides if isinstance(side, tuple)]
    feeds: Mapping[str, object] = {}
    if models:
        feeds = collect(models[0], inputs)
    with working(f"comparing {a} and {b}", quiet=as_json):
        found = treadle.compare(*sides, feeds, values=patterns, names=names, rtol=rtol, atol=atol)
    if as_json:
        first: dict[str, Any] | None = None
        if found.first is not None:
            first = {
                "path": found.first.path,
                "operator": found.first.operator,
                "value": found.first.value,
                "iterations": list(found.first.iterations),
                "why": found.first.why,
                "index": found.first.index,
                "ulps": found.first.ulps,
                "relative": found.first.relative,
            }
        echo_json(
            {
                "agrees": bool(found),
                "outputs": as_data(list(found.outputs)),
                "first": first,
                "matched": as_data(list(found.matches)),
                "unmatched": [list(found.unmatched_got), list(found.unmatched_wanted)],
                "notes": list(found.notes),
            }
        )
    else:
        echo(str(found))
    ctx.exit(0 if found else 1)


def side_of(given: str, ctx: click.Context) -> Any:
    """The side of an argument: an .npz file, or a model and its runtime."""
    from treadle.comparing import RUNTIMES

    path, at, runtime = given.rpartition("@")
    if at and runtime not in RUNTIMES and Path(path).is_file() and not Path(given).exists():
        said = f"the runtime is {runtime}, wanted one of {', '.join(RUNTIMES)}"
        raise click.UsageError(f"{given}: {said}{or_nearest(runtime, RUNTIMES)}", ctx)
    if not at or runtime not in RUNTIMES:
        path, runtime = given, "treadle"
    if not Path(path).is_file():
        raise click.UsageError(f"{path}: no such file", ctx)
    return path if path.endswith(".npz") else (treadle.load(path), runtime)
