"""Arguments and options shared by several commands; imports nothing heavier than click."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from treadle.errors import InputError, LoadLimitExceeded
from treadle.limits import LoadLimits, read_stream

__all__ = [
    "FILE",
    "MODEL",
    "MODEL_TARGET",
    "Inputs",
    "ModelFile",
    "Piped",
    "Target",
    "common_options",
    "extents_of",
    "feed_options",
    "output_option",
    "piped_model",
    "read_text",
    "values_option",
]

_LONGEST_TEXT = 2**26
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def read_text(file: Path) -> str:
    """The text of a file of settings; raises UsageError for one that is far too long."""
    with file.open(encoding="utf-8") as opened:
        text = opened.read(_LONGEST_TEXT + 1)
    if len(text) > _LONGEST_TEXT:
        raise click.UsageError(f"{file} goes on after {_LONGEST_TEXT} characters")
    return text


class Piped(bytes):
    """A model from standard input, under that name in messages."""

    def __str__(self) -> str:
        return "standard input"


def piped_model() -> Piped:
    """The model on standard input; raises UsageError if there is none, or no end."""
    try:
        given = Piped(read_stream(sys.stdin.buffer, "standard input"))
    except LoadLimitExceeded as error:
        raise click.UsageError(str(error)) from None
    if not given:
        raise click.UsageError("standard input is empty")
    return given


class ModelFile(click.Path):
    """The path of an existing file; `-` reads a model from standard input."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, or the bytes from standard input."""
        if value != "-":
            return super().convert(value, param, ctx)
        if ctx is not None and ctx.resilient_parsing:
            return Piped()
        return piped_model()


MODEL = ModelFile()


class Target(click.Path):
    """A file to write, with one of some suffixes."""

    def __init__(self, *suffixes: str) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.suffixes = suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; fails for an unsupported suffix."""
        path = Path(str(super().convert(value, param, ctx)))
        if path.suffix not in self.suffixes:
            known = " or ".join(self.suffixes)
            self.fail(f'"{path}" does not end in {known}', param, ctx)
        return path


MODEL_TARGET = Target(".onnx", ".onnxtxt", ".xml")


def common_options() -> list[click.Parameter]:
    """The options of every command: --limit, --quiet, --verbose, --color."""
    names = ", ".join(LoadLimits.names())
    return [
        click.Option(
            ["--limit", "limits"],
            metavar="NAME=N",
            multiple=True,
            callback=_limits,
            help=f"Limit the time and memory of loading: {names}.",
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help="Print results and errors only."),
        click.Option(["-v", "--verbose"], count=True, help="Print log messages; -vv for more."),
        click.Option(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            help="Print in colour or not; by default NO_COLOR and FORCE_COLOR decide.",
        ),
    ]


def _limits(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> LoadLimits | None:
    found: dict[str, Any] = {}
    for each in given:
        name, _, number = each.partition("=")
        if name not in LoadLimits.names():
            known = ", ".join(LoadLimits.names())
            raise click.BadParameter(f"there is no limit {name!r}; the limits are {known}")
        try:
            found[name] = float(number) if name == "seconds" else int(number)
        except ValueError:
            raise click.BadParameter(f"{each}: {number!r} is not a number") from None
    try:
        return LoadLimits(**found) if found else None
    except InputError as error:
        raise click.BadParameter(str(error)) from None


def extents_of(
    ctx: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> dict[str, int]:
    """The extents of `--dim T=5`, by symbol; raises BadParameter for another form."""
    extents = {}
    for text in given:
        name, _, extent = text.partition("=")
        if not extent.isdecimal():
            raise click.BadParameter(f'"{text}" is not of the form T=5', ctx, param)
        extents[name] = int(extent)
    return extents


_FEEDS = (
    click.option("--input", "archive", type=FILE, help="An .npz file with a key for each input."),
    click.option(
        "-i",
        "assignments",
        multiple=True,
        metavar="NAME=VALUE",
        help="One input: a number, true, a JSON list, or @FILE.npy.",
    ),
    click.option(
        "--random", "made_up", is_flag=True, help="Generate the inputs that are not given."
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="The seed of --random."),
    click.option(
        "--dim",
        "extents",
        multiple=True,
        metavar="T=5",
        callback=extents_of,
        help="The extent --random gives a symbol; by default 3.",
    ),
)


@dataclass(frozen=True, slots=True)
class Inputs:
    """How a command's inputs are given: `cli.feeds.collect` makes feeds of them.

    `archive` is the .npz file of --input, `assignments` the texts of -i, `extents` the numbers of
    --dim; `seed` is None without --random.
    """

    archive: Path | None
    assignments: tuple[str, ...]
    seed: int | None
    extents: Mapping[str, int]

    @property
    def are_given(self) -> bool:
        """Whether the command line says anything about the inputs."""
        return self.archive is not None or bool(self.assignments) or self.seed is not None


def feed_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options for feeds, which the command gets as one parameter `inputs: Inputs`."""

    @wraps(function)
    def command(
        *args: Any,
        archive: Path | None,
        assignments: tuple[str, ...],
        made_up: bool,
        seed: int,
        extents: Mapping[str, int],
        **rest: Any,
    ) -> Any:
        inputs = Inputs(archive, assignments, seed if made_up else None, extents)
        return function(*args, inputs=inputs, **rest)

    made: Callable[..., Any] = command
    for option in reversed(_FEEDS):
        made = option(made)
    return made


def output_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The -o option of a rewriting command: the file for the rewritten model."""
    return click.option(
        "-o",
        "--output",
        type=MODEL_TARGET,
        help="Write the model here: .onnx, .onnxtxt, or .xml for OpenVINO IR.",
    )(function)


def values_option(
    what: str, besides: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The --values option: the `patterns` of values to look at, of which the help says `what`."""
    return click.option(
        "--values",
        "patterns",
        multiple=True,
        default=("*",),
        show_default=True,
        metavar="SELECTOR",
        help=f"{what}: a glob over names, paths, steps; op:Softmax; role:carried{besides}.",
    )
