"""The verbs of `treadle`, in the order a newcomer meets them."""

from __future__ import annotations

import click

import treadle
from treadle.cli.check import check
from treadle.cli.convert import convert
from treadle.cli.demo import demo
from treadle.cli.explain import explain
from treadle.cli.infer import infer
from treadle.cli.inspect import inspect
from treadle.cli.optimize import optimize
from treadle.cli.run import run


class _InOrder(click.Group):
    """Lists its verbs in the order they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(treadle.__version__, prog_name="treadle")
def main() -> None:
    """Run, check, explain and rewrite the control flow of ONNX models: If, Loop and Scan.

    A MODEL is a file: .onnx, .onnxtxt for the text form, or .xml of OpenVINO IR. `treadle VERB
    --help` has an example of each verb. Exit codes: 0 fine, 1 the model or the data is wrong, 2
    the command is wrong.
    """


for verb in (demo, inspect, run, check, explain, infer, optimize, convert):
    main.add_command(verb)
