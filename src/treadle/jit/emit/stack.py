"""Where the elements a loop stacks go.

a length known now             memory of the kernel's own, or a result
known before the run           a result, that is made before
else                           memory that grows, twice as large each time, from the C library
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.emit.emitter import OUT_OF_MEMORY, Emitter
from treadle.jit.emit.tensors import Buffer, dense_strides
from treadle.jit.emit.types import I64, POINTER, in_memory
from treadle.jit.kernel_ir import Loop, Node, Stack, extents

_FIRST_ROOM = 64


@dataclass(eq=False, slots=True)
class Stacking:
    """One stacked value while its loop is written; `stride` lies between two iterations."""

    part: Node
    number: int
    stack: Stack
    scope: str
    strides: tuple[Any, ...]
    stride: Any
    pointer: Any
    limit: Any
    capacity: Any = None

    @property
    def element(self) -> Node:
        """The node whose elements are stacked."""
        return self.stack.element

    def room(self, e: Emitter, i: Any) -> Buffer:
        """The memory of this iteration's element."""
        w, b = e.w, e.w.builder
        pointer = self.pointer if self.capacity is None else self._grown(e, i)
        if self.stack.reverse:
            i = b.sub(b.sub(w.index(self.limit), llvm.Constant(I64, 1)), i)
        offset = w.index(w.multiply(i, self.stride))
        start = b.gep(pointer, [offset], inbounds=True, source_etype=in_memory(self.part.dtype))
        is_dense = self.strides == dense_strides(extents(self.element))
        return Buffer(start, self.part.dtype, self.strides, self.scope, is_dense=is_dense)

    def _grown(self, e: Emitter, i: Any) -> Any:
        w, b = e.w, e.w.builder
        room = b.load(self.capacity, typ=I64)
        with w.rarely(b.icmp_signed(">=", i, room)):
            twice = b.mul(room, llvm.Constant(I64, 2))
            first = llvm.Constant(I64, _FIRST_ROOM)
            more = b.select(b.icmp_signed("<", twice, first), first, twice)
            b.store(more, self.capacity)
            size = max(self.element.size, 1) * self.part.dtype.numpy.itemsize
            realloc = w.external("realloc", POINTER, POINTER, I64)
            old = b.load(self.pointer, typ=POINTER)
            made = b.call(realloc, [old, b.mul(more, llvm.Constant(I64, size))])
            null = llvm.Constant(POINTER, None)
            e.fail_if(b.icmp_unsigned("==", made, null), OUT_OF_MEMORY)
            b.store(made, self.pointer)
            b.store(made, e.t.slots.out("grown", self.part))
        return b.load(self.pointer, typ=POINTER)

    def whole(self, e: Emitter) -> Buffer:
        """The memory of all iterations."""
        pointer = self.pointer
        if self.capacity is not None:
            pointer = e.w.builder.load(pointer, typ=POINTER)
        strides = list(self.strides)
        strides.insert(self.stack.axis, self.stride)
        is_dense = self.stack.axis == 0
        return Buffer(pointer, self.part.dtype, tuple(strides), self.scope, is_dense=is_dense)


def stackings(e: Emitter, node: Node, op: Loop, limit: Any) -> list[Stacking]:
    """The stacks of a loop that somebody reads."""
    found = []
    for number, stack in enumerate(op.stacks, start=len(op.states)):
        part = e.part(node, number)
        if part is not None:
            found.append(_stacking(e, part, number, op, stack, limit))
    return found


def _stacking(e: Emitter, part: Node, number: int, op: Loop, stack: Stack, limit: Any) -> Stacking:
    scope = e.t.aliases.fresh()
    if part.is_static:
        buffer = e.allocate(part)
        around = list(buffer.strides)
        stride = around.pop(stack.axis)
        return Stacking(part, number, stack, buffer.scope, tuple(around), stride, buffer.pointer,
                        limit)  # fmt: skip
    if op.extent in e.exact and part in e.bound:
        pointer = e.t.slots.result(e.bound[part])
        outer, between = _around(e, stack, op)
        return Stacking(part, number, stack, scope, outer, between, pointer, limit)
    null = llvm.Constant(POINTER, None)
    pointer = e.w.variable(POINTER, null)
    capacity = e.w.variable(I64, llvm.Constant(I64, 0))
    strides = dense_strides(extents(stack.element))
    return Stacking(part, number, stack, scope, strides, stack.element.size, pointer, limit,
                    capacity)  # fmt: skip


def _around(e: Emitter, stack: Stack, op: Loop) -> tuple[tuple[Any, ...], Any]:
    """The strides of a stacked result whose length only the run tells."""
    shape = list(extents(stack.element))
    length = e.t.extent(op.extent)
    strides: list[Any] = []
    size: Any = 1
    for axis in reversed(range(len(shape) + 1)):
        strides.append(size)
        if axis == stack.axis:
            size = e.w.multiply(size, length)
        else:
            size = e.w.multiply(size, shape[axis if axis < stack.axis else axis - 1])
    strides.reverse()
    stride = strides.pop(stack.axis)
    return tuple(strides), stride
