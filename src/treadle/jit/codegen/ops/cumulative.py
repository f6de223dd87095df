"""Cumulative sums and products along an axis: each element from the previous one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.ops.reduced_element import neutral
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel.ir import Cumulative, Node, op_of, static_shape
from treadle.jit.schedule.storage import Storage


def emit_cumulative(context: CodegenContext, node: Node) -> None:
    """The sums, into registers or memory; rows before and after the axis are independent."""
    op, t = op_of(node, Cumulative), context.access
    if t.storage_of(node) is Storage.REGISTERS:
        _unrolled(context, node, op)
        return
    buffer = allocate(context, node)
    count = t.shape(node)[op.axis]
    if not isinstance(count, int):
        with context.builder.builder.if_then(
            context.builder.builder.icmp_signed(">", count, context.builder.index(0))
        ):
            _walk(context, node, op, buffer)
    elif count:
        _walk(context, node, op, buffer)
    t.buffers[node] = buffer


def _walk(context: CodegenContext, node: Node, op: Cumulative, buffer: Buffer) -> None:
    t, shape = context.access, context.access.shape(node)
    with context.builder.nest(shape[: op.axis]) as before:
        with context.builder.nest(shape[op.axis + 1 :]) as after, t.scope():
            t.store(buffer, (*before, 0, *after), _first(context, node, op, (*before, 0, *after)))
        left = context.builder.add(shape[op.axis], -1)
        with context.builder.range(left) as k, context.builder.nest(shape[op.axis + 1 :]) as after:
            _next(context, node, op, buffer, (before, k, after))


def _first(context: CodegenContext, node: Node, op: Cumulative, index: Sequence[Index]) -> Any:
    if op.exclusive:
        return neutral(op.function, node.dtype)
    return context.access.read(node.operands[0], tuple(index))


def _next(
    context: CodegenContext,
    node: Node,
    op: Cumulative,
    buffer: Buffer,
    at: tuple[Sequence[Index], Index, Sequence[Index]],
) -> None:
    before, k, after = at
    here = context.builder.add(k, 1)
    with context.access.scope():
        last = context.access.load(buffer, (*before, k, *after))
        taken = k if op.exclusive else here
        element = context.access.read(node.operands[0], (*before, taken, *after))
        context.access.store(
            buffer, (*before, here, *after), _sum(context, node, op, last, element)
        )


def _sum(context: CodegenContext, node: Node, op: Cumulative, last: Any, element: Any) -> Any:
    dtype = node.dtype
    return functions.apply(context.builder, op.function, (dtype, dtype), dtype, last, element)


def _unrolled(context: CodegenContext, node: Node, op: Cumulative) -> None:
    made: dict[tuple[int, ...], Any] = {}
    for index in product(*map(range, static_shape(node))):
        k = index[op.axis]
        if k == 0:
            made[index] = _first(context, node, op, index)
            continue
        last = (*index[: op.axis], k - 1, *index[op.axis + 1 :])
        element = context.access.read(node.operands[0], last if op.exclusive else index)
        made[index] = _sum(context, node, op, made[last], element)
    context.access.keep(node, list(made.values()))
