"""Concat elision: operands are computed directly in the memory of the Concat.

A tensor that only a Concat reads is stored in its part of the Concat's memory, through nested
Concats, so that padded interiors are written once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.kernel.ir import CarriedArg, Concat, Node, Scatter, static_shape
from treadle.jit.schedule.storage import Storage


def concat_memory(
    context: CodegenContext, node: Node, nest: Collection[Node] = ()
) -> Buffer | None:
    """The part of a Concat's memory for an operand; None unless only that Concat reads it.

    `nest` are the nodes that read it while it is in a register.
    """
    readers = [each for each in context.access.places.readers.get(node, ()) if each not in nest]
    if len(readers) != 1 or node in context.kernel.results or not _takes(context, readers[0], node):
        return None
    return _part(context, readers[0], node)


def written_whole(context: CodegenContext, join: Node) -> Buffer:
    """The memory of a Concat: of its operands, a part of another Concat's, or its own."""
    return (
        context.concats.buffers.pop(join, None)
        or concat_memory(context, join)
        or _own(context, join)
    )


def is_there(context: CodegenContext, join: Node, node: Node) -> bool:
    """Whether the operand is already in place."""
    return context.access.buffers.get(node) is context.concats.operands.get((join, node), 0)


@contextmanager
def write_invariant_operands(
    context: CodegenContext, join: Node | None, operand: Node
) -> Iterator[None]:
    """Run the block in every iteration, or only in the first if the operand stays in place."""
    if join is None or not _stays(context, join, operand):
        yield
        return
    w = context.builder
    is_first = w.builder.icmp_signed("==", w.index(context.access.counters[join.home]), w.index(0))
    with w.builder.if_then(is_first), context.access.scope():
        yield


def _own(context: CodegenContext, join: Node) -> Buffer:
    found = context.carried.double_buffers.get(join)
    return allocate(context, join) if found is None else found.target


def _stays(context: CodegenContext, join: Node, operand: Node) -> bool:
    """Whether the loop changes neither the operand nor its part of the memory."""
    is_known = join.home.is_loop and operand.home.depth < join.home.depth
    while (
        is_known
        and join.is_static
        and join not in context.carried.double_buffers
        and _is_left_alone(context, join)
    ):
        (reader, *others) = context.access.places.readers.get(join, (join,))
        if others or not _takes(context, reader, join):
            return True
        join = reader
    return False


def _is_left_alone(context: CodegenContext, join: Node) -> bool:
    readers = context.access.places.readers.get(join, ())
    return not any(isinstance(reader.op, Scatter) for reader in readers)


def _takes(context: CodegenContext, join: Node, node: Node) -> bool:
    if not isinstance(join.op, Concat) or join.home is not node.home or not join.is_static:
        return False
    is_plain = all(o.is_static and not isinstance(o.op, CarriedArg) for o in join.operands)
    is_lone = join.operands.count(node) == 1
    return is_plain and is_lone and context.access.storage_of(join) is Storage.BUFFER


def _part(context: CodegenContext, join: Node, node: Node) -> Buffer:
    op = join.op
    assert isinstance(op, Concat)
    if join not in context.concats.buffers:
        context.concats.buffers[join] = concat_memory(context, join) or _own(context, join)
    buffer, first = context.concats.buffers[join], 0
    for operand in join.operands:
        if operand is node:
            break
        first += static_shape(operand)[op.axis]
    index = tuple(first if k == op.axis else 0 for k in range(len(join.shape)))
    is_whole = buffer.is_dense and all(extent == 1 for extent in node.shape[: op.axis])
    start = context.access.address(buffer, index)
    part = Buffer(start, node.dtype, buffer.strides, buffer.scope, is_dense=is_whole)
    context.concats.operands[join, node] = part
    return part
