"""Recreates sessions: for pickling, copying, and after a fork.

A session is made again from the path or bytes of the model, its options, engines and providers;
machine code comes from the cache. Its listener and its profile are not kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields
from typing import Any

from treadle import formats, passes
from treadle.ir import Model
from treadle.options import SessionOptions

__all__ = ["Recipe", "made_again", "source_of"]

_SUPPLIED = ("dims_by_name", "dims_by_denotation", "initializers", "external_initializers")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The arguments to make a session again, in a form that pickles."""

    source: str | bytes
    options: SessionOptions
    engines: tuple[str, ...]
    providers: tuple[tuple[str, dict[str, str]], ...] | None
    may_fall_back: bool

    @classmethod
    def of(
        cls,
        source: str | Model,
        options: Any,
        engines: Sequence[str],
        providers: Sequence[tuple[str, Mapping[str, str]]] | None,
        may_fall_back: bool,
    ) -> Recipe:
        """Collect them from the path or text of a model, or the loaded model, and the rest."""
        is_read = isinstance(source, Model)
        data = _written(source) if isinstance(source, Model) else source
        named = None if providers is None else tuple((n, dict(o)) for n, o in providers)
        return cls(
            data,
            _pickled(options, is_read=is_read),
            tuple(engines),
            named,
            may_fall_back,
        )


def made_again(kind: Callable[..., Any], recipe: Recipe) -> Any:
    """Make a session of this class from its pickled state, in this process or another."""
    return kind(
        recipe.source,
        recipe.options,
        recipe.providers,
        engines=recipe.engines,
        enable_fallback=recipe.may_fall_back,
    )


def _written(model: Model) -> bytes:
    return formats.onnx.to_bytes(passes.to_onnx_loops(model))


def source_of(source: object) -> str | None:
    """The path or text to make a session from again; None for other sources."""
    if isinstance(source, str) and ("\n" in source or not os.path.exists(source)):
        return source
    if isinstance(source, str | os.PathLike):
        return os.path.abspath(source)
    return None


def _pickled(options: Any, *, is_read: bool) -> SessionOptions:
    """The options without parts that do not pickle or are already applied to the loaded model."""
    named = [each.name for each in fields(SessionOptions)]
    made = SessionOptions()
    for name in named:
        if hasattr(options, name):
            setattr(made, name, copy(getattr(options, name)))
    if is_read:
        for name in (*_SUPPLIED, "external_files"):
            setattr(made, name, {})
    made.initializers = {k: _array(v) for k, v in made.initializers.items()}
    made.external_initializers = {k: _array(v) for k, v in made.external_initializers.items()}
    made.external_files = {name: bytes(data) for name, data in made.external_files.items()}
    return made


def _array(value: Any) -> Any:
    return value.numpy() if hasattr(value, "_ortvalue") else value
