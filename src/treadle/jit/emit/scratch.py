"""Memory whose size only the run tells: asked for where it is written, kept for the next time.

    scratch = (pointer, capacity)        variables of the kernel, null and 0 when it begins
    want(size)                           at least so many bytes; what was there may be lost
    keep(size)                           at least so many bytes; what was there stays

It grows at least by half. Whatever a kernel holds when it ends, however it ends, is given back;
`take` hands the memory over to the caller instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.emit.types import I64, POINTER, VOID
from treadle.jit.emit.writer import Index, Writer

ALLOCATOR = ["realloc", "free"]
"""The functions of the process that give memory and take it back."""
_SMALLEST = 256
_LARGEST = 2**47


@dataclass(frozen=True, eq=False, slots=True)
class Scratch:
    """Memory of a kernel's own: variables for where it is and how many bytes it has."""

    pointer: Any
    capacity: Any

    @classmethod
    def made(cls, w: Writer) -> Scratch:
        """One that has no memory yet."""
        null, none = llvm.Constant(POINTER, None), llvm.Constant(I64, 0)
        return cls(w.early(POINTER, null), w.early(I64, none))

    def at(self, w: Writer) -> Any:
        """Where the memory is now."""
        return w.builder.load(self.pointer, typ=POINTER)

    def swap(self, w: Writer, other: Scratch) -> None:
        """Each has the other's memory from here on."""
        b = w.builder
        for mine, its, type_ in (
            (self.pointer, other.pointer, POINTER),
            (self.capacity, other.capacity, I64),
        ):
            first, second = b.load(mine, typ=type_), b.load(its, typ=type_)
            b.store(second, mine)
            b.store(first, its)

    def ensure(self, w: Writer, size: Any, *, keep: bool) -> Any:
        """At least so many bytes; whether the memory is there."""
        b = w.builder
        with w.rarely(b.icmp_unsigned(">", size, b.load(self.capacity, typ=I64))):
            room = b.load(self.capacity, typ=I64)
            half = b.add(room, b.lshr(room, llvm.Constant(I64, 1)))
            more = larger(w, larger(w, half, size), llvm.Constant(I64, _SMALLEST))
            old = b.load(self.pointer, typ=POINTER)
            if not keep:
                release(w, old)
                b.store(llvm.Constant(POINTER, None), self.pointer)
                b.store(llvm.Constant(I64, 0), self.capacity)
                old = llvm.Constant(POINTER, None)
            made = b.call(w.external(ALLOCATOR[0], POINTER, POINTER, I64), [old, more])
            is_there = b.icmp_unsigned("!=", made, llvm.Constant(POINTER, None))
            with w.rarely(is_there):
                b.store(made, self.pointer)
                b.store(more, self.capacity)
        return b.icmp_unsigned("<=", size, b.load(self.capacity, typ=I64))

    def take(self, w: Writer) -> Any:
        """The memory, which the kernel no longer gives back."""
        place = self.at(w)
        w.builder.store(llvm.Constant(POINTER, None), self.pointer)
        w.builder.store(llvm.Constant(I64, 0), self.capacity)
        return place


def larger(w: Writer, left: Any, right: Any) -> Any:
    """The larger of two sizes."""
    return w.builder.select(w.builder.icmp_unsigned(">", left, right), left, right)


def release(w: Writer, place: Any) -> None:
    """Give memory back; null is none."""
    w.builder.call(w.external(ALLOCATOR[1], VOID, POINTER), [place])


def byte_size(w: Writer, shape: Sequence[Index], item: int) -> tuple[Any, Any]:
    """How many bytes so many elements take, and whether no memory has as many."""
    b = w.builder
    known = item
    open_ = []
    for extent in shape:
        if isinstance(extent, int):
            known *= extent
        else:
            open_.append(extent)
    size: Any = llvm.Constant(I64, min(known, _LARGEST + 1))
    is_over: Any = llvm.Constant(llvm.IntType(1), known > _LARGEST)
    for extent in open_:
        pair = b.umul_with_overflow(size, extent)
        size = b.extract_value(pair, 0)
        is_over = b.or_(is_over, b.extract_value(pair, 1))
    is_over = b.or_(is_over, b.icmp_unsigned(">", size, llvm.Constant(I64, _LARGEST)))
    return size, is_over
