"""The execution providers of a session: those requested, and those onnxruntime registered."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.arguments import brief
from treadle.delegate.identity import identity
from treadle.delegate.ort_errors import failures, reason
from treadle.errors import ConfigurationError, InputError, InputTypeError

CPU = "CPUExecutionProvider"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The providers of all regions, in order of preference, with the requested options.

    `told` are the options that onnxruntime reports for each.
    """

    providers: tuple[tuple[str, Mapping[str, str]], ...] = ((CPU, {}),)
    told: Mapping[str, Mapping[str, str]] | None = None

    @property
    def names(self) -> list[str]:
        """The names, in order of preference."""
        return [name for name, _ in self.providers]

    @property
    def options(self) -> dict[str, dict[str, str]]:
        """The options of each provider."""
        known = self.told or {}
        return {name: dict(known.get(name, {})) for name in self.names}


def choose(
    named: Sequence[Any] | None,
    options: Sequence[Mapping[Any, Any]] | None,
    added: Sequence[tuple[str, dict[str, str]]] = (),
    *,
    may_fall_back: bool = True,
) -> Chosen:
    """Choose the providers of a session; `added` are those of its options, used if none are named.

    Providers that this onnxruntime build lacks are left out with a warning. If onnxruntime rejects
    the others, the CPU provider is used with a warning, or ConfigurationError is raised if falling
    back is disabled. Raises InputError for malformed arguments.
    """
    wanted = dict(settled(named, options)) or dict(added)
    if set(wanted) <= {CPU}:
        return Chosen()
    try:
        told = _told(wanted)
    except failures() as failure:
        why = reason(failure)
        if not may_fall_back:
            raise ConfigurationError(why) from failure
        warnings.warn(f"{why}; falling back to {CPU}", stacklevel=_to_caller())
        return Chosen()
    return Chosen(tuple((name, wanted.get(name, {})) for name in told), told)


def settled(
    named: Sequence[Any] | None, options: Sequence[Mapping[Any, Any]] | None
) -> dict[str, dict[str, str]]:
    """Each provider's options as strings, in order of preference; raises InputError."""
    if named is None:
        return {}
    available: Sequence[str] = ()
    if not isinstance(named, list) or named != [CPU]:
        import onnxruntime

        available = onnxruntime.get_available_providers()
    found: dict[str, dict[str, str]] = {}
    for name, settings in _pairs(named, options):
        if name != CPU and name not in available:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names."
                f"Available providers: '{', '.join(available)}'",
                stacklevel=_to_caller(),
            )
        if name in found:
            warnings.warn(
                f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=_to_caller()
            )
            continue
        found[name] = {str(key): str(value) for key, value in settings.items()}
    return found


def _to_caller() -> int:
    """The stack level at which a warning points at the caller of treadle."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("treadle"):
        frame, level = frame.f_back, level + 1
    return level


def _pairs(
    named: Sequence[Any], options: Sequence[Mapping[Any, Any]] | None
) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    if isinstance(named, str) or not isinstance(named, Sequence):
        raise InputTypeError(f"the providers are given as {brief(named)}, wanted a list of names")
    if options is None:
        yield from map(_pair, named)
        return
    if not isinstance(options, list | tuple):
        raise InputError(f"provider_options are {brief(options)}, wanted a list of dicts")
    if len(options) != len(named):
        raise InputError(f"{len(named)} providers are named, with {len(options)} provider_options")
    for name, settings in zip(named, options, strict=True):
        if not isinstance(name, str):
            raise InputError(f"beside provider_options providers are names, not {brief(name)}")
        if not isinstance(settings, dict):
            raise InputError(f"the options of {name} are {brief(settings)}, wanted a dict")
        yield name, settings


def _pair(entry: object) -> tuple[str, Mapping[Any, Any]]:
    match entry:
        case str(name):
            return name, {}
        case (str(name), dict(settings)) if isinstance(entry, tuple):
            return name, settings
    raise InputError(f"a provider is a name, or a name and a dict of options, not {brief(entry)}")


def _told(wanted: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The providers that onnxruntime registers for a model, in its order, with their options."""
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as binding

    silent = onnxruntime.SessionOptions()
    silent.log_severity_level = 4
    session = binding.InferenceSession(silent, identity(), False, False)
    session.initialize_session(list(wanted), [dict(o) for o in wanted.values()], set())
    options = session.get_provider_options()
    return {name: dict(options.get(name, {})) for name in session.get_providers()}
