"""The addresses of functions that machine code calls by name."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from functools import cache
from math import inf

from treadle import machine
from treadle.jit.kernel.declined import Declined

MACHINE = "x86_64"
HAS_ROOM = "treadle_has_room"
"""The function (bytes, bytes held) -> bool that kernels in Python ask before they allocate much."""
POLL_FUNCTION = "treadle_poll"
"""The function (poll, thread state) -> thread state by which they poll (`codegen/safepoint.py`)."""


class _Room(threading.local):
    """What the run on this thread may allocate at once, and why it was refused more."""

    bound: float = inf
    refusal: str = ""
    interrupt: BaseException | None = None


ROOM = _Room()


def has_room(size: int, held: int) -> bool:
    """Whether a kernel may have this many bytes, `held` of which it has."""
    try:
        ROOM.refusal = machine.refusal(size, ROOM.bound, held)
    except BaseException as interrupt:  # noqa: BLE001  raised once machine code has ended
        ROOM.interrupt = interrupt
        return False
    return not ROOM.refusal


_CALLED = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_uint64, ctypes.c_uint64)(has_room)
SYMBOLS = {HAS_ROOM: ctypes.cast(_CALLED, ctypes.c_void_p).value or 0}
"""Functions that machine code may call besides the C library and Python, by name."""
_MATH = "libm.so.6"


class Unlinkable(Exception):
    """An object file is inconsistent, or has a construct that the loader does not support."""


class Unrunnable(Declined):
    """No loader could load the code: this process lacks a symbol."""


@cache
def is_possible() -> bool:
    """Whether this process runs on x86-64 Linux, where machine code is loaded without LLVM."""
    is_linux = sys.platform.startswith("linux") and sys.maxsize > 2**32
    return is_linux and os.uname().machine == MACHINE


def address(name: str) -> int:
    """The address of a function; raises Unrunnable."""
    pointer = SYMBOLS.get(name) or _found(name)
    if not pointer:
        raise Unrunnable(f"a function that this process does not have: {name}")
    return pointer


@cache
def _found(name: str) -> int:
    for library in _libraries():
        try:
            return ctypes.cast(library[name], ctypes.c_void_p).value or 0
        except AttributeError:
            continue
    return 0


@cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    """The libraries to search: the loaded ones, including Python, and the math library."""
    loaded = ctypes.CDLL(None)
    try:
        return loaded, ctypes.CDLL(_MATH)
    except OSError:  # there is none besides the C library
        return (loaded,)
