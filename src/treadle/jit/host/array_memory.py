"""The addresses of arrays for native code, read cheaply.

`__array_interface__` takes a microsecond. An array object holds the address of its elements in a
word at a fixed offset, which is determined once; a kernel gets the address of that word. If the
offset is not found, a separate word is allocated for the array.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from math import prod
from typing import Any

import numpy as np

_POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)
_PROBES = 3
_CACHE_LINE_BYTES = 64
_KEPT_BYTES = 2**24
ROW_MAJOR = 0x1 | 0x100
"""Numpy's flags C_CONTIGUOUS and ALIGNED."""


@lru_cache(maxsize=1024)
def words_type(count: int) -> Any:
    """The ctypes type of `count` 64-bit words: a cycle of objects, which ctypes makes anew."""
    return ctypes.c_int64 * count


def address(array: Any) -> int:
    """The address of an array's elements."""
    found: int = array.__array_interface__["data"][0]
    return found


@cache
def keep_freed_memory() -> None:
    """Have the GNU C library keep memory that is freed: up to 32 MB at the end of each heap.

    By default a kernel's results, workspace and buffers return to the system after each call, and
    the next call gets new pages, which costs 2 us a page: a Scan over the columns of 512 x 512
    floats takes 1.4 ms instead of 0.2. The library's thresholds for mapping and for trimming follow
    the largest mapped block that was freed (mallopt(3), M_MMAP_THRESHOLD), so a block that nobody
    writes to is freed. Thresholds that the environment sets (MALLOC_TRIM_THRESHOLD_) stay; other C
    libraries are not affected.
    """
    np.empty(_KEPT_BYTES, np.uint8)


def in_panels(matrix: np.ndarray, width: int) -> np.ndarray:
    """Copy a matrix to panels of this many columns, in each of which the rows follow each other.

    The result has the shape (panels, rows, width), aligned to cache lines; columns that the last
    panel lacks are 0.
    """
    rows, columns = matrix.shape
    count = -(-columns // width)
    size = count * rows * width
    room = np.zeros(size + _CACHE_LINE_BYTES // matrix.itemsize, matrix.dtype)
    first = -address(room) % _CACHE_LINE_BYTES // matrix.itemsize
    made = room[first : first + size].reshape(count, rows, width)
    for number in range(count):
        part = matrix[:, number * width : (number + 1) * width]
        made[number, :, : part.shape[1]] = part
    return made


def row_major(array: np.ndarray) -> np.ndarray:
    """The array, or an aligned copy of it in row-major order."""
    if array.flags.num & ROW_MAJOR == ROW_MAJOR:
        return array
    return np.require(array, requirements=("C", "A")).reshape(array.shape)


@cache
def data_pointer_slot() -> Callable[[np.ndarray, list[Any]], int]:
    """A function that returns the address of a word with the address of an array's elements.

    Objects that must live as long as the word are appended to the list.
    """
    offset = data_offset()
    if offset is None:
        return _made
    return lambda array, keep: id(array) + offset


@cache
def data_offset() -> int | None:
    """The offset of the elements' address in an array object, in this Python and numpy."""
    arrays = [np.empty(k + 1, np.uint8) for k in range(_PROBES)]
    for offset in range(0, np.ndarray.__basicsize__, _POINTER_BYTES):
        held = (ctypes.c_size_t.from_address(id(array) + offset).value for array in arrays)
        if all(map(int.__eq__, held, map(address, arrays))):
            return offset
    return None


def _made(array: np.ndarray, keep: list[Any]) -> int:
    word = ctypes.c_size_t(address(array))
    keep.append(word)
    return ctypes.addressof(word)


@cache
def _library() -> Any:
    library = ctypes.CDLL(None)
    library.free.argtypes = [ctypes.c_void_p]
    library.free.restype = None
    return library


class AdoptedBuffer:
    """Memory whose address a kernel leaves in a slot; freed when it has no more users.

    Only this object frees it, so it is freed exactly once, even after an interrupt. Its `__del__`
    is no Python code, in which Python would raise a Ctrl-C, print it and drop it: it calls `free`
    of the C library with the address that is in the slot by then.
    """

    __slots__ = ("__array_interface__", "__del__", "_word")

    def __init__(self, slots: Any, number: int) -> None:
        self._word = ctypes.c_void_p.from_buffer(slots, number * _POINTER_BYTES)
        self.__del__ = partial(_library().free, self._word)

    @property
    def address(self) -> int:
        """The address; 0 for no memory."""
        return self._word.value or 0

    def array(self, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
        """An array over the memory, which keeps it alive."""
        self.__array_interface__ = {
            "data": (self.address, False), "shape": (prod(shape) * dtype.itemsize,),
            "typestr": "|u1", "version": 3,
        }  # fmt: skip
        return np.asarray(self).view(dtype).reshape(shape)
