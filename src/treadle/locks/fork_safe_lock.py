"""Locks that are open in a forked process.

A fork copies a lock as it is, but not the thread that holds it: nobody in the child would open it.
"""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType

_made: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


class ForkSafeLock:
    """A lock; `with lock:` admits one thread, in a forked process whoever was inside before."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _made.add(self)

    def acquire(self, blocking: bool = True) -> bool:
        """Take the lock; False, if `blocking` is not set, where a thread has it."""
        return self._lock.acquire(blocking)

    def release(self) -> None:
        """Release the lock; a process that was forked inside finds it open."""
        if self._lock.locked():
            self._lock.release()

    def locked(self) -> bool:
        """Whether a thread has it."""
        return self._lock.locked()

    def __enter__(self) -> None:
        """Wait until no other thread is inside."""
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the lock."""
        self.release()

    def renew(self) -> None:
        """Open it, whoever holds it."""
        self._lock = threading.Lock()


def _begin_anew() -> None:
    for lock in list(_made):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
