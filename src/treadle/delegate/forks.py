"""Remakes sessions of onnxruntime in a forked process, at their first use.

A fork copies the memory of a session but none of its threads. A lock that another thread held at
that moment stays locked forever, and a thread pool has no workers: a run of such a session may
hang, and so may its destructor. The child therefore keeps the inherited session, unused.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

from treadle.delegate.runnable import Run, Session
from treadle.locks import ForkSafeLock

__all__ = ["begin_anew_in_forks"]

_starts: weakref.WeakKeyDictionary[Session, Callable[[], Run]] = weakref.WeakKeyDictionary()
_inherited: list[Run] = []


def begin_anew_in_forks(session: Session, start: Callable[[], Run]) -> None:
    """Have a forked process remake the run of this session by `start` before its first use."""
    _starts[session] = start


class _Pending:
    """The run of a session in a forked process; the first call makes it."""

    def __init__(self, session: Session, start: Callable[[], Run]) -> None:
        self.session, self.start, self.lock = weakref.ref(session), start, ForkSafeLock()
        self.made: Run | None = None

    def __call__(self, *given: Any) -> list[Any]:
        with self.lock:
            if self.made is None:
                self.made = self.start()
                session = self.session()
                if session is not None:
                    object.__setattr__(session, "run", self.made)
        return self.made(*given)


def _in_child() -> None:
    for session, start in list(_starts.items()):
        if not isinstance(session.run, _Pending):
            _inherited.append(session.run)
        object.__setattr__(session, "run", _Pending(session, start))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
