"""What verbs print: text with colour on a terminal, JSON, and a sign of life during long work."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

_NARROWEST = 12
"""Where there is less room below the last column, a line goes on at the left."""
_COLOURS: Mapping[str, str] = {
    r"\b(main|[\w.]+::\w+)(/[\w.\[\]]+)+": "cyan",
    r"\b(u?int\d+|b?float\w*\d|complex\d+|bool|string)\[[^\]]*\]": "green",
    r"\bCF\d{3} error\b": "bold red",
    r"\bCF\d{3} warning\b": "yellow",
    r"\bCF\d{3} advice\b": "blue",
    r"(?m)^  (runs|carries|slices|stacks|captures|body|decides|gives|then_branch|else_branch"
    r"|takes|made by|inputs|outputs|opsets|holds|operators|function)(?=  )": "bold",
}


def echo(text: str) -> None:
    """Print text; paths, types and findings have a colour where it goes to a terminal."""
    if not sys.stdout.isatty():
        click.echo(text)
        return
    from rich.console import Console

    Console().print(coloured(text), soft_wrap=True)


def coloured(text: str) -> Any:
    """The text as rich prints it, with a colour for paths, types and findings."""
    from rich.text import Text

    shown = Text(text)
    for pattern, style in _COLOURS.items():
        shown.highlight_regex(pattern, style)
    return shown


def wrapped(text: str, width: int) -> str:
    """The text in lines of this width; what is left of a line goes below its last column."""
    return "\n".join(each for line in text.split("\n") for each in _wrapped(line, width))


def _wrapped(line: str, width: int) -> list[str]:
    *_, last = re.finditer(r"^ *|  +", line)
    below = last.end() if last.end() <= width - _NARROWEST else 0
    return textwrap.wrap(line, width, subsequent_indent=" " * below, break_on_hyphens=False) or [""]


def echo_json(data: object) -> None:
    """Print plain data as JSON."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


@contextmanager
def working(
    message: str, *, quiet: bool = False, done: int = 0, of: int | None = None
) -> Iterator[None]:
    """Show a progress bar on stderr while the block runs, if that is a terminal.

    It fills as far as `done` of `of` parts, and only moves where nobody knows how long it takes.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(message, total=of, completed=done)
        yield
