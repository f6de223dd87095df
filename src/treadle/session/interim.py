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
Kinds = Sequence[tuple[str, np.dtype[Any], tuple[int, ...], int | None]]


@dataclass(frozen=True, eq=False, slots=True)
class InterimCall:
    """A direct call of another engine, for feeds of these names, dtypes and shapes.

    A whole number, which may be a trip count, is at most as large as the one given here.
    """

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
        for name, dtype, shape, most in self.kinds:
            value = feed.get(name)
            if type(value) is not np.ndarray or value.shape != shape or value.dtype != dtype:
                return None
            if most is not None and value.item() > most:
                return None
        try:
            return self.call(feed)
        except FallbackRequired:
            return None


def start(
    pending: Sequence[Pending],
    session: Any,
    feed: Mapping[str, object] | None,
    seconds: float,
) -> None:
    """Have the code of a run compiled; before that a program of the other engines is made.

    `feed` are the inputs of a plain run, which took `seconds`; None for other runs. The session
    uses the program, as its `_interim`, if the run was plain and short, the inputs were arrays, and
    the program is a single call.
    """
    kinds = [
        (name, value.dtype, value.shape, _whole_number(value))
        for name, value in (feed or {}).items()
        if type(value) is np.ndarray
    ]
    may_repeat = feed is not None and len(kinds) == len(feed) and seconds < _SHORT
    refer = weakref.ref
    make = partial(_make, refer(session), refer(session._programs), kinds, tuple(pending))
    for number, code in enumerate(pending):
        code.start(make if number == 0 and may_repeat else None)


def _whole_number(value: np.ndarray) -> int | None:
    return int(value.item()) if value.size == 1 and value.dtype.kind in "iu" else None


def _make(
    owner: weakref.ref[Any],
    source: weakref.ref[Programs],
    kinds: Kinds,
    pending: Sequence[Pending],
) -> None:
    programs = source()
    call = None if programs is None else programs.direct_without(("jit",))
    session = owner()
    if call is None or programs is None or session is None:
        return
    with programs.lock:
        if session._programs is programs:  # not those of other providers
            session._interim = InterimCall(call, kinds, pending)
