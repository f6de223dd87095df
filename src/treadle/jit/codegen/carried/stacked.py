"""Stacked outputs of loops: their memory, and where each iteration writes.

length known before the loop      workspace memory, a result, or a part of a Concat
otherwise                         memory that doubles when it is full

If the extents of an element are only known in the body, those of the first iteration are used, and
the kernel fails if another iteration differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.allocation import (
    alias_scope,
    allocate,
    new_heap_buffer,
    reserve,
    result_node,
)
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import UNMATCHED, CodegenContext
from treadle.jit.codegen.failure import fail_if
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.heap_buffer import HeapBuffer, larger_of
from treadle.jit.codegen.llvm_types import I64, memory_type
from treadle.jit.codegen.ops.concat_in_place import concat_memory
from treadle.jit.kernel.ir import DimOf, Loop, Node, Result, Stack, SymbolicDim
from treadle.jit.kernel.traversal import is_inside
from treadle.jit.schedule.layouts.result_memory import Growing


@dataclass(eq=False, slots=True)
class StackedOutput:
    """One stacked value while its loop is emitted: into `memory`, or into a growing `scratch`.

    `inner` are variables for element extents known only in the body, by axis; `rows` holds the
    capacity in elements, `growing` the first one.
    """

    part: Node
    number: int
    stack: Stack
    scope: str
    limit: Any
    memory: Buffer | None = None
    growing: Growing | None = None
    scratch: HeapBuffer | None = None
    rows: Any = None
    inner: Mapping[int, Any] = field(default_factory=dict)

    @property
    def element(self) -> Node:
        """The node whose elements are stacked."""
        return self.stack.element

    def room(self, context: CodegenContext, index: Any) -> Buffer:
        """The memory for this iteration's element."""
        if self.memory is not None:
            return self._place(context, self.memory, index)
        self._expect_alike(context, index)
        shape = self._element_shape(context)
        self._grow(context, index, shape)
        return self._place(context, self._growing(context, shape), index)

    def _place(self, context: CodegenContext, whole: Buffer, index: Any) -> Buffer:
        axis, b = self.stack.axis, context.builder.builder
        if self.stack.reverse:
            index = b.sub(b.sub(self.limit, context.builder.index(1)), index)
        offset = context.builder.index(context.builder.multiply(index, whole.strides[axis]))
        type_ = memory_type(self.part.dtype)
        start = b.gep(whole.pointer, [offset], inbounds=True, source_etype=type_)
        strides = (*whole.strides[:axis], *whole.strides[axis + 1 :])
        return Buffer(start, self.part.dtype, strides, whole.scope)

    def _expect_alike(self, context: CodegenContext, index: Any) -> None:
        b = context.builder.builder
        for axis, variable in self.inner.items():
            extent = context.builder.index(context.access.extent(self.element.shape[axis]))
            is_first = b.icmp_signed("==", index, context.builder.index(0))
            b.store(b.select(is_first, extent, b.load(variable, typ=I64)), variable)
            other = b.icmp_signed("!=", extent, b.load(variable, typ=I64))
            fail_if(context, other, UNMATCHED)

    def _element_shape(self, context: CodegenContext) -> tuple[Index, ...]:
        b = context.builder.builder
        return tuple(
            b.load(self.inner[axis], typ=I64)
            if axis in self.inner
            else context.access.extent(extent)
            for axis, extent in enumerate(self.element.shape)
        )

    def _grow(self, context: CodegenContext, index: Any, shape: Sequence[Index]) -> None:
        w, b = context.builder, context.builder.builder
        assert self.scratch is not None
        assert self.growing is not None
        with w.rarely(b.icmp_signed(">=", index, b.load(self.rows, typ=I64))):
            more = self.limit
            if self.growing.items is not None:
                twice = b.shl(b.load(self.rows, typ=I64), w.index(1))
                more = larger_of(w, twice, w.index(self.growing.items))
            reserve(context, self.scratch, (more, *shape), self.part.dtype, keep=True)
            b.store(more, self.rows)

    def _growing(self, context: CodegenContext, shape: Sequence[Index]) -> Buffer:
        """All elements one after the other, with the stacked axis moved to its position."""
        assert self.scratch is not None
        strides = list(context.builder.strides(shape))
        strides.insert(self.stack.axis, context.builder.product(shape))
        is_dense = context.schedule.order.is_dense(self.part)
        return Buffer(
            self.scratch.at(context.builder),
            self.part.dtype,
            tuple(strides),
            self.scope,
            owner=self.scratch if is_dense else None,
        )

    def whole(self, context: CodegenContext, loop: Node) -> Buffer:
        """The memory of all iterations; extents known only in the body go to `results.dims`."""
        if self.memory is not None:
            return self.memory
        for axis, variable in self.inner.items():
            at = axis if axis < self.stack.axis else axis + 1
            context.results.dims[loop, self.number, at] = context.builder.builder.load(
                variable, typ=I64
            )
        return self._growing(context, self._element_shape(context))


def stacked_outputs(
    context: CodegenContext, node: Node, op: Loop, limit: Any
) -> list[StackedOutput]:
    """The stacks of a loop that are read, or of which an extent is used."""
    found = []
    for number, stack in enumerate(op.stacks, start=len(op.states)):
        part = result_node(context, node, number) or _measured(context, node, number, op, stack)
        if part is not None:
            found.append(_stacking(context, part, number, op, stack, limit))
    return found


def _measured(
    context: CodegenContext, node: Node, number: int, op: Loop, stack: Stack
) -> Node | None:
    """The unread part whose extents only the body knows."""
    if not any(is_inside(extent, op.body) for extent in stack.element.shape):
        return None
    parts = context.access.places.readers.get(node, ())
    return next((part for part in parts if part.op == Result(number)), None)


def _stacking(
    context: CodegenContext,
    part: Node,
    number: int,
    op: Loop,
    stack: Stack,
    limit: Any,
) -> StackedOutput:
    growing = context.schedule.growing.get(part)
    if growing is None:
        memory = concat_memory(context, part) or allocate(context, part)
        return StackedOutput(part, number, stack, memory.scope, limit, memory)
    none = llvm.Constant(I64, 0)
    inner = {
        axis: context.builder.variable(I64, none)
        for axis, extent in enumerate(stack.element.shape)
        if is_inside(extent, op.body) or _is_counted(part, axis + (axis >= stack.axis))
    }
    rows = context.builder.variable(I64, none)
    return StackedOutput(
        part,
        number,
        stack,
        alias_scope(context, part),
        limit,
        None,
        growing,
        new_heap_buffer(context),
        rows,
        inner,
    )


def _is_counted(part: Node, axis: int) -> bool:
    """Whether the loop tells the extent of its result, though it is known before it."""
    extent = part.shape[axis]
    source = extent.source if isinstance(extent, SymbolicDim) else None
    return source is not None and isinstance(source.op, DimOf) and source.operands == part.operands


def recorded_results(
    context: CodegenContext, node: Node, stacks: Sequence[StackedOutput]
) -> list[int]:
    """The results of a recorded kernel into which a loop writes its rows, in order, directly."""
    if not context.kernel.is_recorded or node.home is not context.kernel.main:
        return []
    return [
        context.schedule.in_results[each.part]
        for each in stacks
        if each.part in context.schedule.in_results
        and each.memory is not None
        and each.stack.axis == 0
        and not each.stack.reverse
    ]
