"""Allocates memory for nodes: of a result, in the kernel's workspace, or on the heap."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.ir import DType
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import OUT_OF_MEMORY, CodegenContext
from treadle.jit.codegen.failure import fail_if
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.heap_buffer import HeapBuffer, byte_size
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.kernel.ir import Node, Result
from treadle.jit.schedule.loops.facts import read_result


def allocate(context: CodegenContext, node: Node) -> Buffer:
    """Memory for a node: that of the result it is bound to, or the kernel's own."""
    access = context.access
    if node in context.schedule.in_results:
        pointer = access.slots.result(context.schedule.in_results[node])
        return Buffer(pointer, node.dtype, access.strides(node), access.aliases.fresh())
    if node.is_static:
        return access.allocate(node)
    return allocate_in(context, new_heap_buffer(context), node, alias_scope(context, node))


def alias_scope(context: CodegenContext, node: Node) -> str:
    """The alias scope of a node's memory."""
    return context.carried.scopes.get(node) or context.access.aliases.fresh()


def new_heap_buffer(context: CodegenContext) -> HeapBuffer:
    """A new heap buffer, empty at first."""
    context.heap_buffers.append(HeapBuffer.made(context.builder))
    return context.heap_buffers[-1]


def allocate_in(context: CodegenContext, heap_buffer: HeapBuffer, node: Node, scope: str) -> Buffer:
    """The heap buffer as memory for a node to write; its old content may be lost."""
    shape = context.access.shape(node)
    check_memory(context, node, shape)
    reserve(context, heap_buffer, shape, node.dtype)
    strides = context.builder.strides(shape)
    _count_work(context, shape)
    pointer = heap_buffer.at(context.builder)
    return Buffer(pointer, node.dtype, strides, scope, owner=heap_buffer)


def _count_work(context: CodegenContext, shape: Sequence[Index]) -> None:
    """Count about a nanosecond per element towards the next safepoint."""
    builder = context.builder
    ticks = context.safepoint.ticks
    left = builder.builder.load(ticks, typ=I64)
    builder.builder.store(builder.builder.sub(left, builder.index(builder.product(shape))), ticks)


def check_memory(context: CodegenContext, node: Node, shape: Sequence[Index]) -> None:
    """Count a value that a loop is about to hold, if the run limits bytes."""
    if node in context.memory.checks:
        context.memory.checks[node](shape)


def reserve(
    context: CodegenContext,
    heap_buffer: HeapBuffer,
    shape: Sequence[Index],
    dtype: DType,
    *,
    keep: bool = False,
) -> None:
    """Ensure room for the shape; the kernel fails if there is not enough memory."""
    size = byte_size(context.builder, shape, dtype.numpy.itemsize)
    is_there = heap_buffer.ensure(context.builder, size, keep=keep)
    fail_if(context, context.builder.builder.not_(is_there), OUT_OF_MEMORY)


def result_node(context: CodegenContext, node: Node, number: int) -> Node | None:
    """The Result node of a loop, branch or call; None if nothing reads it."""
    return read_result(context.access.places, context.kernel, node, number)


def reused_buffers(context: CodegenContext, node: Node) -> dict[int, Buffer]:
    """The memory that results of a loop or branch take over, by number."""
    taken = context.schedule.reused.taken
    return {
        part.op.number: context.access.buffers[taken[part]]
        for part in context.access.places.readers.get(node, ())
        if isinstance(part.op, Result) and part in taken
    }
