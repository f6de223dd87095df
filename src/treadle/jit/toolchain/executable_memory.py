"""Memory pages for machine code: first writable, then executable, never both at once.

Pages are freed with the last reference. x86-64 needs no flush of the instruction cache.
"""

from __future__ import annotations

import ctypes
import mmap

from treadle.jit.toolchain.symbols import Unrunnable, address

SIZE = mmap.PAGESIZE


def writable(size: int) -> tuple[mmap.mmap, int]:
    """Writable pages filled with zeros, and their address."""
    try:
        flags, access = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE
        memory = mmap.mmap(-1, max(size, 1), flags=flags, prot=access)
    except OSError as error:
        raise Unrunnable(f"no memory for machine code: {error}") from error
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def make_executable(memory: mmap.mmap, pointer: int) -> None:
    """Make the pages executable and read-only: a write to them then ends the process."""
    if _PROTECT(address("mprotect"))(pointer, len(memory), mmap.PROT_READ | mmap.PROT_EXEC):
        raise Unrunnable("this system does not allow memory to be written and then executed")


def executable(content: bytes) -> tuple[mmap.mmap, int]:
    """A position-independent piece of machine code, and its address."""
    memory, address = writable(len(content))
    memory[: len(content)] = content
    make_executable(memory, address)
    return memory, address


_PROTECT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
