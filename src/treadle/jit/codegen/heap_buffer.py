"""Heap buffers: memory whose size is known at run time, reused within a run.

    scratch = (pointer, capacity)        variables of the kernel, null and 0 when it begins
    want(size)                           at least this many bytes; the content may be lost
    keep(size)                           at least this many bytes; the content stays

It grows at least by half. In Python the system is asked first whether it has memory for a large
one. All buffers of a kernel are freed when it ends, also after a failure;
`take` passes the memory to the caller instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.llvm_types import I1, I64, POINTER, VOID, internal_function
from treadle.jit.toolchain.symbols import HAS_ROOM
from treadle.machine import LARGE

ALLOCATOR = ["realloc", "free"]
"""The allocation functions of the process."""
_MIN_BYTES = 256
_HELPERS = ("ensure", "ensure.kept", "times")


@dataclass(frozen=True, eq=False, slots=True)
class HeapBuffer:
    """A heap buffer: variables for its address and its number of bytes."""

    pointer: Any
    capacity: Any

    @classmethod
    def made(cls, builder: FunctionBuilder) -> HeapBuffer:
        """A buffer without memory."""
        null, none = llvm.Constant(POINTER, None), llvm.Constant(I64, 0)
        return cls(builder.early(POINTER, null), builder.early(I64, none))

    def at(self, builder: FunctionBuilder) -> Any:
        """The current address."""
        return builder.builder.load(self.pointer, typ=POINTER)

    def exchange(self, builder: FunctionBuilder, other: HeapBuffer) -> None:
        """Swap the memory of two buffers."""
        b = builder.builder
        for mine, its, type_ in (
            (self.pointer, other.pointer, POINTER),
            (self.capacity, other.capacity, I64),
        ):
            first, second = b.load(mine, typ=type_), b.load(its, typ=type_)
            b.store(second, mine)
            b.store(first, its)

    def ensure(self, builder: FunctionBuilder, size: Any, *, keep: bool) -> Any:
        """Ensure this many bytes; returns whether there is enough memory."""
        function = _ensuring(builder, keep=keep)
        return builder.builder.call(function, [self.pointer, self.capacity, size])

    def take(self, builder: FunctionBuilder) -> Any:
        """Take the memory, which the kernel then does not free."""
        address = self.at(builder)
        builder.builder.store(llvm.Constant(POINTER, None), self.pointer)
        builder.builder.store(llvm.Constant(I64, 0), self.capacity)
        return address


def _ensuring(builder: FunctionBuilder, *, keep: bool) -> Any:
    """The function that `ensure` calls, with the addresses of the variables."""
    name = "ensure.kept" if keep else "ensure"
    if name in builder.module.globals:
        return builder.module.globals[name]
    w = _small(builder, name, I1, [POINTER, POINTER, I64])
    b, (address, room, size) = w.builder, w.function.args
    with w.rarely(b.icmp_unsigned(">", size, b.load(room, typ=I64))):
        old = [b.load(address, typ=POINTER), b.load(room, typ=I64)]
        made = b.call(_growing(builder, keep=keep), [*old, size])
        b.store(b.extract_value(made, 0), address)
        b.store(b.extract_value(made, 1), room)
    b.ret(b.icmp_unsigned("<=", size, b.load(room, typ=I64)))
    w.close_entry()
    return w.function


def _growing(builder: FunctionBuilder, *, keep: bool) -> Any:
    """The function (place, room, size) -> (place, room) that allocates more memory.

    If the allocation fails the old memory stays; without `keep` it may be freed already.
    """
    pair = llvm.LiteralStructType([POINTER, I64])
    w = _small(builder, "grow.kept" if keep else "grow", pair, [POINTER, I64, I64])
    for attribute in ("cold", "noinline"):
        w.function.attributes.add(attribute)
    b, (address, room, size) = w.builder, w.function.args
    null = llvm.Constant(POINTER, None)
    with w.rarely(b.icmp_unsigned(">", size, llvm.Constant(I64, builder.target.largest_bytes))):
        _give(b, address, room)
    if HAS_ROOM in builder.module.globals:
        with w.rarely(b.icmp_unsigned(">", size, llvm.Constant(I64, LARGE))):
            has_room = b.call(builder.module.globals[HAS_ROOM], [size, room])
            with w.rarely(b.not_(has_room)):
                _give(b, address, room)
    half = b.add(room, b.lshr(room, llvm.Constant(I64, 1)))
    more = larger_of(w, larger_of(w, half, size), llvm.Constant(I64, _MIN_BYTES))
    if not keep:
        release(w, address)
        address, room = null, llvm.Constant(I64, 0)
    word = llvm.IntType(8 * builder.target.pointer_bytes)
    bytes_ = more if word == I64 else b.trunc(more, word)
    made = b.call(w.external(ALLOCATOR[0], POINTER, POINTER, word), [address, bytes_])
    is_there = b.icmp_unsigned("!=", made, null)
    _give(b, b.select(is_there, made, address), b.select(is_there, more, room))
    w.close_entry()
    return w.function


def _give(builder: llvm.IRBuilder, address: Any, room: Any) -> None:
    pair = llvm.Constant(llvm.LiteralStructType([POINTER, I64]), llvm.Undefined)
    builder.ret(builder.insert_value(builder.insert_value(pair, address, 0), room, 1))


def _small(
    builder: FunctionBuilder, name: str, result: Any, types: Sequence[Any]
) -> FunctionBuilder:
    """A builder for a private function of the module."""
    function = internal_function(builder.module, name, result, types, "nounwind")
    return FunctionBuilder(builder.module, function, builder.target)


def larger_of(builder: FunctionBuilder, left: Any, right: Any) -> Any:
    """The larger of two sizes."""
    return builder.builder.select(builder.builder.icmp_unsigned(">", left, right), left, right)


def release(builder: FunctionBuilder, address: Any) -> None:
    """Free memory; null is allowed."""
    builder.builder.call(builder.external(ALLOCATOR[1], VOID, POINTER), [address])


def byte_size(builder: FunctionBuilder, shape: Sequence[Index], item: int) -> Any:
    """The number of bytes of this many elements; a huge number if it overflows."""
    known = prod((item, *(extent for extent in shape if isinstance(extent, int))))
    size: Any = llvm.Constant(I64, min(known, builder.target.largest_bytes + 1))
    for extent in shape:
        if not isinstance(extent, int):
            size = builder.builder.call(_times(builder), [size, extent])
    return size


def _times(builder: FunctionBuilder) -> Any:
    """The function (bytes, extent) -> bytes that multiplies and saturates."""
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
    """The product of two numbers below 2 ** 63, and whether it overflows 64 bits.

    32-bit machines lack the instruction: there both factors must be below 2 ** 32.
    """
    b = builder.builder
    if builder.target.pointer_bytes == 8:
        made = b.umul_with_overflow(size, extent)
        return b.extract_value(made, 0), b.extract_value(made, 1)
    high = b.lshr(b.or_(size, extent), llvm.Constant(I64, 32))
    return b.mul(size, extent), b.icmp_unsigned("!=", high, llvm.Constant(I64, 0))


def declare_room(module: llvm.Module) -> None:
    """Let the kernels of this module ask for room before they allocate much."""
    llvm.Function(module, llvm.FunctionType(I1, [I64, I64]), HAS_ROOM)


def set_inlining(module: llvm.Module, *, inline: bool) -> None:
    """Inline the functions of this file, except in a large kernel."""
    for name in _HELPERS:
        if name in module.globals:
            module.globals[name].attributes.add("alwaysinline" if inline else "noinline")
