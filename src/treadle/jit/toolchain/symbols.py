"""Where this process has the functions that machine code calls by name."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

from treadle.jit.kernel.node_builder import Declined

MACHINE = "x86_64"
SYMBOLS: dict[str, int] = {}
"""What machine code may call besides the C library and Python: addresses by name."""
_MATH = "libm.so.6"


class Unlinkable(Exception):
    """An object file has what the linker does not know, or what does not fit together."""


class Unrunnable(Declined):
    """No linker could make the code ready: this process lacks what it needs."""


@cache
def is_possible() -> bool:
    """Whether this process is one of x86-64 on Linux, where machine code needs no LLVM to run."""
    is_linux = sys.platform.startswith("linux") and sys.maxsize > 2**32
    return is_linux and os.uname().machine == MACHINE


def address(name: str) -> int:
    """Where the function of this name is; raises Unrunnable."""
    place = SYMBOLS.get(name) or _found(name)
    if not place:
        raise Unrunnable(f"a function that this process does not have: {name}")
    return place


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
    """Where functions are looked up: what is loaded, Python too, and the library of mathematics."""
    loaded = ctypes.CDLL(None)
    try:
        return loaded, ctypes.CDLL(_MATH)
    except OSError:  # there is none beside the C library
        return (loaded,)
