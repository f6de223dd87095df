"""Limits for loading a model: nodes, depth, bytes and time.

`within` opens a budget for its block, in one thread; functions that read, infer, rewrite and write
models check it as they go. Without a budget there are no limits.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from operator import index
from pathlib import Path
from typing import IO

from treadle.arguments import brief, expect, naming_fields
from treadle.errors import InputError, InputTypeError, LoadLimitExceeded

__all__ = [
    "LoadLimits",
    "expect_size",
    "freeze_in_fork",
    "making",
    "poll",
    "read_stream",
    "read_whole",
    "remaining_seconds",
    "spend",
    "within",
    "within_load_limits",
    "without_collection",
]

_PIECE, _LONGEST_STREAM = 2**24, 2**31


@naming_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLimits:
    """Limits of loading a model; None: unlimited.

    `nodes` of the whole model, those of bodies included, each call of a function counted as the
    nodes of that function; `depth` of bodies and calls within each other; `bytes` of the file, its
    external data and sparse tensors written out; `seconds` from the start of the call. Exceeding
    one raises LoadLimitExceeded, which names it. `seconds` is checked between steps of the work, so
    the current step is finished first.
    """

    nodes: int | None = 1_000_000
    depth: int | None = 100
    bytes: int | None = 2**40
    seconds: float | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            _expect(each.name, getattr(self, each.name))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the limits."""
        return tuple(each.name for each in fields(cls))


@dataclass(slots=True)
class _Budget:
    """The remaining part of the limits."""

    limits: LoadLimits
    started: float = field(default_factory=time.monotonic)
    bytes: int = 0


_current: ContextVar[_Budget | None] = ContextVar("treadle_load_budget", default=None)


def within_load_limits(options: object) -> AbstractContextManager[None]:
    """Apply the load limits in a session's options to the making of a program."""
    return within(getattr(options, "load_limits", None))


@contextmanager
def within(limits: LoadLimits | None) -> Iterator[None]:
    """Apply the limits to the block.

    Inside a block with the same limits, or if none are given, the outer budget continues.
    """
    if limits is not None:
        expect(limits, LoadLimits, "limits", "a treadle.LoadLimits or None")
    around = _current.get()
    if around is not None and limits in (None, around.limits):
        yield
        return
    token = _current.set(_Budget(limits or _DEFAULTS))
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def making(limits: LoadLimits | None) -> Iterator[None]:
    """Hold what rewrites a model to the limits; Python's collector of cycles rests meanwhile."""
    with within(limits), without_collection():
        yield


def poll() -> None:
    """Raise LoadLimitExceeded if the time is over."""
    budget = _current.get()
    if budget is None or budget.limits.seconds is None:
        return
    if time.monotonic() - budget.started > budget.limits.seconds:
        raise _exceeded("seconds", "loading the model takes longer", budget.limits.seconds)


def remaining_seconds() -> float | None:
    """The seconds left, at least 0; None if the time is unlimited."""
    budget = _current.get()
    if budget is None or budget.limits.seconds is None:
        return None
    return max(0.0, budget.limits.seconds - (time.monotonic() - budget.started))


def spend(size: int, what: str) -> None:
    """Count bytes about to be read or allocated; raises LoadLimitExceeded over the limit."""
    budget = _current.get()
    if budget is None or budget.limits.bytes is None:
        return
    budget.bytes += size
    if budget.bytes > budget.limits.bytes:
        raise _exceeded(
            "bytes", f"{what} brings the model to {budget.bytes} bytes", budget.limits.bytes
        )


def read_whole(path: Path) -> bytes:
    """The bytes of a file, counted before they are read; of a pipe or device, at most 2 GiB.

    Raises OSError, and LoadLimitExceeded over the limit.
    """
    if path.is_file():
        spend(path.stat().st_size, f'"{path}"')
        return path.read_bytes()
    with path.open("rb") as file:
        return read_stream(file, f'"{path}"')


def read_stream(file: IO[bytes], what: str) -> bytes:
    """The bytes of a stream that may have no end; raises LoadLimitExceeded over 2 GiB."""
    pieces, size = [], 0
    while piece := file.read(_PIECE):
        size += len(piece)
        spend(len(piece), what)
        if size > _LONGEST_STREAM:
            raise LoadLimitExceeded(
                f"{what} goes on after {_LONGEST_STREAM} bytes, which no ONNX model has in one"
                " file; write it to a file, with external data"
            )
        pieces.append(piece)
    return b"".join(pieces)


def expect_size(nodes: int, depth: int) -> None:
    """Raise LoadLimitExceeded for a model with more nodes or deeper nesting than allowed."""
    budget = _current.get()
    limits = LoadLimits(nodes=None, depth=None) if budget is None else budget.limits
    if limits.nodes is not None and nodes > limits.nodes:
        raise _exceeded("nodes", f"the model has {_shown(nodes)} nodes", limits.nodes)
    if limits.depth is not None and depth > limits.depth:
        raise _exceeded("depth", f"bodies and calls are nested {depth} deep", limits.depth)


def _exceeded(name: str, found: str, most: float) -> LoadLimitExceeded:
    return LoadLimitExceeded(
        f"{found}, at most {name}={most} are allowed; raise LoadLimits.{name}"
        f" (--limit {name}=N) if the model is to be trusted"
    )


def _shown(count: int) -> str:
    return str(count) if count < 10**12 else f"about 10^{len(str(count)) - 1}"


def _expect(name: str, value: object) -> None:
    if value is None:
        return
    try:
        number = float(value) if name == "seconds" else index(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        given = f"{brief(value)} ({type(value).__name__})"
        raise InputTypeError(f"LoadLimits.{name} is {given}, wanted a number or None") from None
    if isinstance(value, bool) or not number >= 0:
        raise InputError(f"LoadLimits.{name} is {brief(value)}, wanted a number from 0 on or None")


_DEFAULTS = LoadLimits()


@dataclass(slots=True)
class _Collector:
    """What the pauses of the cycle collector have left to it.

    `pending` objects went to the oldest generation uncounted since its last collection, which was
    the one of number `collections`; a pause that begins with more than `due` of them collects
    first. `is_foreign`: the process has frozen objects itself.
    """

    pending: int = 0
    collections: int = 0
    due: int = 200_000
    is_foreign: bool = False


_collector = _Collector()
_LEAST_DUE = _collector.due
_FROZEN_BY_PYTHON = 1_000
"""Python 3.12 begins with 375 frozen objects; a process that freezes its own has more."""
_PART = 4
"""A full collection is due once a quarter of all objects is pending, as Python's own rule is."""


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause Python's cycle collector, which takes half the time and finds no cycles here.

    The new objects are moved to the oldest generation, or the next collection would scan them; not
    in a process that has frozen objects itself, which would thaw. Once frozen ones were seen they
    are not counted again: counting a large heap takes milliseconds. Objects of a load that fails
    stay young, since its exception may be in a cycle; the cycles of others, which moved too, are
    collected when many objects have moved.
    """
    was_enabled = gc.isenabled()
    if was_enabled:
        _collect_if_due()
    gc.disable()
    try:
        yield
        if was_enabled and not _collector.is_foreign:
            _move_to_oldest()
    finally:
        if was_enabled:
            gc.enable()


def freeze_in_fork() -> None:
    """Freeze all objects of a forked process; no pause thaws them."""
    gc.freeze()
    _collector.is_foreign = True


def _collect_if_due() -> None:
    """Collect what earlier pauses have left, so that none pays for its own objects."""
    collections = gc.get_stats()[-1]["collections"]
    if collections != _collector.collections:
        _collector.pending, _collector.collections = 0, collections
    if _collector.pending > _collector.due:
        gc.collect()


def _young() -> int:
    """The objects that are not in the oldest generation, at most: other threads make some too.

    The youngest generation is collected when its count of new objects reaches its threshold; each
    older one, when its count of collections of the younger one does.
    """
    made, size = 0, 1
    for count, threshold in zip(gc.get_count(), gc.get_threshold(), strict=True):
        made, size = made + count * size, size * max(threshold, 1)
    return made


def _move_to_oldest() -> None:
    if gc.get_freeze_count() > _FROZEN_BY_PYTHON:
        _collector.is_foreign = True
        return
    _collector.pending += _young()
    gc.freeze()
    if _collector.pending > _collector.due:
        _collector.due = max(_LEAST_DUE, gc.get_freeze_count() // _PART)
    gc.unfreeze()
