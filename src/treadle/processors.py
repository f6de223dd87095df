"""The number of processors this process may use: its affinity, limited by its cgroup quota.

A container's share is a quota of its cgroup, which the processor count does not show: with 64
processors and a quota of two, 64 threads run for a thirtieth of the time and wait otherwise.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["cgroup_folders", "processor_count", "quota"]

_ROOT, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def processor_count() -> int:
    """The number of processors this process may use, at least 1."""
    count = _runnable()
    limit = quota()
    return count if limit is None else max(1, min(count, math.ceil(limit)))


def quota(root: Path = _ROOT, own: Path = _OWN) -> float | None:
    """The quota of this process's cgroup, or one above it, in processors; None: unlimited.

    Read at the time of the call: `cpu.max` of version 2, `cpu.cfs_quota_us` and `cpu.cfs_period_us`
    of version 1. Paths of other cgroup namespaces are left out.
    """
    found = [
        limit
        for folder in cgroup_folders("cpu", root, own)
        if (limit := _limit(folder)) is not None
    ]
    return min(found, default=None)


def _runnable() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cgroup_folders(controller: str, root: Path = _ROOT, own: Path = _OWN) -> Iterator[Path]:
    """The folders of a controller for the process's cgroup and its ancestors."""
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        names = controllers.split(",")
        if controllers and controller not in names:
            continue
        top = root / controller if controllers else root
        yield top
        folder = top
        for part in Path(path.lstrip("/")).parts:
            folder = folder / part
            yield folder


def _limit(folder: Path) -> float | None:
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        allowed, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        return None if allowed == "max" else int(allowed) / int(period)
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        allowed = (folder / "cpu.cfs_quota_us").read_text(encoding="ascii")
        period = (folder / "cpu.cfs_period_us").read_text(encoding="ascii")
        return int(allowed) / int(period) if int(allowed) > 0 else None
    return None
