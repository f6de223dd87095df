"""Operators that native code calls out for: what each call does, in Python, with the GIL held."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from treadle import ops
from treadle.ir import DType
from treadle.jit.kernel_ir import Escape, Kind, Node, is_known_kind
from treadle.jit.memory import address, row_major
from treadle.jit.nodes import Declined

TOLD = -1
"""What stands for an extent that the call is to tell."""
_WRITABLE = 0x200
_memory: Any = ctypes.pythonapi.PyMemoryView_FromMemory
_memory.restype, _memory.argtypes = (
    ctypes.py_object, (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
)  # fmt: skip
Read = Callable[[Any, int], tuple[Any, int]]


def outside(node: Node) -> Callable[[int], object]:
    """What an Escape calls with the address of its words, 64 bits each.

        operand = address, its extents where it has open ones
        result  = address of memory for it                          where its shape is known
                | address, extents: wanted, or -1                   else

    Of a result that is not known, the address and the extents that are -1 are written by the call,
    which gives the arrays that must live until the kernel has copied them. Raises KernelError where
    the operator fails, Declined where a result is not what it was taken for.
    """
    op = node.op
    assert isinstance(op, Escape)
    run = ops.prepare(op.leaf)
    operands = [(operand.dtype, operand.shape) for operand in node.operands]
    readers = [_reader(*kind) for kind in operands]
    writers = [None if kind is None else _writer(op, kind) for kind in op.results]
    words = ctypes.c_int64 * count_words(node)

    def call(place: int) -> object:
        given = words.from_address(place)
        present, at, kept = [], 0, []
        for read in readers:
            array, at = read(given, at)
            present.append(array)
        rest = iter(present)
        made = run([next(rest) if is_given else None for is_given in op.given])
        for write, value in zip(writers, made, strict=True):
            if write is not None:
                array, at = write(given, at, value)
                kept.append(array)
        return kept

    return call


def count_words(node: Node) -> int:
    """How many words a call is handed."""
    op = node.op
    assert isinstance(op, Escape)
    given = sum(1 if each.is_static else 1 + len(each.shape) for each in node.operands)
    results = [kind for kind in op.results if kind is not None]
    return given + sum(1 if is_known_kind(kind) else 1 + len(kind[1]) for kind in results)


def _reader(dtype: DType, shape: Sequence[Any]) -> Read:
    """A function that gives an operand, where it is, and the number of the word behind it."""
    if all(isinstance(extent, int) for extent in shape):
        known = tuple(shape)

        def read(words: Any, at: int) -> tuple[Any, int]:
            return _array(dtype, known, words[at]), at + 1

        return read
    rank = len(shape)

    def read_open(words: Any, at: int) -> tuple[Any, int]:
        end = at + 1 + rank
        return _array(dtype, words[at + 1 : end], words[at]), end

    return read_open


def _writer(op: Escape, kind: Kind) -> Callable[[Any, int, Any], tuple[Any, int]]:
    """A function that puts a result where it belongs, or tells where it is."""
    dtype, shape = kind
    known = tuple(extent for extent in shape if isinstance(extent, int))
    if len(known) == len(shape):

        def write(words: Any, at: int, value: Any) -> tuple[Any, int]:
            _array(dtype, known, words[at])[...] = checked(op, dtype, known, value)
            return None, at + 1

        return write
    rank = len(shape)

    def tell(words: Any, at: int, value: Any) -> tuple[Any, int]:
        end = at + 1 + rank
        wanted = [None if extent == TOLD else extent for extent in words[at + 1 : end]]
        array = row_major(checked(op, dtype, wanted, value))
        words[at] = address(array)
        words[at + 1 : end] = array.shape
        return array, end

    return tell


def _array(dtype: DType, shape: Sequence[int], place: int) -> np.ndarray:
    found: np.ndarray = np.empty(0, dtype.numpy)
    size = prod(shape) * found.itemsize
    if not size:
        return found.reshape(shape)
    return np.ndarray(shape, dtype.numpy, _memory(place, size, _WRITABLE))


def checked(op: Escape, dtype: DType, shape: Sequence[Any], value: Any) -> np.ndarray:
    """The value, which has the dtype and the extents, None for any; Declined where it has not."""
    if isinstance(value, np.ndarray) and value.dtype == dtype.numpy and len(shape) == value.ndim:
        pairs = zip(shape, value.shape, strict=True)
        if all(wanted is None or wanted == found for wanted, found in pairs):
            return value
    name = f"{op.leaf.op}-{op.leaf.version}"
    raise Declined(f"{name} gives {ops.describe(value)}, not {dtype}{list(shape)}")
