"""Heap buffers: memory of a size that is known when the kernel runs, reused while it lasts.

    scratch = (pointer, capacity)        variables of the kernel, null and 0 when it begins
    want(size)                           at least so many bytes; what was there may be lost
    keep(size)                           at least so many bytes; what was there stays

It grows at least by half. Whatever a kernel holds when it ends, however it ends, is given back;
`take` hands the memory over to the caller instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.llvm_types import I1, I64, POINTER, VOID

ALLOCATOR = ["realloc", "free"]
"""The functions of the process that give memory and take it back."""
_MIN_BYTES = 256
_HELPERS = ("ensure", "ensure.kept", "times")


@dataclass(frozen=True, eq=False, slots=True)
class HeapBuffer:
    """Memory of a kernel's own: variables for where it is and how many bytes it has."""

    pointer: Any
    capacity: Any

    @classmethod
    def made(cls, builder: FunctionBuilder) -> HeapBuffer:
        """One that has no memory yet."""
        null, none = llvm.Constant(POINTER, None), llvm.Constant(I64, 0)
        return cls(builder.early(POINTER, null), builder.early(I64, none))

    def at(self, builder: FunctionBuilder) -> Any:
        """Where the memory is now."""
        return builder.builder.load(self.pointer, typ=POINTER)

    def exchange(self, builder: FunctionBuilder, other: HeapBuffer) -> None:
        """Each has the other's memory from here on."""
        b = builder.builder
        for mine, its, type_ in (
            (self.pointer, other.pointer, POINTER),
            (self.capacity, other.capacity, I64),
        ):
            first, second = b.load(mine, typ=type_), b.load(its, typ=type_)
            b.store(second, mine)
            b.store(first, its)

    def ensure(self, builder: FunctionBuilder, size: Any, *, keep: bool) -> Any:
        """At least so many bytes; whether the memory is there."""
        function = _ensuring(builder, keep=keep)
        return builder.builder.call(function, [self.pointer, self.capacity, size])

    def take(self, builder: FunctionBuilder) -> Any:
        """The memory, which the kernel no longer gives back."""
        place = self.at(builder)
        builder.builder.store(llvm.Constant(POINTER, None), self.pointer)
        builder.builder.store(llvm.Constant(I64, 0), self.capacity)
        return place


def _ensuring(builder: FunctionBuilder, *, keep: bool) -> Any:
    """The function that `ensure` calls, with the addresses of the variables."""
    name = "ensure.kept" if keep else "ensure"
    if name in builder.module.globals:
        return builder.module.globals[name]
    w = _small(builder, name, I1, [POINTER, POINTER, I64])
    b, (place, room, size) = w.builder, w.function.args
    with w.rarely(b.icmp_unsigned(">", size, b.load(room, typ=I64))):
        old = [b.load(place, typ=POINTER), b.load(room, typ=I64)]
        made = b.call(_growing(builder, keep=keep), [*old, size])
        b.store(b.extract_value(made, 0), place)
        b.store(b.extract_value(made, 1), room)
    b.ret(b.icmp_unsigned("<=", size, b.load(room, typ=I64)))
    w.close_entry()
    return w.function


def _growing(builder: FunctionBuilder, *, keep: bool) -> Any:
    """The function (place, room, size) -> (place, room) that asks for more memory.

    Where there is not so much, what was there stays; it is gone already if it need not be kept.
    """
    pair = llvm.LiteralStructType([POINTER, I64])
    w = _small(builder, "grow.kept" if keep else "grow", pair, [POINTER, I64, I64])
    for attribute in ("cold", "noinline"):
        w.function.attributes.add(attribute)
    b, (place, room, size) = w.builder, w.function.args
    null = llvm.Constant(POINTER, None)
    with w.rarely(b.icmp_unsigned(">", size, llvm.Constant(I64, builder.target.largest_bytes))):
        _give(b, place, room)
    half = b.add(room, b.lshr(room, llvm.Constant(I64, 1)))
    more = larger_of(w, larger_of(w, half, size), llvm.Constant(I64, _MIN_BYTES))
    if not keep:
        release(w, place)
        place, room = null, llvm.Constant(I64, 0)
    word = llvm.IntType(8 * builder.target.pointer_bytes)
    bytes_ = more if word == I64 else b.trunc(more, word)
    made = b.call(w.external(ALLOCATOR[0], POINTER, POINTER, word), [place, bytes_])
    is_there = b.icmp_unsigned("!=", made, null)
    _give(b, b.select(is_there, made, place), b.select(is_there, more, room))
    w.close_entry()
    return w.function


def _give(builder: llvm.IRBuilder, place: Any, room: Any) -> None:
    pair = llvm.Constant(llvm.LiteralStructType([POINTER, I64]), llvm.Undefined)
    builder.ret(builder.insert_value(builder.insert_value(pair, place, 0), room, 1))


def _small(
    builder: FunctionBuilder, name: str, result: Any, types: Sequence[Any]
) -> FunctionBuilder:
    """The writer of a function of the module's own."""
    function = llvm.Function(builder.module, llvm.FunctionType(result, types), name)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    return FunctionBuilder(builder.module, function, builder.target)


def larger_of(builder: FunctionBuilder, left: Any, right: Any) -> Any:
    """The larger of two sizes."""
    return builder.builder.select(builder.builder.icmp_unsigned(">", left, right), left, right)


def release(builder: FunctionBuilder, place: Any) -> None:
    """Give memory back; null is none."""
    builder.builder.call(builder.external(ALLOCATOR[1], VOID, POINTER), [place])


def byte_size(builder: FunctionBuilder, shape: Sequence[Index], item: int) -> Any:
    """How many bytes so many elements take; where no memory has as many, more than that."""
    known = prod((item, *(extent for extent in shape if isinstance(extent, int))))
    size: Any = llvm.Constant(I64, min(known, builder.target.largest_bytes + 1))
    for extent in shape:
        if not isinstance(extent, int):
            size = builder.builder.call(_times(builder), [size, extent])
    return size


def _times(builder: FunctionBuilder) -> Any:
    """The function (bytes, extent) -> bytes that multiplies, up to more than there can be."""
    if "times" in builder.module.globals:
        return builder.module.globals["times"]
    w = _small(builder, "times", I64, [I64, I64])
    b = w.builder
    largest = builder.target.largest_bytes
    size, is_over = _product(w, *w.function.args)
    is_over = b.or_(is_over, b.icmp_unsigned(">", size, llvm.Constant(I64, largest)))
    b.ret(b.select(is_over, llvm.Constant(I64, largest + 1), size))
    w.close_entry()
    return w.function


def _product(builder: FunctionBuilder, size: Any, extent: Any) -> tuple[Any, Any]:
    """The product of two numbers below 2 ** 63, and whether it is too large for 64 bits.

    Machines of 32 bits have no instruction for it: there both must be below 2 ** 32.
    """
    b = builder.builder
    if builder.target.pointer_bytes == 8:
        made = b.umul_with_overflow(size, extent)
        return b.extract_value(made, 0), b.extract_value(made, 1)
    high = b.lshr(b.or_(size, extent), llvm.Constant(I64, 32))
    return b.mul(size, extent), b.icmp_unsigned("!=", high, llvm.Constant(I64, 0))


def set_inlining(module: llvm.Module, *, inline: bool) -> None:
    """Whether the functions of this file become part of the kernel; in a large one they do not."""
    for name in _HELPERS:
        if name in module.globals:
            module.globals[name].attributes.add("alwaysinline" if inline else "noinline")
