"""Locks that a forked process finds open."""

from __future__ import annotations

import os
import threading
from types import TracebackType


class ForkSafeLock:
    """`with lock:` one thread at a time. For what lives as long as the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_anew)

    def __enter__(self) -> None:
        """Wait until nobody else is inside."""
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the next one in."""
        self._lock.release()

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
