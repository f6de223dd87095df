"""Calls beside the compiler: the whole model runs on other engines until its code is there."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import le
from typing import Any

import numpy as np

from treadle.feeds import InputBinder
from treadle.plan import FallbackRequired, NamedCall, Pending
from treadle.session.programs import Programs

__all__ = ["InterimCall", "start"]

_SHORT, _BRIEF = 0.1, 0.006
"""Seconds of a first call, in which its session of the other engine was made, too.

After a brief one the program for later calls is made at once, in about as much time: made by
another thread, it kept up to a hundred calls waiting for the GIL.
"""


@dataclass(frozen=True, eq=False, slots=True)
class Kind:
    """Feeds that are known to be as quick as one that was run.

    `arrays` have the dtypes and shapes of that one. A whole number, which may be a trip count, is
    at most as large, and a list has at most as many items, and these as many elements.
    """

    arrays: list[tuple[str, np.dtype[Any], tuple[int, ...]]]
    lists: list[tuple[str, np.dtype[Any]]]
    most: list[tuple[str, tuple[int, ...]]]

    @classmethod
    def of(cls, bind: InputBinder, feed: Mapping[str, Any]) -> Kind | None:
        """Feeds like this one; None if its values must be converted. `bind` has seen no other."""
        bind(feed)
        if bind.known(feed) is None:
            return None
        kind = cls([], [], [])
        for name, value in feed.items():
            item = value[0] if type(value) is list and value else value
            if type(item) is not np.ndarray or item.dtype == object:
                return None  # text is looked at in every call
            if item is value:
                kind.arrays.append((name, value.dtype, value.shape))
            else:
                kind.lists.append((name, item.dtype))
            if counts := _counts(value):
                kind.most.append((name, counts))
        return kind

    def admits(self, feed: dict[str, Any]) -> bool:
        """Whether a feed is one of these."""
        if len(feed) != len(self.arrays) + len(self.lists):
            return False
        for name, dtype, shape in self.arrays:
            value = feed.get(name)
            if type(value) is not np.ndarray or value.shape != shape or value.dtype != dtype:
                return False
        for name, dtype in self.lists:
            items = feed.get(name)
            if type(items) is not list or not _are_arrays(items, dtype):
                return False
        return not [name for name, most in self.most if not all(map(le, _counts(feed[name]), most))]


def _are_arrays(items: list[Any], dtype: np.dtype[Any]) -> bool:
    return not [each for each in items if type(each) is not np.ndarray or each.dtype != dtype]


@dataclass(frozen=True, eq=False, slots=True)
class InterimCall:
    """A direct call of another engine for feeds of a kind, while the code is pending."""

    call: NamedCall
    kind: Kind
    pending: Sequence[Pending]

    @property
    def is_over(self) -> bool:
        """Whether the code is compiled, or cannot be."""
        return not [code for code in self.pending if not code.is_over]  # quicker than `all`

    def outputs(self, feed: dict[str, object]) -> list[Any] | None:
        """The outputs for feeds of this kind; None for others, or where the engine fails."""
        if not self.kind.admits(feed):
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
    uses the program, as its `_interim`, if the run was plain and short, its inputs were not
    converted, and the program is a single call.
    """
    make = None
    if feed is not None and seconds < _SHORT:
        kind = Kind.of(InputBinder.of(session._plain.inputs), feed)
        like = {name: _stand_in(value) for name, value in feed.items()}
        refer = weakref.ref
        named = partial(_make, refer(session), refer(session._programs))
        make = None if kind is None else partial(named, kind, like, tuple(pending))
    for number, code in enumerate(pending):
        is_first = number == 0
        code.start(make if is_first else None, at_once=is_first and seconds < _BRIEF)


def _counts(value: object) -> tuple[int, ...]:
    """A whole number; of a list the number of its items and of their elements; else nothing."""
    if isinstance(value, list):
        return len(value), sum([int(array.size) for array in value])
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "iu":
        return (int(value.item()),)
    return ()


def _stand_in(value: object) -> object:
    """A value of the same extents that takes no memory."""
    if isinstance(value, list):
        return [_stand_in(item) for item in value]
    if isinstance(value, np.ndarray):
        return np.broadcast_to(np.zeros((), value.dtype), value.shape)
    return value


def _make(
    owner: weakref.ref[Any],
    source: weakref.ref[Programs],
    kind: Kind,
    like: Mapping[str, object],
    pending: Sequence[Pending],
) -> None:
    programs = source()
    call = None if programs is None else programs.direct_without(("jit",), like)
    session = owner()
    if call is None or programs is None or session is None:
        return
    with programs.lock:
        if session._programs is programs:  # not those of other providers
            session._interim = InterimCall(call, kind, pending)
