"""What this process may use of the machine: processors and memory, limited by its cgroup.

A container's share of the processors is a quota of its cgroup, which the processor count does not
show: with 64 processors and a quota of two, 64 threads run for a thirtieth of the time and wait
otherwise.

An allocation alone fills no memory, so a system that promises more than it has grants it, and kills
the process once the pages are written. Whoever is about to allocate much asks here first. What is
left is read from the system, which takes 50 microseconds: for `LARGE` values only, which take a
hundred times as long to fill.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from functools import cache
from math import inf
from typing import NamedTuple

StrPath = str | os.PathLike[str]

__all__ = [
    "LARGE", "cgroup_folders", "free_memory", "memory_of_machine", "processor_count", "quota",
    "refusal", "resident_memory", "shortage",
]  # fmt: skip

LARGE = 2**26
"""The bytes of a value from which it is held against the memory that is left."""
_ROOT, _OWN = "/sys/fs/cgroup", "/proc/self/cgroup"
_MEMORY, _RESIDENT = "/proc/meminfo", "/proc/self/statm"


class _Files(NamedTuple):
    """The files of a cgroup with its limit and the bytes it has taken.

    `returnable` are the lines of its memory.stat for pages of files, which the system takes back.
    """

    limit: str
    taken: str
    returnable: tuple[str, ...]


_FILES = (
    _Files("memory.max", "memory.current", ("inactive_file", "active_file")),
    _Files(
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_inactive_file", "total_active_file"),
    ),
)
"""Of version 2, and of version 1."""


@cache
def memory_of_machine() -> float:
    """The bytes of memory this process may use; infinite if the system does not tell."""
    return min([_physical(), *(limit for limit, *_ in _limits())])


def free_memory(root: StrPath = _ROOT, own: StrPath = _OWN, info: StrPath = _MEMORY) -> float:
    """The bytes that are left, read at the time of the call; infinite if the system does not tell.

    Of the machine these are available memory and free swap space.
    """
    found = inf
    with contextlib.suppress(OSError, ValueError, KeyError):
        numbers = _numbers(info)
        found = 1024 * (numbers["MemAvailable:"] + numbers.get("SwapFree:", 0.0))
    return min([found, *(_left(*given) for given in _limits(str(root), str(own)))])


def resident_memory(own: StrPath = _RESIDENT) -> float:
    """The bytes of memory that this process has filled; 0 if the system does not tell."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return float(_text(own).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0.0


def refusal(size: float, bound: float = inf, held: float = 0) -> str:
    """Why a value of this size is not to be made, `held` bytes of which are there; "" if it is.

    `bound` is a run's `max_bytes`.
    """
    if size > bound:
        return f"{size:.3g} bytes are needed, over max_bytes={bound}"
    there = shortage(size - held)
    if there is None:
        return ""
    return f"{size - held:.3g} bytes are needed, of memory there are {there:.3g}"


def shortage(size: float) -> float | None:
    """The bytes that there are for a value of this size; None if they suffice, or it is small."""
    most = memory_of_machine()
    if size <= LARGE and size <= most:
        return None
    there = most if size > most else free_memory()
    return there if size > there else None


@cache
def _physical() -> float:
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return inf


@cache
def _limits(root: str = _ROOT, own: str = _OWN) -> list[tuple[float, str, _Files]]:
    """The limits of the process's cgroups that are below the machine's memory, read once."""
    found = []
    for folder in cgroup_folders("memory", root, own):
        for files in _FILES:
            with contextlib.suppress(OSError, ValueError):
                limit = float(_text(f"{folder}/{files.limit}"))
                found.append((limit, folder, files))
    return [each for each in found if each[0] < _physical()]


def _left(limit: float, folder: str, files: _Files) -> float:
    with contextlib.suppress(OSError, ValueError):
        taken = float(_text(f"{folder}/{files.taken}"))
        numbers = _numbers(f"{folder}/memory.stat")
        return limit - taken + sum(numbers.get(each, 0.0) for each in files.returnable)
    return limit


def _numbers(file: StrPath) -> dict[str, float]:
    """The first number of each line, by the word before it."""
    lines = (line.split() for line in _text(file).splitlines())
    return {line[0]: float(line[1]) for line in lines if len(line) > 1}


def processor_count() -> int:
    """The number of processors this process may use, at least 1."""
    count = _runnable()
    limit = quota()
    return count if limit is None else max(1, min(count, math.ceil(limit)))


def quota(root: StrPath = _ROOT, own: StrPath = _OWN) -> float | None:
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


def cgroup_folders(controller: str, root: StrPath = _ROOT, own: StrPath = _OWN) -> Iterator[str]:
    """The folders of a controller for the process's cgroup and its ancestors."""
    try:
        lines = _text(own).splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        names = controllers.split(",")
        if controllers and controller not in names:
            continue
        folder = f"{root}/{controller}" if controllers else str(root)
        yield folder
        for part in filter(None, path.split("/")):
            folder = f"{folder}/{part}"
            yield folder


def _text(file: StrPath) -> str:
    """The text of a file of the system."""
    with open(file, "rb", buffering=0) as opened:
        return opened.read().decode()


def _limit(folder: str) -> float | None:
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        allowed, period = _text(f"{folder}/cpu.max").split()
        return None if allowed == "max" else int(allowed) / int(period)
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        allowed = _text(f"{folder}/cpu.cfs_quota_us")
        period = _text(f"{folder}/cpu.cfs_period_us")
        return int(allowed) / int(period) if int(allowed) > 0 else None
    return None
