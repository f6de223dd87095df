"""Locks that are open in a forked process."""

from __future__ import annotations

import os
import threading
from types import TracebackType


class ForkSafeLock:
    """A lock for objects that live as long as the process; `with lock:` admits one thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_anew)

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
        self._lock.release()

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
