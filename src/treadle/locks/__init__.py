"""Locks that are open in a forked process."""

from treadle.locks.fork_safe_lock import ForkSafeLock

__all__ = ["ForkSafeLock"]
