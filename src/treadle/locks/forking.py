"""Forks that wait for a lock of another library: a child could never open it."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager


def fork_outside(lock: AbstractContextManager[object]) -> None:
    """Hold a lock, which one thread may take twice, at every fork from now on."""

    def leave() -> None:
        lock.__exit__(None, None, None)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.__enter__, after_in_parent=leave, after_in_child=leave)
