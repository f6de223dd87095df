"""Emits matrix products of scan items with an invariant matrix, batched over iterations.

    if i % steps == 0:
        rows of min(steps, length - i) iterations = items @ right      one large product
    the product of iteration i is row i % steps

`schedule/distribution.py` says which products, and for how many iterations at once; products for
iterations that never run are discarded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.buffer import Buffer, dense_strides
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import I64, memory_type
from treadle.jit.codegen.ops.vector_product import row_reader
from treadle.jit.kernel.ir import Block, Node, ScanSlice, Take, static_shape
from treadle.jit.schedule.distribution import Distribution


def _length(context: CodegenContext, distribution: Distribution) -> Any:
    """The number of items, which is the most iterations that the loop runs."""
    item = distribution.between[-1]
    assert isinstance(item.op, ScanSlice | Take)
    extent = context.access.extent(item.operands[0].shape[item.op.axis])
    return context.builder.index(extent)


class BatchedProducts:
    """The products of several iterations while they are emitted."""

    def __init__(self, context: CodegenContext, node: Node, made: Distribution) -> None:
        self.context, self.between, self.steps = context, made.between, made.steps
        context.counts["ahead"] += 1
        self.home: Block = node.home
        self.rows = static_shape(node)[-2]
        self.counter = context.access.counters[self.home]
        self.length: Any = _length(context, made)
        shape = (self.steps, *static_shape(node))
        pointer = context.access.slots.workspace(prod(shape) * node.dtype.numpy.itemsize)
        columns = shape[-1]
        self.all = Buffer(pointer, node.dtype, (columns, 1), context.access.aliases.fresh())

    def count(self) -> Any:
        """The number of rows to compute: those of the remaining iterations."""
        b, w = self.context.builder.builder, self.context.builder
        left = b.sub(self.length, w.index(self.counter))
        most = w.index(self.steps)
        fewer = b.select(b.icmp_signed("<", left, most), left, most)
        return w.multiply(fewer, self.rows)

    def row(self, left: Node, row: Index) -> Callable[[Index], Any]:
        """A reader of a row of the left operand; `row` counts the rows of all iterations."""
        w = self.context.builder
        step, own = w.split(row, self.rows)
        with self.context.access.at_iteration(self.home, w.add(self.counter, step), self.between):
            if self.context.access.is_located(left):
                return row_reader(self.context, left, (own,))
        return partial(self._element, left, step, own)

    def _element(self, left: Node, step: Index, own: Index, position: Index) -> Any:
        w = self.context.builder
        with self.context.access.at_iteration(self.home, w.add(self.counter, step), self.between):
            return self.context.access.read(left, (own, position))

    def own(self, node: Node) -> Buffer:
        """The product of this iteration."""
        b, w = self.context.builder.builder, self.context.builder
        step = b.urem(w.index(self.counter), w.index(self.steps))
        offset = w.multiply(step, prod(static_shape(node)))
        type_ = memory_type(node.dtype)
        start = b.gep(self.all.pointer, [w.index(offset)], inbounds=True, source_etype=type_)
        return Buffer(start, node.dtype, dense_strides(static_shape(node)), self.all.scope)

    def is_due(self) -> Any:
        """Whether the products must be computed in this iteration."""
        b, w = self.context.builder.builder, self.context.builder
        step = b.urem(w.index(self.counter), w.index(self.steps))
        return b.icmp_signed("==", step, llvm.Constant(I64, 0))
