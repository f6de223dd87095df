"""The command `treadle`: its subcommands in groups, each imported on use."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

import treadle
from treadle.cli.output import show_error
from treadle.cli.verb import Interrupted, exception_of

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Look": ("demo", "inspect", "infer", "explain", "trace", "debug", "expose", "report"),
    "Run": ("run", "bench", "profile", "map", "compare"),
    "Check": ("check", "reduce"),
    "Rewrite": ("optimize", "specialize", "unroll", "rewrite", "surgery", "reroll", "convert"),
    "Deploy": ("build", "warm", "cache"),
    "Other": ("completion",),
}
"""The commands by purpose. Each is defined in the file of its name, with underscores for hyphens;
the file imports heavy packages only inside functions.
"""


_FOLDERS = {
    **dict.fromkeys(("warm", "cache", "completion"), "deploy."),
    **dict.fromkeys(("debug", "report", "profile"), "look."),
}
"""The commands whose files are in a folder."""


class _Verbs(click.Group):
    """Imports a command on use, and lists all of them in their groups."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line; an error ends the process with its exit code."""
        given: Any = {"prog_name": prog_name, "complete_var": complete_var, **extra}
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **given)
        _open_closed_streams()
        try:
            code = super().main(args, standalone_mode=False, **given)
            sys.stdout.flush()
        except OSError as error:  # a pipe that is closed says nothing
            _drop_output()
            if not isinstance(error, BrokenPipeError):
                reason = error.strerror or error
                show_error(click.ClickException(f"the output cannot be written: {reason}"))
            sys.exit(1)
        except click.ClickException as error:
            show_error(error)
            sys.exit(error.exit_code)
        except click.Abort:
            show_error(Interrupted())
            sys.exit(Interrupted.exit_code)
        except Exception as error:  # of an option: a command tells of its own
            told = exception_of(error, "treadle")
            if told is None:
                raise
            show_error(told)
            sys.exit(told.exit_code)
        sys.exit(code if isinstance(code, int) else 0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verbs in GROUPS.values() for verb in verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        name = cmd_name.replace("-", "_")
        folder = _FOLDERS.get(cmd_name, "")
        verb = getattr(import_module(f"treadle.cli.{folder}{name}"), name)
        assert isinstance(verb, click.Command)
        return verb

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, self.list_commands(ctx)))
        for group, verbs in GROUPS.items():
            commands = [(verb, self.get_command(ctx, verb)) for verb in verbs]
            rows = [
                (verb.ljust(longest), command.get_short_help_str())
                for verb, command in commands
                if command is not None
            ]
            with formatter.section(group):
                formatter.write_dl(rows)


def _open_closed_streams() -> None:
    """Open the null device for each stream that the shell closed (`>&-`), which is None here."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _drop_output() -> None:
    """Write what is left of the output to the null device: Python flushes it as it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


@click.group(cls=_Verbs, context_settings=_CONTEXT)
@click.version_option(treadle.__version__, prog_name="treadle")
def main() -> None:
    """Run, check, explain and rewrite the control flow of ONNX models: If, Loop and Scan.

    A MODEL is a file (.onnx, .onnxtxt for the text form, or .xml of OpenVINO IR) or - for standard
    input. `treadle VERB --help` has an example of each verb. Exit codes: 0 success, 1 a fault of
    the model or the data, 2 a fault of the command line, 130 interrupted.
    """
