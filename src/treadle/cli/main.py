"""The command `treadle`: its verbs in groups, each imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

import treadle

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Look": ("demo", "inspect", "infer", "explain"),
    "Run": ("run",),
    "Check": ("check",),
    "Rewrite": ("optimize", "specialize", "convert"),
    "Other": ("completion",),
}
"""The verbs by what they are for. A verb is the command of the same name in the file of that name,
with underscores for hyphens; the file imports heavy packages in its functions alone."""


class _Verbs(click.Group):
    """Imports a verb when it is asked for, and lists all of them in their groups."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verbs in GROUPS.values() for verb in verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        name = cmd_name.replace("-", "_")
        verb = getattr(import_module(f"treadle.cli.{name}"), name)
        assert isinstance(verb, click.Command)
        return verb

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, self.list_commands(ctx)))
        for group, verbs in GROUPS.items():
            commands = [(verb, self.get_command(ctx, verb)) for verb in verbs]
            rows = [
                (verb.ljust(longest), command.get_short_help_str(formatter.width))
                for verb, command in commands
                if command is not None
            ]
            with formatter.section(group):
                formatter.write_dl(rows)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(treadle.__version__, prog_name="treadle")
def main() -> None:
    """Run, check, explain and rewrite the control flow of ONNX models: If, Loop and Scan.

    A MODEL is a file: .onnx, .onnxtxt for the text form, or .xml of OpenVINO IR. `treadle VERB
    --help` has an example of each verb. Exit codes: 0 fine, 1 the model or the data is wrong, 2
    the command is wrong.
    """
