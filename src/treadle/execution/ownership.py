"""Ownership of results: the caller may write to every result it receives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle.plan import BlockPlan


def returns_fresh_arrays(main: BlockPlan) -> bool:
    """Whether all results come from one region, once each, in memory that nobody else holds."""
    results = main.block.results
    runnable = main.regions[0].runnable if len(main.regions) == 1 else None
    if runnable is None or not runnable.traits.returns_fresh_arrays:
        return False
    return len({*results}) == len(results) and {*results} <= {*main.regions[0].outputs}


def owned(results: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Copy the results that share memory with an input, a constant or another result."""
    taken = {id(_owner(array)) for array in _arrays(inputs)}
    return [_own(result, taken) for result in results]


def _own(value: Any, taken: set[int]) -> Any:
    """The value, or a copy of it if other code may write to its memory."""
    if isinstance(value, list):
        return [_own(item, taken) for item in value]
    if not isinstance(value, np.ndarray):
        return value
    owner = value if value.base is None else _owner(value)
    if id(owner) in taken or not value.flags.writeable:
        return value.copy()
    taken.add(id(owner))
    return value


def _owner(array: Any) -> Any:
    """The object that owns the array's memory."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def _arrays(values: Sequence[Any]) -> list[np.ndarray]:
    """All arrays among the values, including those inside lists."""
    found: list[np.ndarray] = []
    for value in values:
        if isinstance(value, np.ndarray):
            found.append(value)
        elif isinstance(value, list):
            found += _arrays(value)
    return found
