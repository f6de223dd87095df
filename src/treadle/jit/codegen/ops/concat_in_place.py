"""Memory of Concats; schedule/layouts/concat_operands.py says which operands are computed there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.iteration_space import copy_node, each_index
from treadle.jit.kernel.ir import Concat, Node, op_of, static_shape


def concat_memory(context: CodegenContext, node: Node) -> Buffer | None:
    """The part of a Concat's memory in which an operand is computed; None if it is not."""
    join = context.schedule.concats.into.get(node)
    return None if join is None else _part(context, join, node)


def written_whole(context: CodegenContext, join: Node) -> Buffer:
    """The memory of a Concat: of its operands, a part of another Concat's, or its own."""
    return (
        context.concats.buffers.pop(join, None)
        or concat_memory(context, join)
        or _own(context, join)
    )


def join_into(
    context: CodegenContext,
    buffer: Buffer,
    join: Node,
    first: Index,
    operands: Sequence[Node],
) -> None:
    """Write operands of a Concat one after the other, except those already in place."""
    axis, order = op_of(join, Concat).axis, context.schedule.order
    for operand in operands:
        index = tuple(first if k == axis else 0 for k in range(len(buffer.strides)))
        start = context.access.address(buffer, index)
        part = Buffer(start, buffer.dtype, buffer.strides, buffer.scope)
        if not _is_there(context, join, operand):
            with _write_invariant_operands(context, join, operand):
                copy_node(context, operand, part, join.home, order.in_concat(operand, join))
        first = context.builder.add(first, context.access.extent(operand.shape[axis]))


def _is_there(context: CodegenContext, join: Node, node: Node) -> bool:
    """Whether the operand is already in place."""
    return context.access.buffers.get(node) is context.concats.operands.get((join, node), 0)


@contextmanager
def _write_invariant_operands(context: CodegenContext, join: Node, operand: Node) -> Iterator[None]:
    """Run the block in every iteration, or only in the first if the operand stays in place."""
    if (join, operand) not in context.schedule.concats.once:
        yield
        return
    w = context.builder
    is_first = w.builder.icmp_signed("==", w.index(context.access.counters[join.home]), w.index(0))
    with w.builder.if_then(is_first), context.access.scope():
        yield


def interleaved_into(context: CodegenContext, join: Node, buffer: Buffer) -> bool:
    """Write rows of few elements, each of all operands, in one pass; whether this was done.

    One operand after the other would be written by single elements, each far from the next.
    """
    access, found = context.access, context.schedule.parallelism.get(join)
    if found is None:
        return False
    places = [(operand, k) for operand in join.operands for k in range(static_shape(operand)[-1])]
    with each_index(context, join.shape[:-1], found) as index, access.scope():
        for at, (operand, k) in enumerate(places):
            access.store(buffer, (*index, at), access.read(operand, (*index, k)))
    return True


def _own(context: CodegenContext, join: Node) -> Buffer:
    found = context.carried.double_buffers.get(join) or context.carried.sliding.get(join)
    return allocate(context, join) if found is None else found.target


def _part(context: CodegenContext, join: Node, node: Node) -> Buffer:
    op = op_of(join, Concat)
    if join not in context.concats.buffers:
        context.concats.buffers[join] = concat_memory(context, join) or _own(context, join)
    buffer = context.concats.buffers[join]
    first: Index = 0
    for operand in join.operands[: join.operands.index(node)]:
        first = context.builder.add(first, context.access.extent(operand.shape[op.axis]))
    index = tuple(first if k == op.axis else 0 for k in range(len(join.shape)))
    start = context.access.address(buffer, index)
    part = Buffer(start, node.dtype, buffer.strides, buffer.scope)
    context.concats.operands[join, node] = part
    return part
