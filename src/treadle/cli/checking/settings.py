"""The project's settings for `treadle check`: [tool.treadle] of pyproject.toml, or treadle.toml."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from treadle.cli.options import read_text
from treadle.errors import did_you_mean

__all__ = ["KEYS", "read_settings"]

KEYS: Mapping[str, tuple[str, type]] = {
    "paths": ("paths", list),
    "exclude": ("exclude", list),
    "select": ("select", list),
    "ignore": ("ignore", list),
    "for": ("portable", list),
    "fail-on": ("fail_on", str),
    "baseline": ("baseline", str),
    "output-format": ("output_format", str),
}
"""The keys, with the parameter of the command that each one sets, and the type of its value."""

_CODES = ("select", "ignore")
_FILES = ("paths", "exclude", "baseline")


def read_settings(file: Path | None, start: Path) -> dict[str, Any]:
    """The command's defaults by parameter: from `file`, or the nearest file at or above `start`.

    Paths in it are relative to its folder. Raises UsageError for a malformed file, naming the wrong
    key.
    """
    found = file or _nearest(start)
    if found is None:
        return {}
    given = _table(found, is_chosen=file is not None) or {}
    return {
        KEYS[key][0]: _value(found, key, value)
        for key, value in given.items()
        if _is_right(found, key, value)
    }


def _nearest(start: Path) -> Path | None:
    for folder in (start, *start.parents):
        for file in (folder / "treadle.toml", folder / "pyproject.toml"):
            if file.is_file() and _table(file, is_chosen=False) is not None:
                return file
    return None


def _table(file: Path, *, is_chosen: bool) -> dict[str, Any] | None:
    """The table of the file; None for a pyproject.toml that has none."""
    try:
        content = tomllib.loads(read_text(file))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        if file.name == "pyproject.toml" and not is_chosen:
            return None
        raise click.UsageError(f"{file} is no TOML: {error}") from None
    if file.name != "pyproject.toml":
        return content
    table = content.get("tool", {}).get("treadle")
    return table if isinstance(table, dict) else None


def _is_right(file: Path, key: str, value: object) -> bool:
    if key not in KEYS:
        raise click.UsageError(f'{file}: there is no setting "{key}", {did_you_mean(key, KEYS)}')
    wanted = KEYS[key][1]
    items = value if isinstance(value, list) else [value]
    if not isinstance(value, wanted) or not all(isinstance(item, str) for item in items):
        kind = "a list of strings" if wanted is list else "a string"
        raise click.UsageError(f'{file}: "{key}" is {value!r}, wanted {kind}')
    return True


def _value(file: Path, key: str, value: Any) -> Any:
    if key in _CODES:
        return ",".join(value)
    if key not in _FILES:
        return value
    if isinstance(value, list):
        return [_from_here(file, each) for each in value]
    return _from_here(file, value)


def _from_here(file: Path, path: str) -> str:
    """The path relative to the working folder."""
    if path == "-" or (os.sep not in path and "*" in path):
        return path
    return os.path.relpath(file.parent / path)
