"""`treadle warm`: fills the cache with the code of models before deployment."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

import treadle
from treadle.cli.options import FILE, MODEL
from treadle.cli.output import echo, echo_json, note, working
from treadle.cli.verb import Verb, engines_option, json_option

_EXAMPLE = """
$ treadle warm decoder.onnx --input sample.npz
$ treadle warm lstm.onnx --dim T=100,200 --dim B=1 --cache /var/cache/treadle
"""


def _extents(
    ctx: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> dict[str, list[int]]:
    """The extents of `--dim T=100,200`, by symbol."""
    extents = {}
    for text in given:
        name, _, numbers = text.partition("=")
        parts = numbers.split(",")
        if not all(part.strip().isdecimal() for part in parts):
            raise click.BadParameter(f'"{text}" is not of the form T=100 or T=100,200', ctx, param)
        extents[name] = [int(part) for part in parts]
    return extents


@click.command(cls=Verb, example=_EXAMPLE)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=MODEL)
@click.option(
    "--dim",
    "extents",
    multiple=True,
    metavar="T=100,200",
    callback=_extents,
    help="The extents of a symbol, each of which is warmed up; by default 3.",
)
@click.option(
    "--input", "archive", type=FILE, help="Feed this .npz file; missing inputs are generated."
)
@click.option(
    "--cache",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="The cache folder to fill; by default TREADLE_CACHE_DIR or the platform's.",
)
@engines_option
@json_option
def warm(
    models: Sequence[Any],
    extents: Mapping[str, list[int]],
    archive: Path | None,
    folder: Path | None,
    engines: list[str] | None,
    as_json: bool,
) -> None:
    """Run models once, so that the cache contains their code.

    A process with the same cache then compiles nothing at its first run: warm up when a container's
    image is built. Code is specialized to all extents except that of the axis a loop slices, so
    give the extents in use, or feed a file of real inputs.
    """
    warmed = []
    for model in models:
        with working(f"warming up {model}", quiet=as_json):
            warmed.append(_warmed(model, extents, archive, folder, engines))
    if as_json:
        echo_json(warmed)
        return
    _show(warmed)


def _show(warmed: Sequence[Mapping[str, Any]]) -> None:
    from treadle.report import plural, show_bytes, show_seconds

    for each in warmed:
        kept = f"{plural(each['files'], 'file')} of {show_bytes(each['bytes'])}"
        echo(f"{each['model']}: {kept} kept, in {show_seconds(each['seconds'])}")


def _warmed(
    model: Any,
    extents: Mapping[str, list[int]],
    archive: Path | None,
    folder: Path | None,
    engines: list[str] | None,
) -> dict[str, object]:
    from treadle.cli.archive import as_type, read_archive
    from treadle.jit import DiskCache, cache_folder
    from treadle.warming import open_extents

    options = treadle.SessionOptions(cache_dir=None if folder is None else str(folder.absolute()))
    used = cache_folder(options)
    if used is None:
        raise click.UsageError(
            "TREADLE_CACHE_DIR is empty, which disables the cache; give --cache DIR"
        )
    cache = DiskCache(used)
    why = cache.why_unused(making=True)
    if why:
        raise treadle.ConfigurationError(f"the cache cannot be used: {why}")
    before = {entry.name for entry in cache.entries()}
    started = time.perf_counter()
    session = treadle.InferenceSession(model, options, engines=engines)
    feeds = None
    if archive is not None:
        types = {value.name: value.type for value in session.model.main.params}
        read = read_archive(archive, "in:")
        feeds = {name: as_type(value, types.get(name)) for name, value in read.items()}
    elif left := open_extents(session, extents):
        note(f"{model}: no --dim for {', '.join(left)}; using 3 for each")
    session.warm_up(feeds, dims=extents)
    seconds = round(time.perf_counter() - started, 3)
    new = [entry for entry in cache.entries() if entry.name not in before]
    size = sum(entry.bytes for entry in new)
    return {"model": str(model), "cache": str(used), "files": len(new), "bytes": size,
            "seconds": seconds}  # fmt: skip
