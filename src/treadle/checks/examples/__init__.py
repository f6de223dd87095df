"""An example for each rule: a short explanation, a faulty model and the mended model, as text."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'
"""The header of an example that shows only its graph."""

_FOLDER = Path(__file__).parent


class Example(NamedTuple):
    """A short explanation of a rule, a text model that breaks it, and one that does not."""

    about: str
    bad: str
    good: str


def whole(model: str) -> str:
    """The example's complete text, with its header."""
    return model if model.startswith(("<", "ir_version")) else f"{HEADER}\n{model}"


@functools.cache
def examples() -> Mapping[str, Example]:
    """The example of each code, from the files of this folder."""
    found: dict[str, Example] = {}
    for path in sorted(_FOLDER.glob("*.txt")):
        _, *sections = path.read_text(encoding="utf-8").split("== ")
        for section in sections:
            code, _, text = section.partition("\n")
            about, bad, good = text.replace("-- good\n", "-- bad\n").split("-- bad\n")
            assert code not in found, f"{code} has two examples"
            found[code] = Example(about.strip(), bad.rstrip(), good.rstrip())
    return found
