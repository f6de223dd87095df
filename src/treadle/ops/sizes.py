"""How many bytes a result has whose size hangs on the values of operands, before it is made.

What is larger than the memory of the machine, or of its cgroup, is an error and not an attempt: the
system would end the process half-way.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

Count = Callable[[Sequence[Any]], float]
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_SCALES, _SIZES = 2, 3


def result_bytes(op: str) -> Count | None:
    """What counts the bytes of the operator's result, at least; None: values do not size it."""
    return _COUNTS.get(op)


@cache
def memory_of_machine() -> float:
    """The bytes of memory this process may ever have; endless where the system does not tell."""
    found = [float("inf")]
    with contextlib.suppress(AttributeError, ValueError, OSError):
        found.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    for path in _CGROUPS:
        with contextlib.suppress(OSError, ValueError):
            found.append(float(Path(path).read_text()))
    return min(found)


def _shape(operands: Sequence[Any]) -> float:
    return _product(operands[0])  # of one byte an element: the dtype is an attribute


def _expand(operands: Sequence[Any]) -> float:
    shape = [1] * len(operands[1]) + [*operands[0].shape]
    own = shape[len(shape) - max(len(operands[1]), operands[0].ndim) :]
    wanted = [1] * (len(own) - len(operands[1])) + [int(n) for n in operands[1]]
    extents = (max(a, b) if a and b else 0 for a, b in zip(own, wanted, strict=True))
    return float(prod(extents)) * operands[0].itemsize


def _tile(operands: Sequence[Any]) -> float:
    return operands[0].nbytes * _product(operands[1])


def _resize(operands: Sequence[Any]) -> float:
    given = (*operands, None, None, None)
    if given[_SIZES] is not None and given[_SIZES].size:
        return _product(given[_SIZES]) * operands[0].itemsize
    scales = given[_SCALES]
    return 0 if scales is None else operands[0].nbytes * _product(scales)


def _product(numbers: Any) -> float:
    return float(np.prod(np.maximum(np.asarray(numbers, np.float64), 0)))


_COUNTS: Mapping[str, Count] = {
    "ConstantOfShape": _shape,
    "Expand": _expand,
    "Tile": _tile,
    "Resize": _resize,
}
