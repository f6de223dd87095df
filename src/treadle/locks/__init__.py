"""Locks that are open in a forked process."""

from treadle.locks.fork_safe_lock import ForkSafeLock
from treadle.locks.forking import fork_outside

__all__ = ["ForkSafeLock", "fork_outside"]
