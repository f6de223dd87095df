"""Scatter: writes elements by index, in place if the old value is not read any more.

A carried value that is only scattered to is updated in place
(schedule/layouts/reused_memory.py), so an iteration costs only its updates. Other tensors are
copied once, at the first of several Scatters.
"""

from __future__ import annotations

from typing import Any

from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.buffer import Buffer, Flat, Indices, dense_strides
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.iteration_space import copy_node
from treadle.jit.codegen.llvm_types import memory_type
from treadle.jit.codegen.ops.gather import checked_index, depth_of, gather_index
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel.ir import Node, Scatter, op_of, static_shape
from treadle.jit.schedule.storage import Storage
from treadle.jit.schedule.update_chains import has_scalar_stores


def emit_scatter(context: CodegenContext, node: Node) -> None:
    """The tensor with the updates applied, in registers or memory."""
    t = context.access
    buffer = _target(context, node)
    _write(context, node, buffer)
    if t.storage_of(node) is Storage.REGISTERS:
        t.keep(node, [t.load(buffer, Flat(position)) for position in range(node.size)])
        return
    t.buffers[node] = buffer


def _target(context: CodegenContext, node: Node) -> Buffer:
    """The memory of the old value, if it can be reused, or a copy of it."""
    data = node.operands[0]
    if context.access.storage_of(node) is Storage.REGISTERS:
        shape = static_shape(node)
        pointer = context.builder.variable(memory_type(node.dtype), count=max(node.size, 2))
        buffer = Buffer(pointer, node.dtype, dense_strides(shape), context.access.aliases.fresh())
    elif node in context.schedule.reused.taken:
        return context.access.buffers[data]
    else:
        buffer = allocate(context, node)
    copy_node(context, data, buffer, node.home)
    return buffer


def _write(context: CodegenContext, node: Node, buffer: Buffer) -> None:
    op, t = op_of(node, Scatter), context.access
    data, updates, *indices = node.operands
    shape, depth = t.shape(updates), depth_of(indices)
    with context.builder.nest(shape[:depth]) as at, t.scope():
        found = checked_index(context, op, data, indices, at)
        with context.builder.nest(shape[depth:]) as rest, t.scope():
            index = (*at, *rest)
            position = gather_index(context, op.axes, found, index)
            value = _combined(context, node, buffer, position, t.read(updates, index))
            t.store(buffer, position, value, is_scalar=has_scalar_stores(node))


def _combined(
    context: CodegenContext, node: Node, buffer: Buffer, index: Indices, update: Any
) -> Any:
    op, dtype = op_of(node, Scatter), node.dtype
    if not op.function:
        return update
    old = context.access.load(buffer, index)
    return functions.apply(context.builder, op.function, (dtype, dtype), dtype, old, update)
