"""Calls beside the compiler: the whole model runs on other engines until its code is there."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from treadle.plan import FallbackRequired, NamedCall, Pending
from treadle.session.programs import Programs

__all__ = ["InterimCall", "start"]

_SHORT = 0.1
"""Seconds of a first call, in which its session of the other engine was made, too."""
Kinds = Sequence[tuple[str, np.dtype[Any], tuple[int, ...]]]


@dataclass(frozen=True, eq=False, slots=True)
class InterimCall:
    """A direct call of another engine, for feeds of these names, dtypes and shapes."""

    call: NamedCall
    kinds: Kinds
    pending: Sequence[Pending]

    @property
    def is_over(self) -> bool:
        """Whether the code is compiled, or cannot be."""
        return all(code.is_over for code in self.pending)

    def outputs(self, feed: dict[str, object]) -> list[Any] | None:
        """The outputs for feeds of these kinds; None for others, or where the engine fails."""
        if len(feed) != len(self.kinds):
            return None
        for name, dtype, shape in self.kinds:
            value = feed.get(name)
            if type(value) is not np.ndarray or value.shape != shape or value.dtype != dtype:
                return None
        try:
            return self.call(feed)
        except FallbackRequired:
            return None


def start(
    pending: Sequence[Pending],
    session: Any,
    programs: Programs,
    feed: Mapping[str, object],
    seconds: float,
) -> None:
    """Have the code of a run compiled; before that a program of the other engines is made.

    The session uses it, as its `_interim`, if it is a single call, the feeds were arrays, and the
    run, which took `seconds`, was short.
    """
    kinds = [
        (name, value.dtype, value.shape)
        for name, value in feed.items()
        if type(value) is np.ndarray
    ]
    is_short = seconds < _SHORT
    make = partial(_make, weakref.ref(session), weakref.ref(programs), kinds, tuple(pending))
    for number, code in enumerate(pending):
        code.start(make if number == 0 and len(kinds) == len(feed) and is_short else None)


def _make(
    owner: weakref.ref[Any],
    source: weakref.ref[Programs],
    kinds: Kinds,
    pending: Sequence[Pending],
) -> None:
    programs = source()
    call = None if programs is None else programs.direct_without(("jit",))
    session = owner()
    if call is not None and session is not None:
        session._interim = InterimCall(call, kinds, pending)
