"""Packs matrices before the loops that multiply by them; schedule/layouts/packing.py says which."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.ops.batched_matmul import runs_briefly
from treadle.jit.codegen.ops.transpose import copy_view
from treadle.jit.kernel.ir import Constant, Node, static_shape
from treadle.jit.schedule.layouts.packing import Packing


@contextmanager
def packed_matrices(context: CodegenContext, loop: Node) -> Iterator[None]:
    """Pack the matrices that are packed before the loop, which is emitted inside."""
    made = context.schedule.packings.get(loop, ())
    for packing in made:
        context.counts["laid_out"] += 1
        context.access.packed[packing.matrix] = _packed(context, packing)
    yield
    for packing in made:
        if packing.products:
            del context.access.packed[packing.matrix]


@contextmanager
def packed_for_one_side(context: CodegenContext) -> Iterator[None]:
    """Forget afterwards what one side of a branch, emitted inside, has packed."""
    before = dict(context.access.packed)
    yield
    constants = {n: b for n, b in context.access.packed.items() if isinstance(n.op, Constant)}
    context.access.packed = {**before, **constants}


def _packed(context: CodegenContext, packing: Packing) -> Buffer:
    matrix = packing.matrix
    if isinstance(matrix.op, Constant) and packing.panel:
        width, size = packing.panel, static_shape(matrix)[0] * packing.panel
        pointer = context.access.slots.panels(matrix.op.array, width)
        in_panels = (size, width, 1)
        return Buffer(pointer, matrix.dtype, in_panels, "given", is_dense=False, panel=width)
    strides = (packing.stride, 1)
    if isinstance(matrix.op, Constant):
        pointer = context.access.slots.laid(matrix.op.array, packing.stride)
        return Buffer(pointer, matrix.dtype, strides, "given", is_dense=False)
    rows, _ = static_shape(matrix)
    size = rows * packing.stride * matrix.dtype.numpy.itemsize
    pointer = context.access.slots.workspace(size)
    buffer = Buffer(pointer, matrix.dtype, strides, context.access.aliases.fresh(), is_dense=False)
    if not packing.products:
        copy_view(context, matrix, buffer, 0.0, context.access.read)
        return buffer
    is_short = reduce(context.builder.builder.and_, _are_short(context, packing))
    with context.builder.builder.if_then(context.builder.builder.not_(is_short)):
        copy_view(context, matrix, buffer, 0.0, context.access.read)
    return buffer


def _are_short(context: CodegenContext, packing: Packing) -> list[Any]:
    """Whether the loop of each product runs for so few iterations that the copy is not read."""
    found = [runs_briefly(context, product) for product in packing.products]
    assert all(each is not None for each in found), "a product needs the copy always"
    return found
