"""Sessions of onnxruntime in a forked process: made anew when they are first used there.

A fork copies the memory of a session and none of its threads. A lock that another thread held at
that moment stays locked for ever, and a thread pool has nobody to do its work: a run of such a
session may wait for ever, and so may its end. So the child keeps what it inherited, unused.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from treadle.delegate.runnable import Run, Session

__all__ = ["begin_anew_in_forks"]

_starts: weakref.WeakKeyDictionary[Session, Callable[[], Run]] = weakref.WeakKeyDictionary()
_inherited: list[Run] = []


def begin_anew_in_forks(session: Session, start: Callable[[], Run]) -> None:
    """Have a forked process make the run of this session by `start` before it first uses it."""
    _starts[session] = start


class _Pending:
    """The run of a session in a forked process, which the first call makes."""

    def __init__(self, session: Session, start: Callable[[], Run]) -> None:
        self.session, self.start, self.lock = weakref.ref(session), start, threading.Lock()
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
