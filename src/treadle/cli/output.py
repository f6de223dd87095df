"""Output of commands: results, notes, JSON, errors, progress.

Coloured and wrapped on a terminal.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from io import StringIO
from typing import Any, Literal, TextIO

import click

from treadle import messages

__all__ = [
    "Color",
    "Settings",
    "coloured",
    "echo",
    "echo_json",
    "has_color",
    "is_quiet",
    "note",
    "settings",
    "show_error",
    "visible",
    "working",
    "wrapped",
]

Advance = Callable[[], None]
Color = Literal["auto", "always", "never"]
_NARROWEST = 12
"""The least width of the last column; below it a line continues under an earlier column."""
_COLOURS: Mapping[str, str] = {
    r"\b(main|[\w.]+::\w+)(/[\w.\[\]]+)+": "cyan",
    r"\b(u?int\d+|b?float\w*\d|complex\d+|bool|string)\[[^\]]*\]": "green",
    r"\bCF\d{3} error\b": "bold red",
    r"\bCF\d{3} warning\b": "yellow",
    r"\bCF\d{3} advice\b": "blue",
    r"(?m)^  (runs|carries|slices|stacks|captures|body|decides|gives|then_branch|else_branch"
    r"|takes|made by|inputs|outputs|opsets|holds|operators|function)(?=  )": "bold",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The output settings of a command: -q, the number of -v, --color."""

    quiet: bool = False
    verbose: int = 0
    color: Color = "auto"


settings: ContextVar[Settings] = ContextVar("treadle_cli_settings", default=Settings())  # noqa: B039


def is_quiet() -> bool:
    """Whether only results and errors are printed."""
    return settings.get().quiet


def has_color(file: TextIO) -> bool:
    """Whether text for this file is coloured: --color, else NO_COLOR, FORCE_COLOR, a terminal."""
    chosen = settings.get().color
    if chosen != "auto":
        return chosen == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (_is_terminal(file) and not _is_dumb())


def _is_terminal(file: TextIO) -> bool:
    return file.isatty()


def _is_dumb() -> bool:
    return os.environ.get("TERM") == "dumb"


def visible(text: str, file: TextIO) -> str:
    """The text with escapes for what a terminal obeys, and for what the file cannot encode.

    Names in models are anything.
    """
    shown = messages.visible(text, kept="\t\n")
    encoding = getattr(file, "encoding", None) or "utf-8"
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def echo(text: str) -> None:
    """Print a result: wrapped on a terminal, in whole lines elsewhere."""
    _write(text, sys.stdout)


def note(text: str) -> None:
    """Print a remark to stderr, unless the command is quiet."""
    if not is_quiet():
        _write(text, sys.stderr)


def show_error(error: click.ClickException) -> None:
    """Print an error as click does, wrapped."""
    told = StringIO()
    error.show(told)
    if told.getvalue():
        _write(told.getvalue().rstrip("\n"), sys.stderr)


def _write(text: str, file: TextIO) -> None:
    text = visible(text, file)
    if _is_terminal(file):
        text = wrapped(text, shutil.get_terminal_size().columns)
    if not has_color(file):
        click.echo(text, file=file)
        return
    from rich.console import Console

    console = Console(file=file, force_terminal=True, color_system="standard", no_color=False)
    console.print(coloured(text), soft_wrap=True)


def coloured(text: str) -> Any:
    """The text coloured by rich: paths, types and findings."""
    from rich.text import Text

    shown = Text(text)
    for pattern, style in _COLOURS.items():
        shown.highlight_regex(pattern, style)
    return shown


def wrapped(text: str, width: int) -> str:
    """Wrap the text to this width; continued lines are aligned with the last column.

    A word longer than the line is not split.
    """
    return "\n".join(each for line in text.split("\n") for each in _wrapped(line, width))


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    columns = [found.end() for found in re.finditer(r"^ *|  +", line)]
    below = max((at for at in columns if at <= width - _NARROWEST), default=0)
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * below,
        break_on_hyphens=False,
        break_long_words=False,
    ) or [""]


def echo_json(data: object) -> None:
    """Print plain data as JSON, with escapes where `visible` has some."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    if visible(text, sys.stdout) != text:
        text = json.dumps(data, indent=2).replace("\x7f", "\\u007f")
    click.echo(text)


@contextmanager
def working(message: str, *, quiet: bool = False, of: int | None = None) -> Iterator[Advance]:
    """Show a progress bar on stderr while the block runs, if that is a terminal.

    With `of`, the bar advances by one part at each call of the yielded function; otherwise it shows
    the elapsed time.
    """
    if quiet or is_quiet() or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    known = (MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    columns = known if of is not None else (TimeElapsedColumn(),)
    console = Console(stderr=True, no_color=not has_color(sys.stderr))
    shown = TextColumn("{task.description}"), BarColumn(), *columns
    with Progress(*shown, console=console, transient=True) as progress:
        task = progress.add_task(message, total=of, rate="")

        def advance() -> None:
            progress.advance(task)
            speed = progress.tasks[0].speed
            progress.update(task, rate=f"{speed:,.1f} a second" if speed else "")

        yield advance
