"""Warm-up runs, which compile the loops of a model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import Any

from treadle.arguments import expect
from treadle.errors import InputError, LimitExceeded, RunError, did_you_mean
from treadle.ir import Type, type_symbols
from treadle.options import RunOptions
from treadle.warming.made_up import made_up_value

__all__ = ["open_extents", "warm"]

Dims = Mapping[str, Sequence[int]]
_SECONDS = 5.0
"""The time limit of a run on generated feeds: an endless loop is compiled by then."""


class _Waiting(RunOptions):
    """The options of a run that waits for its code."""

    waits_for_code = True

    @property
    def may_stop(self) -> bool:
        """Whether the run may end before it is done."""
        return self.max_seconds is not None


def warm(session: Any, feeds: Mapping[str, object] | None, dims: Mapping[str, Any] | None) -> None:
    """The implementation of `InferenceSession.warm_up`."""
    expect(feeds, (Mapping, type(None)), "feeds", "a mapping of names to values, or None")
    types = {value.name: value.type for value in session.model.main.params}
    given = dict(feeds or {})
    wanted = _checked(dims, types)
    missing = {name: types[name] for name in _needed(session) if name not in given}
    if not missing:
        session.run(None, given, _Waiting())
        return
    for extents in _combinations(wanted):
        made = {name: made_up_value(name, type_, 0, extents) for name, type_ in missing.items()}
        _run(session, {**made, **given}, list(missing))


def open_extents(session: Any, dims: Mapping[str, Any]) -> list[str]:
    """The symbols of inputs that `dims` does not fix: they get the extent 3."""
    types = [value.type for value in session.model.main.params]
    return sorted(set().union(*map(type_symbols, types)) - set(dims))


def _run(session: Any, feeds: Mapping[str, object], made_up: Sequence[str]) -> None:
    try:
        session.run(None, feeds, _Waiting(max_seconds=_SECONDS))
    except LimitExceeded:
        return
    except (RunError, InputError) as error:
        names = ", ".join(made_up)
        raise InputError(
            f"the model fails on the inputs generated for {names}; give feeds: {error}"
        ) from error


def _needed(session: Any) -> list[str]:
    return [argument.name for argument in session.get_inputs()]


def _checked(dims: Mapping[str, Any] | None, types: Mapping[str, Type | None]) -> Dims:
    """The extents of each symbol; raises InputError for a symbol that no input has."""
    expect(dims, (Mapping, type(None)), "dims", "a mapping of names to extents, or None")
    known = sorted(set().union(*map(type_symbols, types.values())))
    found = {}
    for name, extents in (dims or {}).items():
        if name not in known:
            raise InputError(f'no input has an extent "{name}", {did_you_mean(name, known)}')
        found[name] = [_extent(name, each) for each in _listed(extents)]
    return found


def _listed(extents: Any) -> Sequence[Any]:
    return list(extents) if isinstance(extents, list | tuple | range) else [extents]


def _extent(name: str, extent: Any) -> int:
    try:
        number = index(extent)
    except TypeError:
        number = -1
    if number < 0 or isinstance(extent, bool):
        raise InputError(f'the extent of "{name}" is {extent!r}, wanted a whole number from 0')
    return number


def _combinations(dims: Dims) -> Iterator[dict[str, int]]:
    for extents in itertools.product(*dims.values()):
        yield dict(zip(dims, extents, strict=True))
