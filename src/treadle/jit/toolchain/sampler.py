"""Samples the position of a thread in machine code, by a timer of its own.

A timer of Linux sends SIGPROF to one thread. The handler is machine code without Python: it copies
the instruction pointer and the newest words of the stack, among which are return addresses, to an
array. No other process and no privilege is needed.

    with Sampler.started(microseconds=100) as sampler:
        ...
    sampler.samples()             int64[samples, 129]
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from treadle.jit.toolchain import symbols

STACK_WORDS = 128
MOST_SAMPLES = 8192
_HEAD_WORDS = 2
_ROW_WORDS = 1 + STACK_WORDS
_CLOCK_MONOTONIC, _THREAD_ID = 1, 4
_SIGINFO, _ONSTACK, _RESTART = 4, 0x08000000, 0x10000000
_HANDLER = f"""
define void @record_sample(i32 %signal, ptr %info, ptr %state) {{
start:
  %code_at = getelementptr i8, ptr %info, i64 8
  %code = load i32, ptr %code_at
  %is_timer = icmp eq i32 %code, -2
  br i1 %is_timer, label %count, label %out
count:
  %record_at = getelementptr i8, ptr %info, i64 24
  %record = load ptr, ptr %record_at
  %done = load i64, ptr %record
  %next = add i64 %done, 1
  store i64 %next, ptr %record
  %most_at = getelementptr i64, ptr %record, i64 1
  %most = load i64, ptr %most_at
  %fits = icmp ult i64 %done, %most
  br i1 %fits, label %write, label %out
write:
  %row = mul i64 %done, {_ROW_WORDS}
  %first = add i64 %row, {_HEAD_WORDS}
  %to = getelementptr i64, ptr %record, i64 %first
  %position_at = getelementptr i8, ptr %state, i64 168
  %position = load i64, ptr %position_at
  store i64 %position, ptr %to
  %stack_at = getelementptr i8, ptr %state, i64 160
  %stack = load ptr, ptr %stack_at
  %rest = getelementptr i64, ptr %to, i64 1
  br label %copy
copy:
  %k = phi i64 [0, %write], [%k_next, %copy]
  %from = getelementptr i64, ptr %stack, i64 %k
  %word = load volatile i64, ptr %from
  %into = getelementptr i64, ptr %rest, i64 %k
  store i64 %word, ptr %into
  %k_next = add i64 %k, 1
  %more = icmp ult i64 %k_next, {STACK_WORDS}
  br i1 %more, label %copy, label %out
out:
  ret void
}}
"""
"""The offsets are those of `siginfo_t` (code, value) and `ucontext_t` (RSP, RIP), x86-64 Linux."""


class _Action(ctypes.Structure):
    """`struct sigaction` of the C library."""

    _fields_ = (
        ("handler", ctypes.c_void_p), ("mask", ctypes.c_byte * 128), ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )  # fmt: skip


class _Event(ctypes.Structure):
    """`struct sigevent`."""

    _fields_ = (
        ("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("notify", ctypes.c_int),
        ("thread", ctypes.c_int), ("rest", ctypes.c_byte * 44),
    )  # fmt: skip


class _Times(ctypes.Structure):
    """`struct itimerspec`: the period and the first time, seconds and nanoseconds each."""

    _fields_ = (("period", ctypes.c_long * 2), ("first", ctypes.c_long * 2))


@dataclass(eq=False, slots=True)
class Sampler:
    """The samples of one thread; `record` is their number, the room for them, and the samples."""

    record: np.ndarray = field(
        default_factory=lambda: np.zeros(_HEAD_WORDS + MOST_SAMPLES * _ROW_WORDS, np.int64)
    )

    def __post_init__(self) -> None:
        """Without samples."""
        self.record[1] = MOST_SAMPLES

    @classmethod
    @contextmanager
    def started(cls, microseconds: float) -> Iterator[Sampler | None]:
        """Sample the calling thread until the block ends; None where that cannot be done.

        It cannot on other systems and processors than x86-64 Linux, and while another handler of
        SIGPROF is installed, such as another profiler's.
        """
        library, handler = _library(), _handler()
        before = _Action()
        if library is None or library.sigaction(signal.SIGPROF, None, ctypes.byref(before)):
            yield None
            return
        own = _Action(handler, flags=_SIGINFO | _ONSTACK | _RESTART)
        sampler, timer = cls(), ctypes.c_void_p()
        asked = _Event(
            sampler.record.ctypes.data, signal.SIGPROF, _THREAD_ID, threading.get_native_id()
        )
        is_free = not before.handler
        if not is_free or library.timer_create(
            _CLOCK_MONOTONIC, ctypes.byref(asked), ctypes.byref(timer)
        ):
            yield None
            return
        library.sigaction(signal.SIGPROF, ctypes.byref(own), None)
        wait = (ctypes.c_long * 2)(*divmod(int(microseconds * 1000), 10**9))
        try:
            library.timer_settime(timer, 0, ctypes.byref(_Times(wait, wait)), None)
            yield sampler
        finally:
            library.timer_delete(timer)
            library.sigaction(signal.SIGPROF, ctypes.byref(_Action(_IGNORED)), None)
            library.sigaction(signal.SIGPROF, ctypes.byref(before), None)

    @property
    def count(self) -> int:
        """The number of samples so far."""
        return min(int(self.record[0]), MOST_SAMPLES)

    def samples(self) -> np.ndarray:
        """A row for each sample: the instruction pointer, and the newest words of the stack."""
        rows = self.record[_HEAD_WORDS:].reshape(-1, _ROW_WORDS)
        return rows[: self.count].copy()


_IGNORED = 1
"""SIG_IGN: installing it discards a signal that has been sent and not yet delivered."""


@cache
def _library() -> Any:
    """The C library; None where it has no such timers."""
    if not symbols.is_possible():
        return None
    library = ctypes.CDLL(None, use_errno=True)
    return library if hasattr(library, "timer_create") else None


@cache
def _handler() -> int:
    from treadle.jit.toolchain import llvm

    if _library() is None:
        return 0
    data = llvm.quick_object_code(_HANDLER)
    return llvm.library(data, ["record_sample"])["record_sample"]
