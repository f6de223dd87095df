"""The addresses of arrays for native code, read cheaply.

`__array_interface__` takes a microsecond. An array object holds the address of its elements in a
word of its own, at an offset that is looked for once; a kernel is told where that word is. Where
the offset is not found, a word is made for the array.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

_POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)
_PROBES = 3
_CACHE_LINE_BYTES = 64
_CONTIGUOUS = 0x1 | 0x100  # numpy's C_CONTIGUOUS and ALIGNED


def address(array: Any) -> int:
    """Where the elements of an array are."""
    found: int = array.__array_interface__["data"][0]
    return found


def contiguous(matrix: np.ndarray, stride: int) -> np.ndarray:
    """The matrix with so many elements from one row to the next, the first where a line begins."""
    rows, columns = matrix.shape
    room = np.zeros(rows * stride + _CACHE_LINE_BYTES // matrix.itemsize, matrix.dtype)
    first = -address(room) % _CACHE_LINE_BYTES // matrix.itemsize
    laid = room[first : first + rows * stride].reshape(rows, stride)
    laid[:, :columns] = matrix
    return laid


def row_major(array: np.ndarray) -> np.ndarray:
    """The array, or a copy of it in row-major order and aligned."""
    if array.flags.num & _CONTIGUOUS == _CONTIGUOUS:
        return array
    return np.require(array, requirements=("C", "A")).reshape(array.shape)


@cache
def data_pointer_slot() -> Callable[[np.ndarray, list[Any]], int]:
    """A function that gives the address of a word that holds where an array's elements are.

    What must live as long as the word is put into the list.
    """
    offset = _offset()
    if offset is None:
        return _made
    return lambda array, keep: id(array) + offset


def _offset() -> int | None:
    """How far into an array object the address of its elements is, in this Python and numpy."""
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
    """Memory whose address a kernel leaves in a slot; it goes back when nobody has this any more.

    Nobody else gives it back, so it goes once, wherever an interrupt strikes.
    """

    __slots__ = ("__array_interface__", "_free", "_number", "_slots")

    def __init__(self, slots: Any, number: int, free: Callable[[int], None]) -> None:
        self._slots, self._number, self._free = slots, number, free

    @property
    def address(self) -> int:
        """Its address; 0 for no memory."""
        return int(self._slots[self._number])

    def array(self, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
        """An array over it, which keeps it."""
        self.__array_interface__ = {
            "data": (self.address, False), "shape": (prod(shape) * dtype.itemsize,),
            "typestr": "|u1", "version": 3,
        }  # fmt: skip
        return np.asarray(self).view(dtype).reshape(shape)

    def __del__(self) -> None:
        address, self._slots[self._number] = self.address, 0
        if address:
            self._free(address)


def free(place: int) -> None:
    """Give memory of the C library back."""
    _library().free(place)
