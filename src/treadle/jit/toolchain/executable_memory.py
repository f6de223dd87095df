"""Pages of memory that machine code runs in: written first, then run, never both at once.

A page is given back when nobody holds what was made of it. x86-64 needs no word that code has
changed.
"""

from __future__ import annotations

import ctypes
import mmap

from treadle.jit.toolchain.symbols import Unrunnable, address

SIZE = mmap.PAGESIZE


def writable(size: int) -> tuple[mmap.mmap, int]:
    """Pages that can be written, all zero, and where they are."""
    try:
        flags, access = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE
        memory = mmap.mmap(-1, max(size, 1), flags=flags, prot=access)
    except OSError as error:
        raise Unrunnable(f"no memory for machine code: {error}") from error
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def make_executable(memory: mmap.mmap, place: int) -> None:
    """Have the pages read and run, and written no more: who writes there ends the process."""
    if _PROTECT(address("mprotect"))(place, len(memory), mmap.PROT_READ | mmap.PROT_EXEC):
        raise Unrunnable("this system lets no memory be written and then executed")


def executable(content: bytes) -> tuple[mmap.mmap, int]:
    """A piece of machine code that refers to nothing, and where it is."""
    memory, place = writable(len(content))
    memory[: len(content)] = content
    make_executable(memory, place)
    return memory, place


_PROTECT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
