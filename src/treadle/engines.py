"""The engines by name, for sessions; a new engine is added here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treadle.arguments import names_of
from treadle.errors import InputError
from treadle.plan import Engine

__all__ = ["ENGINES", "engine_names", "engines_of"]

ENGINES = ("jit", "onnxruntime", "interp")


def engine_names(engines: Any) -> tuple[str, ...]:
    """The names of engines given by a caller: a list of them, or one name."""
    names = names_of(engines, ENGINES, "engines")
    if not names:
        raise InputError(f"engines is empty, wanted at least one of {', '.join(ENGINES)}")
    return names


def engines_of(
    names: Sequence[str],
    options: Any,
    providers: Sequence[Any] | None,
    provider_options: Sequence[Mapping[Any, Any]] | None,
) -> tuple[Engine, ...]:
    """The engines of these names, in order, without interp."""
    wanted = itertools.takewhile(lambda name: name != "interp", names)
    made = [_MAKERS[name](options, providers, provider_options) for name in wanted]
    return tuple(
        engine
        if engine.traits.with_providers is None
        else engine.traits.with_providers([other for other in made if other is not engine])
        for engine in made
    )


def on_trial(engines: Sequence[Engine]) -> tuple[Engine, ...]:
    """The engines, in the variant that also takes steps of unknown support, if they have one."""
    return tuple(e if e.traits.on_trial is None else e.traits.on_trial() for e in engines)


def _onnxruntime(options: Any, providers: Any, provider_options: Any) -> Engine:
    from treadle import delegate

    return delegate.Onnxruntime(delegate.Options.of(options, providers, provider_options))


def _jit(options: Any, *_: object) -> Engine:
    from treadle import jit

    return jit.Jit.of(options)


_MAKERS: Mapping[str, Callable[[Any, Any, Any], Engine]] = {
    "jit": _jit,
    "onnxruntime": _onnxruntime,
}
