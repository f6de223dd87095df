"""The engines that run every case, and the cases that each may refuse."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import treadle

ENGINES: Mapping[str, tuple[str, ...] | None] = {
    "interp": ("interp",),
    "jit": ("jit", "interp"),
    "default": None,
}
"""The name of a choice of engines, and `engines=` of the session; None: the default ones."""

_WRITTEN = tomllib.loads((Path(__file__).parent / "refusals.toml").read_text(encoding="utf-8"))
REFUSALS: Mapping[str, Mapping[str, str]] = {name: _WRITTEN.get(name, {}) for name in ENGINES}
"""By engine: the models it refuses to run, and why that is right."""


def session(source: object, engine: str, **options: object) -> treadle.InferenceSession:
    """A session of a model on an engine, with fields of SessionOptions set."""
    settings = treadle.SessionOptions()
    for name, value in options.items():
        setattr(settings, name, value)
    return treadle.InferenceSession(source, settings, engines=ENGINES[engine])
