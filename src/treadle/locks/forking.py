"""What a fork waits for: work, and locks of other libraries, that a child could never end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

_waits: list[Callable[[], None]] = []
_locks: list[AbstractContextManager[object]] = []
_held = threading.local()


def before_fork(wait: Callable[[], None]) -> None:
    """Call `wait` before every fork, while no lock is held for it."""
    _waits.append(wait)


def fork_outside(lock: AbstractContextManager[object]) -> None:
    """Hold a lock, which one thread may take twice, at every fork."""
    _locks.append(lock)


def _enter() -> None:
    for wait in _waits:
        wait()
    _held.locks = list(_locks)
    for lock in _held.locks:
        lock.__enter__()


def _leave() -> None:
    for lock in _held.locks:
        with suppress(RuntimeError):  # Ctrl-C ended the waiting for it
            lock.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_enter, after_in_parent=_leave, after_in_child=_leave)
