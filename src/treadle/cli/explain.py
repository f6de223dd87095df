"""`treadle explain`: which engine runs which region, why, and which code was compiled."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

import treadle
from treadle.cli.options import Inputs, Piped, feed_options
from treadle.cli.output import echo, echo_json, working
from treadle.cli.verb import Verb, engines_option, json_option, model_argument

_EXAMPLE = """
$ treadle explain decoder.onnx
$ treadle explain decoder.onnx --engines interp
$ treadle explain decoder.onnx --kernel
$ treadle explain decoder.onnx --random --dim T=100
$ treadle explain decoder.onnx --input in.npz --kernel
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@feed_options
@click.option("--kernel", "code", flag_value="kernel", help="Print the native engine's kernel IR.")
@click.option("--schedule", "code", flag_value="schedule", help="Print how its loops run, and why.")
@click.option("--llvm", "code", flag_value="llvm", help="Print the optimised LLVM IR.")
@engines_option
@json_option
def explain(
    model: Path | Piped,
    inputs: Inputs,
    code: str | None,
    engines: list[str] | None,
    as_json: bool,
) -> None:
    """Show which engine runs which part, and why.

    A region is a group of nodes, or a loop or branch, that one engine runs as a whole. The native
    engine compiles at run time: with inputs, given as for `treadle run`, the model is run once, and
    the report shows the compile time, hoisted and fused steps, updates in place, and host calls.

    The last lines tell which parts `treadle build` could compile for programs without Python.

    Without inputs nothing is run: --kernel, --schedule and --llvm then print the code for the
    model's declared types, with unknown extents dynamic, or name the missing types.
    """
    from treadle.build import outlook, show_outlook
    from treadle.cli.feeds import collect
    from treadle.report import explain as explain_plan
    from treadle.report import plan_data, show_code

    with working(f"planning {model}", quiet=as_json):
        session = treadle.InferenceSession(model, engines=engines)
    if inputs.are_given:
        feeds = collect(session.model, inputs)
        with working(f"running {model}", quiet=as_json):
            session.run(None, feeds)
    if code:
        echo(show_code(session.plan, code) or "no part of it runs in native code")
    elif as_json:
        echo_json({**plan_data(session.plan), "outside_python": asdict(outlook(session.plan))})
    else:
        echo(explain_plan(session.plan))
        echo(show_outlook(outlook(session.plan)))
