"""The baseline: findings that a project knows of, stored in a file and not reported again.

A finding is identified by its file, its code, its path with steps named by their results, and the
names of values in its message. Numbers of steps are not part of it, so adding a node elsewhere
changes nothing; nor are the wording and the severity, which a new version may change.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from treadle.cli.options import read_text
from treadle.errors import Finding
from treadle.formats import read
from treadle.ir import Model, block_values, walk

__all__ = ["Baseline", "Key", "keys_of"]

Key = tuple[str, str, str, tuple[str, ...]]
"""File, code, path and names of values."""
_VERSION = 1
_NUMBER = re.compile(r"_\d+(?=[./\[]|$)")
_QUOTED = re.compile(r'"([^"]+)"')
_WORD = re.compile(r"[\w.:/-]*\w")


@dataclass(slots=True)
class Baseline:
    """The findings of a file, and how many of each have not been met yet."""

    file: Path
    left: Counter[Key] = field(default_factory=Counter)

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """Read the baseline of a file; raises UsageError if it is missing or malformed."""
        try:
            content = json.loads(read_text(file))
            entries = content["findings"] if content["version"] == _VERSION else None
            left = Counter({_key(entry): int(entry["count"]) for entry in entries or ()})
        except FileNotFoundError:
            raise click.UsageError(f"{file} does not exist; --update-baseline writes it") from None
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise click.UsageError(f"{file} is not a baseline of treadle check") from None
        if entries is None:
            raise click.UsageError(f"{file} was written by another version; --update-baseline")
        return cls(file, left)

    def unknown(self, found: Sequence[Finding], keys: Iterable[Key]) -> list[Finding]:
        """The findings that are not in the file; each entry matches as many as it counts."""
        told = []
        for finding, key in zip(found, keys, strict=True):
            if self.left[key] > 0:
                self.left[key] -= 1
            else:
                told.append(finding)
        return told

    @property
    def unmet(self) -> int:
        """The number of findings of the file that were not met."""
        return sum(self.left.values())


def show_baseline(keys: Iterable[Key]) -> str:
    """The text of the baseline file for these findings, in a stable order."""
    entries = [
        {"file": file, "code": code, "path": path, "names": list(names), "count": count}
        for (file, code, path, names), count in sorted(Counter(keys).items())
    ]
    return json.dumps({"version": _VERSION, "findings": entries}, indent=2, ensure_ascii=False)


def _key(entry: Mapping[str, object]) -> Key:
    names = entry["names"]
    assert isinstance(names, list)
    return str(entry["file"]), str(entry["code"]), str(entry["path"]), tuple(map(str, names))


def keys_of(found: Sequence[Finding], source: object, file: str, baseline: Path) -> list[Key]:
    """The key of each finding of a model; its file is relative to the baseline's folder."""
    model, _ = read(source, broken=True)
    steps, values = _names(model) if model is not None else ({}, frozenset())
    told = file if not os.path.exists(file) else _relative(file, baseline)
    messages = [finding.message.replace(f'"{file}"', "") for finding in found]
    return [
        (told, finding.code, _called(finding.path, steps), _mentioned(message, values))
        for finding, message in zip(found, messages, strict=True)
    ]


def _relative(file: str, baseline: Path) -> str:
    return Path(os.path.relpath(file, baseline.parent)).as_posix()


def _names(model: Model) -> tuple[Mapping[str, str], frozenset[str]]:
    """The names of each step by its results, and the names of all values."""
    steps: dict[str, str] = {}
    values = {value.name for value in block_values(model.main)}
    for path, step, _, _ in walk(model):
        results = [value.name for value in step.results if value is not None]
        steps[path] = ",".join(results)
        values |= set(results)
    return steps, frozenset(values)


def _called(path: str, steps: Mapping[str, str]) -> str:
    """The path with each step named by operator and results: `main/loop(root).body/add(y)`."""
    walked, told = "", []
    for part in path.split("/"):
        step, dot, body = part.partition(".")
        results = steps.get(f"{walked}{step}")
        name = _NUMBER.sub("", step)
        told.append(f"{name}({results}){dot}{body}" if results is not None else name + dot + body)
        walked += f"{part}/"
    return "/".join(told)


def _mentioned(message: str, values: frozenset[str]) -> tuple[str, ...]:
    words = [*_QUOTED.findall(message), *(w for w in _WORD.findall(message) if w in values)]
    return tuple(sorted({_NUMBER.sub("", word) if "/" in word else word for word in words}))
