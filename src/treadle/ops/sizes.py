"""Predicts the bytes of results whose size depends on values of operands.

A result larger than the memory of the machine, or of its cgroup, is reported as an error before it
is allocated: otherwise the system would kill the process.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

Count = Callable[[Sequence[Any]], float]
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_SCALES, _SIZES = 2, 3
_AXES = 3


def result_bytes(op: str) -> Count | None:
    """The function that computes a lower bound of the result's bytes.

    None if values do not size it.
    """
    return _COUNTS.get(op)


@cache
def memory_of_machine() -> float:
    """The bytes of memory this process may use; infinite if the system does not tell."""
    found = [float("inf")]
    with contextlib.suppress(AttributeError, ValueError, OSError):
        found.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    for path in _CGROUPS:
        with contextlib.suppress(OSError, ValueError):
            found.append(float(Path(path).read_text()))
    return min(found)


def _shape(operands: Sequence[Any]) -> float:
    return _product(operands[0])  # counts one byte per element: the dtype is an attribute


def _expand(operands: Sequence[Any]) -> float:
    shape = [1] * len(operands[1]) + [*operands[0].shape]
    own = shape[len(shape) - max(len(operands[1]), operands[0].ndim) :]
    wanted = [1] * (len(own) - len(operands[1])) + [int(n) for n in operands[1]]
    extents = [max(a, b) if a and b else 0 for a, b in zip(own, wanted, strict=True)]
    return _product(extents) * operands[0].itemsize


def _tile(operands: Sequence[Any]) -> float:
    return operands[0].nbytes * _product(operands[1])


def _resize(operands: Sequence[Any]) -> float:
    given = (*operands, None, None, None)
    if given[_SIZES] is not None and given[_SIZES].size:
        return _product(given[_SIZES]) * operands[0].itemsize
    scales = given[_SCALES]
    return 0 if scales is None else operands[0].nbytes * _product(scales)


def _range(operands: Sequence[Any]) -> float:
    start, limit, delta = (float(np.asarray(each).reshape(())) for each in operands)
    return max(0.0, (limit - start) / delta) * operands[0].itemsize if delta else 0


def _pad(operands: Sequence[Any]) -> float:
    pads = [int(n) for n in operands[1]]
    rank = len(pads) // 2
    if any(each is not None for each in operands[_AXES:]) or rank != operands[0].ndim:
        return 0  # with explicit axes the kernel checks them
    extents = (n + pads[k] + pads[k + rank] for k, n in enumerate(operands[0].shape))
    return _product(list(extents)) * operands[0].itemsize


def _one_hot(operands: Sequence[Any]) -> float:
    depth = float(np.asarray(operands[1]).reshape(-1)[0])
    return operands[0].size * max(depth, 0.0) * operands[2].itemsize


def _mel_weights(operands: Sequence[Any]) -> float:
    bands, length = (float(np.asarray(each).reshape(-1)[0]) for each in operands[:2])
    return max(bands, 0.0) * max(length / 2 + 1, 0.0) * 4  # float32 or wider


def _product(numbers: Any) -> float:
    """The product of extents, 0 if one is not positive; infinite beyond float64."""
    extents = np.maximum(np.asarray(numbers, np.float64), 0)
    if not extents.all():
        return 0.0
    with np.errstate(over="ignore"):
        return float(np.prod(extents))


_COUNTS: Mapping[str, Count] = {
    "ConstantOfShape": _shape,
    "Expand": _expand,
    "MelWeightMatrix": _mel_weights,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Range": _range,
    "Tile": _tile,
    "Resize": _resize,
}
