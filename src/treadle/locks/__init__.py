"""Locks and forks."""

from treadle.locks.fork_safe_lock import ForkSafeLock
from treadle.locks.forking import before_fork, fork_outside

__all__ = ["ForkSafeLock", "before_fork", "fork_outside"]
