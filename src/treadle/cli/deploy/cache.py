"""`treadle cache`: lists and deletes the contents of the cache."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import click

import treadle
from treadle.cli.output import echo, echo_json
from treadle.cli.verb import Verb, json_option

_EXAMPLE = """
$ treadle cache list
$ treadle cache list --cache /var/cache/treadle --json
$ treadle cache clear --older-than 30
"""
_DAY = 86400.0


@click.command(cls=Verb, example=_EXAMPLE)
@click.argument("action", type=click.Choice(["list", "clear"]))
@click.option(
    "--cache",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="The cache folder; by default TREADLE_CACHE_DIR or the platform's.",
)
@click.option(
    "--older-than", type=float, metavar="DAYS", help="Only files not used for this number of days."
)
@json_option
def cache(action: str, folder: Path | None, older_than: float | None, as_json: bool) -> None:
    """List the files of the cache, or delete them.

    A file is a kernel (a loop compiled for one signature), or a plan (a prepared model with the
    first kernel of each of its loops). The model's name is not stored: a file is found by a digest
    of the model, the versions, the options and the processor, and one made for others is never
    read. What was not used for longest goes by itself when the folder grows over its bound.
    """
    from treadle.jit import DiskCache, cache_folder

    options = treadle.SessionOptions(cache_dir=None if folder is None else str(folder))
    used = cache_folder(options)
    if used is None:
        raise click.UsageError("TREADLE_CACHE_DIR is empty, so nothing is kept; give --cache DIR")
    store = DiskCache(used)
    entries = [
        entry
        for entry in store.entries()
        if older_than is None or time.time() - entry.used > older_than * _DAY
    ]
    if action == "clear":
        entries = [entry for entry in entries if store.delete(entry.name)]
    size = sum(entry.bytes for entry in entries)
    if as_json:
        files = [entry._asdict() for entry in entries]
        known = {
            "folder": str(used),
            "unused_because": store.why_unused(),
            "bound": store.most_bytes,
        }
        echo_json({**known, "files": files, "bytes": size})
        return
    _show(action, used, store.why_unused(), [(e.kind, e.bytes, e.used) for e in entries])


def _show(action: str, folder: Path, why: str, entries: list[tuple[str, int, float]]) -> None:
    from treadle.report import plural, show_bytes, table

    size = show_bytes(sum(each for _, each, _ in entries))
    count = plural(len(entries), "file")
    if action == "clear":
        echo(f"{folder}: {count} of {size} deleted")
        return
    rows = [
        (kind, f"{len(found)}", show_bytes(sum(size for _, size, _ in found)), _day(found))
        for kind in ("kernel", "plan")
        if (found := [each for each in entries if each[0] == kind])
    ]
    lines = [f"{folder}: {count}, {size}"]
    if rows:
        lines.append(table(rows, head=("kind", "files", "size", "last used"), indent=2))
    if why:
        lines.append(f"it is not used: {why}")
    echo("\n".join(lines))


def _day(found: list[tuple[str, int, float]]) -> str:
    return datetime.fromtimestamp(max(used for _, _, used in found)).strftime("%Y-%m-%d %H:%M")
