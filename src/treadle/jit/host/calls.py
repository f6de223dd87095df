"""The Python side of host calls, with the GIL held."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np

from treadle import ops
from treadle.ir import DType, Leaf, show_shape
from treadle.jit.host.array_memory import data_pointer_slot as memory_words
from treadle.jit.host.array_memory import row_major, words_type
from treadle.jit.host.boxed_values import is_box_op
from treadle.jit.host.kernels import HostKernels
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import BOXED_DOMAIN, HostCall, Kind, Node, op_of
from treadle.jit.kernel.traversal import is_known_kind
from treadle.ops import Prepared
from treadle.plan import RunContext, is_long_for, run_abandonable

SHAPE_WORDS_PER_RESULT = -1
"""The marker for an extent that the call determines."""
Read = Callable[[Any, int], tuple[Any, int]]
Write = Callable[[Any, int, Any], tuple[Any, int]]
_NUMBER = np.dtype(np.int64)
_MAX_SEEN_SHAPES = 16
"""The number of shape sets whose views a call remembers."""
_word = ctypes.c_int64
_PYBUF_WRITE = 0x200
"""CPython's flag of a memoryview that may be written."""
_memory: Any = ctypes.pythonapi.PyMemoryView_FromMemory
_memory.restype, _memory.argtypes = (
    ctypes.py_object, (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
)  # fmt: skip


Call = Callable[[int], object]
"""A host call as native code calls it; it takes the address of its 64-bit words."""


class Bind(Protocol):
    """Makes a host call for a run's boxed values, and for the run, if it may have to stop."""

    def __call__(self, objects: list[Any], context: RunContext | None = None) -> Call:
        """The call."""


def host_call(node: Node, kernels: HostKernels) -> Bind:
    """The function of a HostCall, for one run or for all.

        operand = address, and its dynamic extents
        result  = address of memory for it                          if its shape is known
                | address, extents: wanted, or -1                   else

    For a result of unknown shape the call writes the address and the extents that are -1, and
    returns the arrays that must live until the kernel has copied them. Boxed values must not be in
    the kernel's memory. Numpy's warnings are off (`ops.ignore_fp_warnings`). Raises KernelError if
    the operator fails, Declined if a result has an unexpected type or shape.
    """
    op = op_of(node, HostCall)
    prepared = None if op.leaf.domain == BOXED_DOMAIN else kernels.prepare(op.leaf)
    sides = _CallSignature.of(node, op)
    find = _remembering(words_type(count_words(node)).from_address)

    def bind(objects: list[Any], context: RunContext | None = None) -> Call:
        run = prepared or is_box_op(op.leaf, objects)
        if prepared is not None and context is not None and context.may_stop:
            run = _stopping(prepared, op.leaf, context)
        readers, writers = sides.bound(objects)

        def call(address: int) -> object:
            given = find(address)
            present, at = [], 0
            for read in readers:
                array, at = read(given, at)
                present.append(array)
            if not all(op.given):
                rest = iter(present)
                present = [next(rest) if is_given else None for is_given in op.given]
            kept = []
            for write, value in zip(writers, run(present), strict=True):
                if write is not None:
                    array, at = write(given, at, value)
                    kept.append(array)
            return kept

        return call

    return bind


def _stopping(run: Prepared, leaf: Leaf, context: RunContext) -> Prepared:
    """The kernel, from which a bounded run returns in time where its operands are large."""
    is_long = is_long_for(leaf)

    def run_in_time(operands: Sequence[Any]) -> tuple[Any, ...]:
        if is_long(operands, 0.0, context):
            return tuple(run_abandonable(run, operands, context, leaf.info.path))
        return run(operands)

    return run_in_time


@dataclass(frozen=True, slots=True)
class _CallSignature:
    """The readers of operands and the writers of results; None for an unread result.

    For a boxed value it is a maker from a run's boxed values, if `takes` or `makes` is set.
    """

    readers: Sequence[Any]
    writers: Sequence[Any]
    takes: Sequence[bool]
    makes: Sequence[bool]

    @classmethod
    def of(cls, node: Node, op: HostCall) -> _CallSignature:
        """The signature of a call; operands are copied if a result may share their memory."""
        takes = op.takes or (False,) * len(node.operands)
        makes = op.makes or (False,) * len(op.results)
        is_own = not any(makes)
        readers = [
            _held_reader if is_object else _reader(operand.dtype, operand.shape, is_own=is_own)
            for operand, is_object in zip(node.operands, takes, strict=True)
        ]
        writers = [
            None if kind is None else _holder if is_object else _writer(op, kind)
            for kind, is_object in zip(op.results, makes, strict=True)
        ]
        made = [
            is_object and kind is not None
            for kind, is_object in zip(op.results, makes, strict=True)
        ]
        return cls(readers, writers, takes, made)

    def bound(self, objects: list[Any]) -> tuple[list[Read], list[Write | None]]:
        """The functions for one run's boxed values."""
        return _bound(self.readers, self.takes, objects), _bound(self.writers, self.makes, objects)


def _bound(sides: Sequence[Any], are_held: Sequence[bool], objects: list[Any]) -> list[Any]:
    return [
        side(objects) if is_held else side for side, is_held in zip(sides, are_held, strict=True)
    ]


def count_words(node: Node) -> int:
    """The number of words of a call."""
    op = op_of(node, HostCall)
    given = sum(1 if each.is_static else 1 + len(each.shape) for each in node.operands)
    results = [kind for kind in op.results if kind is not None]
    return given + sum(1 if is_known_kind(kind) else 1 + len(kind[1]) for kind in results)


class ShapeChanged(Declined):
    """A result of the leaf does not have the shape that was assumed to be constant."""

    def __init__(self, why: str, leaf: Leaf) -> None:
        super().__init__(why)
        self.leaf = leaf


def _held_reader(objects: list[Any]) -> Read:
    """A function that reads a boxed operand, given the address of its handle."""
    find = _views(_NUMBER, ())

    def read(words: Any, at: int) -> tuple[Any, int]:
        return objects[find(words[at])], at + 1

    return read


def _holder(objects: list[Any]) -> Write:
    """A function that boxes a result."""
    find = _views(_NUMBER, ())

    def hold(words: Any, at: int, value: Any) -> tuple[Any, int]:
        find(words[at])[...] = len(objects)
        objects.append(value)
        return None, at + 1

    return hold


def _reader(dtype: DType, shape: Sequence[Any], *, is_own: bool) -> Read:
    """A function that reads an operand in memory: directly if `is_own`, else a copy."""
    known = _known(shape)
    if known is not None:
        find = _views(dtype.numpy, known)

        def read(words: Any, at: int) -> tuple[Any, int]:
            array = find(words[at])
            return array if is_own else array.copy(), at + 1

        return read
    behind, kind = 1 + len(shape), dtype.numpy

    def read_open(words: Any, at: int) -> tuple[Any, int]:
        array = _array(kind, words[at + 1 : at + behind], words[at])
        return array if is_own else array.copy(), at + behind

    return read_open


def _writer(op: HostCall, kind: Kind) -> Write:
    """A function that copies a result to its memory, or writes its address."""
    dtype, known = kind[0], _known(kind[1])
    if known is not None:
        find = _views(dtype.numpy, known)

        def write(words: Any, at: int, value: Any) -> tuple[Any, int]:
            find(words[at])[...] = checked_result(op, dtype, known, value)
            return None, at + 1

        return write
    behind, locate = 1 + len(kind[1]), memory_words()

    def tell(words: Any, at: int, value: Any) -> tuple[Any, int]:
        end = at + behind
        wanted = [
            None if extent == SHAPE_WORDS_PER_RESULT else extent for extent in words[at + 1 : end]
        ]
        array = row_major(checked_result(op, dtype, wanted, value))
        words[at] = _word.from_address(locate(array, [])).value
        words[at + 1 : end] = array.shape
        return array, end

    return tell


def _known(shape: Sequence[Any]) -> tuple[int, ...] | None:
    known = tuple(extent for extent in shape if isinstance(extent, int))
    return known if len(known) == len(shape) else None


def _views(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Callable[[int], np.ndarray]:
    """A function that returns the array of this kind at an address."""
    return _remembering(lambda address: _array(dtype, shape, address))


def _remembering(make: Callable[[int], Any]) -> Callable[[int], Any]:
    """The function with a small cache."""
    seen: dict[int, Any] = {}

    def find(address: int) -> Any:
        found = seen.get(address)
        if found is None:
            if len(seen) >= _MAX_SEEN_SHAPES:
                seen.clear()
            found = seen[address] = make(address)
        return found

    return find


def _array(dtype: np.dtype[Any], shape: Sequence[int], address: int) -> np.ndarray:
    size = prod(shape) * dtype.itemsize
    if not size:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, _memory(address, size, _PYBUF_WRITE))


def checked_result(op: HostCall, dtype: DType, shape: Sequence[Any], value: Any) -> np.ndarray:
    """Check dtype and extents of a value, None for any; raises ShapeChanged if they differ."""
    if isinstance(value, np.ndarray) and value.dtype == dtype.numpy:
        pairs = zip(shape, value.shape, strict=False)
        if len(shape) == value.ndim and all(w is None or w == found for w, found in pairs):
            return value
    name = f"{op.leaf.op}-{op.leaf.version}"
    why = f"{name} gives {ops.describe(value)}, not {dtype}{show_shape(tuple(shape))}"
    raise ShapeChanged(why, op.leaf)
