"""Emits a host call: acquires the GIL and calls a Python object with one address.

At the address are words (host/calls.py) with the locations of the operands, contiguous in row-major
order, and of the results. A result with dynamic extents is copied from the array that the call made
into the kernel's memory; the call returns a list that keeps these arrays alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.allocation import (
    alias_scope,
    allocate,
    allocate_in,
    new_heap_buffer,
    result_node,
)
from treadle.jit.codegen.buffer import Buffer, dense_strides
from treadle.jit.codegen.context import INTERRUPTED, OUT_OF_MEMORY, CodegenContext
from treadle.jit.codegen.failure import fail_if, leave
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.heap_buffer import HeapBuffer, byte_size
from treadle.jit.codegen.iteration_space import copy_node
from treadle.jit.codegen.llvm_types import I1, I64, POINTER, VOID
from treadle.jit.codegen.safepoint import acquire_gil, release_gil
from treadle.jit.host.calls import SHAPE_WORDS_PER_RESULT, count_words
from treadle.jit.kernel.ir import Block, HostCall, Node, op_of
from treadle.jit.kernel.traversal import is_known_kind


def emit_host_call(context: CodegenContext, node: Node) -> None:
    """Emit the call; its results go to `context.results`, with their dynamic extents."""
    op = op_of(node, HostCall)
    wholes = [_whole(context, operand, node.home) for operand in node.operands]
    words = _Words(context, node)
    for operand, buffer in zip(node.operands, wholes, strict=True):
        words.put(buffer.pointer)
        if not operand.is_static:
            words.put_all(context.access.shape(operand))
    told = []
    for number, kind in enumerate(op.results):
        if kind is None:
            continue
        if is_known_kind(kind):
            buffer = _known(context, node, number)
            words.put(buffer.pointer)
            context.results.values[node, number] = buffer
        else:
            told.append(_told(context, number, words))
    _call(context, context.access.slots.escape(node), words, told)


@dataclass(eq=False, slots=True)
class _Words:
    """The words of a call; `count` is the number written so far."""

    context: CodegenContext
    node: Node
    count: int = 0
    room: Any = field(init=False)

    def __post_init__(self) -> None:
        """Allocate all words on the stack."""
        self.room = self.context.builder.variable(I64, count=max(count_words(self.node), 2))

    def at(self, number: int) -> Any:
        """The address of a word."""
        b = self.context.builder.builder
        return b.gep(self.room, [llvm.Constant(I64, number)], source_etype=I64, inbounds=True)

    def put(self, value: Any) -> None:
        """Append a word: a number or an address."""
        b = self.context.builder.builder
        b.store(value if value.type == I64 else b.ptrtoint(value, I64), self.at(self.count))
        self.count += 1

    def put_all(self, numbers: Sequence[Index]) -> None:
        """Append several words."""
        for number in numbers:
            self.put(self.context.builder.index(number))


@dataclass(frozen=True, eq=False, slots=True)
class _Told:
    """A result whose shape is known after the call; its words begin at `first`."""

    number: int
    shape: tuple[Any, ...]
    first: int
    part: Node | None
    scratch: HeapBuffer | None


def _told(context: CodegenContext, number: int, words: _Words) -> _Told:
    """Write the known extents to its words, which the call compares."""
    op, first = words.node.op, words.count
    part = result_node(context, words.node, number)
    assert isinstance(op, HostCall)
    kind = op.results[number]
    assert kind is not None
    known = [None if extent is None else context.access.extent(extent) for extent in kind[1]]
    words.put(llvm.Constant(POINTER, None))
    words.put_all([SHAPE_WORDS_PER_RESULT if extent is None else extent for extent in known])
    return _Told(
        number, tuple(known), first, part, None if part is None else new_heap_buffer(context)
    )


def _whole(context: CodegenContext, operand: Node, block: Block) -> Buffer:
    """Memory that holds all elements of the operand in order: its own, or else a copy."""
    if context.schedule.order.is_stored_whole(operand):
        return context.access.buffer(operand)
    if operand.is_static:
        buffer = context.access.allocate(operand)
    else:
        buffer = allocate_in(
            context, new_heap_buffer(context), operand, context.access.aliases.fresh()
        )
    copy_node(context, operand, buffer, block)
    return buffer


def _known(context: CodegenContext, node: Node, number: int) -> Buffer:
    """Memory for a result of known shape."""
    op, part = op_of(node, HostCall), result_node(context, node, number)
    if part is not None:
        return allocate(context, part)
    kind = op.results[number]
    assert kind is not None
    shape = tuple(extent for extent in kind[1] if isinstance(extent, int))
    pointer = context.access.slots.workspace(prod(shape) * kind[0].numpy.itemsize)
    return Buffer(pointer, kind[0], dense_strides(shape), context.access.aliases.fresh())


def _call(context: CodegenContext, callee: Any, words: _Words, told: Sequence[_Told]) -> None:
    """Emit PyObject_CallOneArg; if it raises, the exception stays set and the kernel ends."""
    b, w = context.builder.builder, context.builder
    acquire_gil(context)
    number = b.call(w.external("PyLong_FromVoidPtr", POINTER, POINTER), [words.room])
    _end_if_null(context, number)
    answer = b.call(w.external("PyObject_CallOneArg", POINTER, POINTER, POINTER), [callee, number])
    b.call(w.external("Py_DecRef", VOID, POINTER), [number])
    _end_if_null(context, answer)
    is_there: Any = llvm.Constant(I1, 1)
    for each in told:
        is_there = b.and_(is_there, _copied(context, each, words))
    b.call(w.external("Py_DecRef", VOID, POINTER), [answer])
    release_gil(context)
    if told:
        fail_if(context, b.not_(is_there), OUT_OF_MEMORY)


def _end_if_null(context: CodegenContext, found: Any) -> None:
    b = context.builder.builder
    with context.builder.rarely(b.icmp_unsigned("==", found, llvm.Constant(POINTER, None))):
        leave(context, INTERRUPTED)


def _copied(context: CodegenContext, told: _Told, words: _Words) -> Any:
    """Copy one result and its extents; returns whether there is memory for it."""
    b, w, number = context.builder.builder, context.builder, told.number
    shape: list[Index] = []
    for axis, known in enumerate(told.shape):
        extent = known
        if known is None:
            extent = b.load(words.at(told.first + 1 + axis), typ=I64)
            context.results.dims[words.node, number, axis] = extent
        shape.append(extent)
    part, scratch = told.part, told.scratch
    if part is None or scratch is None:
        return llvm.Constant(I1, 1)
    size = byte_size(w, shape, part.dtype.numpy.itemsize)
    is_there = scratch.ensure(w, size, keep=False)
    taken = b.select(is_there, size, llvm.Constant(I64, 0))
    source = b.load(words.at(told.first), typ=POINTER)
    target = scratch.at(w)
    b.call(w.external("memcpy", POINTER, POINTER, POINTER, I64), [target, source, taken])
    buffer = Buffer(target, part.dtype, w.strides(shape), alias_scope(context, part), owner=scratch)
    context.results.values[words.node, number] = buffer
    return is_there
