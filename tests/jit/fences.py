"""An allocator for kernels that ends every block at a protected page.

A read or write beyond a block, or of one that was given back, ends the process at once.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from treadle.jit.codegen import heap_buffer
from treadle.jit.host import array_memory
from treadle.jit.runtime import compilation
from treadle.jit.toolchain import symbols

_PAGE = mmap.PAGESIZE
_LIBRARY = ctypes.CDLL(None, use_errno=True)
_LIBRARY.mmap.restype = ctypes.c_void_p
_LIBRARY.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
_LIBRARY.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_LIBRARY.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

blocks: dict[int, tuple[int, int, int]] = {}
"""The blocks that are out: (first page, length of all pages, size)."""
given = [0]


def _give(old: int | None, size: int) -> int:
    length = -(-size // _PAGE) * _PAGE + _PAGE
    first = _LIBRARY.mmap(None, length, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    _LIBRARY.mprotect(first + length - _PAGE, _PAGE, 0)
    place = first + length - _PAGE - size
    ctypes.memset(place, 0xA5, size)
    if old:
        ctypes.memmove(place, old, min(size, blocks[old][2]))
        _take(old)
    blocks[place] = (first, length, size)
    given[0] += 1
    return int(place)


def _take(place: int | None) -> None:
    if place:
        first, length, _ = blocks.pop(place)
        _LIBRARY.munmap(first, length)


_GIVE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(_give)
_TAKE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_take)
for _name, _function in (("fenced_realloc", _GIVE), ("fenced_free", _TAKE)):
    symbols.SYMBOLS[_name] = ctypes.cast(_function, ctypes.c_void_p).value or 0


@contextmanager
def fenced() -> Iterator[None]:
    """Kernels made inside get their memory with fences; all of it must have come back."""
    before, key = list(heap_buffer.ALLOCATOR), compilation._key
    library = array_memory._library
    heap_buffer.ALLOCATOR[:] = ["fenced_realloc", "fenced_free"]
    array_memory._library = lambda: SimpleNamespace(free=_TAKE)
    compilation._key = lambda *_: None  # what is made here must not be found elsewhere
    try:
        yield
    finally:
        heap_buffer.ALLOCATOR[:] = before
        array_memory._library, compilation._key = library, key
    assert not blocks
