"""Packs matrices before the loops that multiply by them; schedule/layouts/packing.py says which."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.chunks import long_axis_in_chunks
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.ops.transpose import copy_by_index
from treadle.jit.kernel.ir import Constant, Node, static_shape
from treadle.jit.schedule.layouts.packing import Packing


def pack_matrices(
    context: CodegenContext, loop: Node, limit: Callable[[CodegenContext, Node], Any]
) -> None:
    """Pack the matrices that are packed before the loop, which is emitted next.

    `limit` emits the number of iterations it runs for at most.
    """
    for packing in context.schedule.packings.get(loop, ()):
        context.counts["laid_out"] += 1
        context.access.packed[packing.matrix] = _packed(
            context, packing, partial(limit, context, loop)
        )


@contextmanager
def packed_for_one_side(context: CodegenContext) -> Iterator[None]:
    """Forget afterwards what one side of a branch, emitted inside, has packed."""
    before = dict(context.access.packed)
    yield
    constants = {n: b for n, b in context.access.packed.items() if isinstance(n.op, Constant)}
    context.access.packed = {**before, **constants}


def _packed(context: CodegenContext, packing: Packing, limit: Callable[[], Any]) -> Buffer:
    w, matrix, width = context.builder, packing.matrix, packing.panel
    rows, columns = static_shape(matrix)
    strides = (rows * width, width, 1)
    if isinstance(matrix.op, Constant):
        pointer = context.access.slots.panels(matrix.op.array, width)
        return Buffer(pointer, matrix.dtype, strides, "given", panel=width)
    size = -(-columns // width) * rows * width * matrix.dtype.numpy.itemsize
    pointer, scope = context.access.slots.workspace(size), context.access.aliases.fresh()
    copy = Buffer(pointer, matrix.dtype, strides, scope, panel=width)
    if not packing.least:
        _copy(context, packing, copy)
        return copy
    is_due = w.builder.icmp_signed(">=", limit(), w.index(packing.least))
    with w.builder.if_then(is_due), context.access.scope():
        _copy(context, packing, copy)
    if packing.is_maybe:
        context.access.is_packed[matrix] = is_due
        return copy
    return _either(context, matrix, copy, is_due)


def _either(context: CodegenContext, matrix: Node, copy: Buffer, is_due: Any) -> Buffer:
    """The copy, or else the matrix as it is stored: its rows are those of wider panels."""
    w, stored = context.builder, context.access.buffer(matrix)
    assert stored.strides[1] == 1, "a matrix without rows in memory"
    pointer = w.builder.select(is_due, copy.pointer, stored.pointer)
    steps = copy.panel, stored.strides[0]
    strides = [
        w.builder.select(is_due, w.index(one), w.index(other))
        for one, other in zip(copy.strides, steps, strict=False)
    ]
    return replace(copy, pointer=pointer, strides=(*strides, 1))


def _copy(context: CodegenContext, packing: Packing, copy: Buffer) -> None:
    """Write the matrix to the copy: whole panels first, then the columns left over."""
    access, w, matrix, width = context.access, context.builder, packing.matrix, copy.panel
    if packing.turned is not None:
        copy_by_index(context, matrix, copy, packing.turned, access.read)
        return
    rows, columns = static_shape(matrix)
    panels, in_rows = replace(copy, panel=0), packing.in_rows
    full, rest = divmod(columns, width)
    for first, count, wide in ((0, full, width), (full, 1, rest)):
        if not count * wide:
            continue
        with (
            long_axis_in_chunks(context, (count,), packing.chunk) as (_, start, (own,)),
            w.nest((own, rows, 1 if in_rows else wide)) as (number, row, k),
            access.scope(),
        ):
            panel = w.add(w.add(first, start), number)
            source, target = (row, w.add(w.multiply(panel, width), k)), (panel, row, k)
            if in_rows:
                size = wide * matrix.dtype.numpy.itemsize
                w.copy(access.address(panels, target), access.located(matrix, source), size)
            else:
                access.store(panels, target, access.read(matrix, source))
