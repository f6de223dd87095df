"""Tests a library under failures and at limits: the right status, and no leaked memory.

    python -m tools.build_models FOLDER        does this to every model

Memory that fails, the kernel's and the caller's; a poll that stops; bounds; inputs that do not fit;
trip counts and lengths of 0, 1, 2 and 5, whose outputs are those of treadle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

import treadle
from tests.build.counting import Counting
from tests.build.host import Memory
from treadle.jit import FreeKernel
from treadle.report import compare

MEMORY, STOPPED, UNFIT, ITERATIONS, BYTES = 2, 4, 5, 7, 8
EXTENTS = (0, 1, 2, 5)
_MOST = 24


def stressed(
    loaded: Counting, session: Any, kernels: Sequence[FreeKernel], arrays: Sequence[np.ndarray]
) -> tuple[str, ...]:
    """What is wrong, a line each."""
    count = len(session.get_outputs())
    return (
        *_failing(loaded, arrays, count),
        *_unfit(loaded, arrays, count),
        *_edges(loaded, session, kernels, arrays, count),
    )


def _failing(loaded: Counting, arrays: Sequence[np.ndarray], count: int) -> Iterator[str]:
    loaded.fail_after(-1)
    memory = Memory()
    wanted = loaded.call(arrays, count, memory=memory)[0]
    asked, grown = loaded.asked, memory.asked
    yield from _told(loaded, "a run", wanted, (wanted,))
    for fails in range(min(asked, _MOST)):
        loaded.fail_after(fails)
        yield from _told(loaded, f"memory {fails}", loaded.call(arrays, count)[0], (MEMORY,))
    loaded.fail_after(-1)
    for fails in range(grown):
        status = loaded.call(arrays, count, memory=Memory(fails))[0]
        yield from _told(loaded, f"grow {fails}", status, (MEMORY,))
    for stops in range(3):
        polls = iter(range(stops + 1))
        status = loaded.call(arrays, count, poll=lambda _, p=polls: next(p, None) is None)[0]
        yield from _told(loaded, f"poll {stops}", status, (STOPPED, wanted))
    status = loaded.call(arrays, count, poll=lambda _: 1)[0]
    yield from _told(loaded, "poll at once", status, (STOPPED, wanted))
    for bounds in ({"iterations": 1}, {"bytes_": 1}):
        status = loaded.call(arrays, count, **bounds)[0]
        yield from _told(loaded, str(bounds), status, (ITERATIONS, BYTES, wanted))


def _told(loaded: Counting, what: str, status: int, allowed: Sequence[int]) -> Iterator[str]:
    if status not in allowed:
        yield f"{what}: status {status}, wanted {allowed[0]}"
    if loaded.held:
        yield f"{what}: {loaded.held} blocks of memory are left held"
        loaded._word("held").value = 0


def _unfit(loaded: Counting, arrays: Sequence[np.ndarray], count: int) -> Iterator[str]:
    for number, array in enumerate(arrays):
        other = np.int8 if array.dtype != np.int8 else np.int16
        for what, wrong in (
            ("a rank more", np.zeros((*array.shape, 1), array.dtype)),
            ("another element type", np.zeros(array.shape, other)),
        ):
            given = [wrong if k == number else each for k, each in enumerate(arrays)]
            yield from _told(loaded, what, loaded.call(given, count)[0], (UNFIT,))


def _edges(
    loaded: Counting,
    session: Any,
    kernels: Sequence[FreeKernel],
    arrays: Sequence[np.ndarray],
    count: int,
) -> Iterator[str]:
    kernel = kernels[-1]
    trips = sorted({position for each in kernels for position in each.trips.values()})
    groups: dict[Any, list[tuple[int, int]]] = {}
    for axis, extent in kernel.open_axes.items():
        groups.setdefault(extent, []).append(axis)
    choices = [*([(position, None)] for position in trips), *([(None, g)] for g in groups.values())]
    for values in product(EXTENTS, repeat=min(len(choices), 2)):
        given = list(arrays)
        for ((position, axes),), value in zip(choices, values, strict=False):
            if position is not None:
                given[position] = np.full_like(given[position], value)
            for number, axis in axes or ():
                given[number] = _resized(given[number], axis, value)
        yield from _same(loaded, session, given, count, f"trips and lengths {values}")


def _resized(array: np.ndarray, axis: int, extent: int) -> np.ndarray:
    """The array with an axis of another extent, its items again and again."""
    places = np.arange(extent) % max(array.shape[axis], 1)
    if not array.shape[axis]:
        return np.zeros((*array.shape[:axis], extent, *array.shape[axis + 1 :]), array.dtype)
    return np.ascontiguousarray(np.take(array, places, axis))


def _same(
    loaded: Counting, session: Any, arrays: Sequence[np.ndarray], count: int, what: str
) -> Iterator[str]:
    names = [each.name for each in session.get_inputs()]
    status, found = loaded.call(arrays, count)
    yield from _told(loaded, what, status, (status,))
    try:
        wanted = session.run(None, dict(zip(names, arrays, strict=True)))
    except treadle.InputError:
        return  # the model tells an extent that kernels leave open
    except treadle.TreadleError as error:
        if not status:
            yield f"{what}: right, where treadle says: {error}"
        return
    if status:
        yield f"{what}: {loaded.reason(status)}"
        return
    keys = [str(number) for number in range(count)]
    differences = compare(dict(zip(keys, found, strict=True)), dict(zip(keys, wanted, strict=True)))
    yield from (f"{what}: {each}" for each in differences[:1])
