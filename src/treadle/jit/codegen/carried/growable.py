"""Carried values whose extents change from one iteration to the next.

    scratch = initial; dims = its extents
    in each iteration: the next value is written to other memory, then both are swapped

If the next value is the old one with rows appended, only these rows are written: the memory has
spare rows, and doubles when it is full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.jit.codegen.allocation import allocate_in, check_memory, new_heap_buffer, reserve
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.heap_buffer import HeapBuffer, larger_of
from treadle.jit.codegen.iteration_space import copy_node
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.ops.concat_in_place import join_into
from treadle.jit.kernel.ir import Loop, Node
from treadle.jit.schedule.carried_storage import Resizable


@dataclass(eq=False, slots=True)
class ResizableState:
    """One carried value; `rows` is the capacity in rows, if it only grows, `least` the first."""

    number: int
    state: Node
    after: Node
    scratch: HeapBuffer
    spare: HeapBuffer
    scope: str
    dims: Mapping[int, Any]
    axis: int = 0
    rows: Any = None
    least: int = 0
    pending: HeapBuffer | None = None
    new: Mapping[int, Any] | None = None

    def shape(self, context: CodegenContext) -> tuple[Index, ...]:
        """The current extents."""
        b = context.builder.builder
        return tuple(
            b.load(self.dims[k], typ=I64) if k in self.dims else context.access.extent(extent)
            for k, extent in enumerate(self.state.shape)
        )

    def room(
        self, context: CodegenContext, shape: Sequence[Index], rows: Index
    ) -> tuple[Index, ...]:
        """The shape with this many rows."""
        return (*shape[: self.axis], rows, *shape[self.axis + 1 :])

    def buffer(self, context: CodegenContext) -> Buffer:
        """The current memory."""
        shape = self.shape(context)
        is_dense = context.schedule.order.is_dense(self.state)
        if not is_dense:
            shape = self.room(context, shape, context.builder.builder.load(self.rows, typ=I64))
        owner = self.scratch if is_dense else None
        return Buffer(
            self.scratch.at(context.builder),
            self.state.dtype,
            context.builder.strides(shape),
            self.scope,
            owner=owner,
        )


def begin(
    context: CodegenContext,
    op: Loop,
    number: int,
    initial: Node,
    part: Node | None,
    storage: Resizable,
) -> ResizableState:
    """The value at the start of the loop."""
    state, after = op.states[number], op.nexts[number]
    shape = context.access.shape(initial)
    dims = {k: context.builder.variable(I64, context.builder.index(shape[k])) for k in storage.axes}
    scope = context.carried.scopes.get(part) if part is not None else None
    made = ResizableState(number, state, after, new_heap_buffer(context), new_heap_buffer(context),
                  scope or context.access.aliases.fresh(), dims)  # fmt: skip
    axis = storage.appended
    if axis is not None:
        made.axis, made.least = axis, storage.rows
        made.rows = context.builder.variable(I64, context.builder.index(shape[axis]))
        context.counts["growing"] += 1
    elif after.home is op.body and op.nexts.count(after) == 1:
        context.carried.scopes[after] = made.scope
    buffer = allocate_in(context, made.scratch, initial, made.scope)
    copy_node(context, initial, buffer, op.body.parent)
    context.carried.growable[state] = made
    return made


def load(context: CodegenContext, op: Loop, made: ResizableState) -> None:
    """Load the extents of this iteration."""
    for axis, variable in made.dims.items():
        context.results.dims[op.body, made.number, axis] = context.builder.builder.load(
            variable, typ=I64
        )


def appended(context: CodegenContext, node: Node) -> bool:
    """Append a Concat to the carried value that it begins with; returns whether it did."""
    made = context.carried.growable.get(node.operands[0])
    if made is None or made.after is not node or made.rows is None:
        return False
    old = made.shape(context)
    rows = context.builder.index(context.access.extent(node.shape[made.axis]))
    check_memory(context, node, made.room(context, old, rows))
    _grow(context, made, old, rows)
    context.access.buffers[made.state] = made.buffer(context)
    whole = context.access.buffers[made.state]
    join_into(context, whole, node, old[made.axis], node.operands[1:])
    context.access.buffers[node] = whole
    return True


def _grow(context: CodegenContext, made: ResizableState, old: Sequence[Index], rows: Any) -> None:
    """Ensure capacity for this many rows."""
    w, b = context.builder, context.builder.builder
    with w.rarely(b.icmp_signed(">", rows, b.load(made.rows, typ=I64))):
        room = b.load(made.rows, typ=I64)
        more = larger_of(w, larger_of(w, b.shl(room, w.index(1)), rows), w.index(made.least))
        shape = made.room(context, old, more)
        if context.schedule.order.is_dense(made.state):
            reserve(context, made.scratch, shape, made.state.dtype, keep=True)
        else:
            reserve(context, made.spare, shape, made.state.dtype)
            before = made.buffer(context)
            after = Buffer(made.spare.at(w), made.state.dtype, w.strides(shape), made.scope)
            with w.nest(old) as index:
                context.access.store(after, index, context.access.load(before, index))
            made.scratch.exchange(w, made.spare)
        b.store(more, made.rows)


def make_next(context: CodegenContext, op: Loop, made: ResizableState) -> None:
    """Compute the next value in other memory; the old value stays."""
    made.pending, made.new = None, None
    if made.after is made.state:
        return
    made.new = {
        axis: context.builder.index(context.access.extent(made.after.shape[axis]))
        for axis in made.dims
    }
    if made.rows is not None:
        return
    context.counts["remade"] += 1
    found = context.access.buffers.get(made.after)
    if found is not None and context.carried.scopes.get(made.after) == found.scope == made.scope:
        made.pending = found.owner
    if made.pending is None:
        buffer = allocate_in(context, made.spare, made.after, made.scope)
        copy_node(context, made.after, buffer, op.body)
        made.pending = made.spare


def take_next(context: CodegenContext, made: ResizableState) -> None:
    """Make the next value the carried one."""
    if made.pending is not None:
        made.scratch.exchange(context.builder, made.pending)
    for axis, value in (made.new or {}).items():
        context.builder.builder.store(value, made.dims[axis])


def end(context: CodegenContext, node: Node, made: ResizableState) -> None:
    """The final value and its extents."""
    for axis, variable in made.dims.items():
        context.results.dims[node, made.number, axis] = context.builder.builder.load(
            variable, typ=I64
        )
    context.results.values[node, made.number] = made.buffer(context)
