"""Forks wait for the work of other threads, which a child cannot end, and for their locks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

_waits: list[Callable[[], None]] = []
_locks: list[AbstractContextManager[object]] = []
_held = threading.local()


def before_fork(wait: Callable[[], None]) -> None:
    """Call `wait` before every fork, and before the locks are taken that a fork holds."""
    _waits.append(wait)


def fork_outside(lock: AbstractContextManager[object]) -> None:
    """Hold a lock, which one thread may take twice, at every fork."""
    _locks.append(lock)


def _enter() -> None:
    _held.locks = []
    for wait in _waits:
        wait()
    for lock in _locks:
        lock.__enter__()  # Ctrl-C may end the waiting: `_leave` releases what was taken
        _held.locks.append(lock)


def _leave() -> None:
    for lock in _held.locks:
        lock.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_enter, after_in_parent=_leave, after_in_child=_leave)
