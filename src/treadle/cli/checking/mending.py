"""Repaired models: their destinations, and diffs of their changes."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path

import click

import treadle
from treadle.cli.checking.targets import Target
from treadle.ir import show_model
from treadle.passes import Fix

__all__ = ["diff_of", "mend", "places"]


def places(
    targets: Sequence[Target], file: Path | None, folder: Path | None, *, in_place: bool
) -> dict[str, Path]:
    """The destination of each model, by name; raises UsageError if two models share one."""
    if file is not None:
        if len(targets) > 1:
            raise click.UsageError(
                f"--fix {file} is one file, and there are {len(targets)} models; give --fix with"
                " --output-dir DIR or --in-place"
            )
        return {targets[0].name: file}
    if any(not isinstance(target.source, Path) for target in targets):
        raise click.UsageError("a model on standard input is repaired with --fix FILE")
    if folder is None:
        return {target.name: Path(target.name) for target in targets if in_place}
    found: dict[Path, str] = {}
    for target in targets:
        path = folder / target.relative
        if path in found:
            raise click.UsageError(f"{found[path]} and {target.name} would both be {path}")
        found[path] = target.name
    return {name: path for path, name in found.items()}


def mend(target: Target, path: Path, portable: Sequence[str]) -> list[Fix]:
    """Write the repaired model; in place only if something was repaired."""
    repaired, done = treadle.repair(target.source, portable=portable)
    if done or target.source != path:
        path.parent.mkdir(parents=True, exist_ok=True)
        treadle.save(repaired, path)
    return done


def diff_of(target: Target, portable: Sequence[str]) -> str:
    """A diff of the repairs, of the program in treadle's notation; "" without changes."""
    repaired, done = treadle.repair(target.source, portable=portable)
    if not done:
        return ""
    before, after = (show_model(m).splitlines() for m in (treadle.load(target.source), repaired))
    name = target.name
    return "\n".join(unified_diff(before, after, f"{name}", f"{name} (mended)", lineterm=""))
