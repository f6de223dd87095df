"""Options that several verbs share; nothing here imports more than click."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

__all__ = ["FILE", "extents_of", "feed_options", "output_option"]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def extents_of(
    ctx: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> dict[str, int]:
    """The extents of `--dim T=5`, by symbol; raises BadParameter for what is not like that."""
    extents = {}
    for text in given:
        name, _, extent = text.partition("=")
        if not extent.isdecimal():
            raise click.BadParameter(f'"{text}" is not like T=5', ctx, param)
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
        "--random", "made_up", is_flag=True, help="Make up the inputs that are not given."
    ),
    click.option(
        "--seed", type=int, default=0, show_default=True, help="What --random starts from."
    ),
    click.option(
        "--dim",
        "extents",
        multiple=True,
        metavar="T=5",
        callback=extents_of,
        help="The extent --random gives a symbol; 3 without.",
    ),
)


def feed_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what is fed: `archive`, `assignments`, `made_up`, `seed`, `extents`."""
    for option in reversed(_FEEDS):
        function = option(function)
    return function


def output_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The -o option of a rewriting verb: where the rewritten model goes."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write the model here: .onnx or .onnxtxt.",
    )(function)
