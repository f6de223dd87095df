"""Scan items and stacked elements that are columns in memory, transposed in tiles.

`schedule/layouts/columns.py` says which.

if item n is not among the `count` from `base`:
    rows = the columns from n on, transposed              one vector of columns
item n is row n - base

the element of iteration i is written to row i % width, or from the last row on if the stack is
if i % width == width - 1: the rows are transposed into the stack
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.buffer import Buffer, dense_strides
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import NOT_VECTORIZED, Index
from treadle.jit.codegen.llvm_types import I64, memory_type
from treadle.jit.codegen.ops.transpose import transposed
from treadle.jit.kernel.ir import Node, ScanSlice, View, op_of, static_shape
from treadle.jit.schedule.layouts.columns import tile_width
from treadle.jit.schedule.storage import Storage

Locate = Callable[[tuple[Index, ...], Index], Any]
"""The address of an element of a column, by its index and an iteration."""


@dataclass(frozen=True, eq=False, slots=True)
class Items:
    """The buffered rows of an item: variables for the number of the first one, and their count."""

    node: Node
    rows: Buffer
    base: Any
    count: Any


def begin(context: CodegenContext, loop: Node) -> list[Items]:
    """Reset the buffered rows of the loop's items that are columns."""
    found = []
    for node in context.schedule.columns_of(loop).items:
        assert context.access.buffer(_source(context, node)).is_dense, (
            "columns of a tensor in parts"
        )
        context.counts["columns"] += 1
        base, count = (context.builder.variable(I64, llvm.Constant(I64, 0)) for _ in range(2))
        found.append(Items(node, rows(context, node), base, count))
    return found


def load(context: CodegenContext, items: list[Items]) -> None:
    """Ensure that the rows of this iteration's items are buffered."""
    for each in items:
        _load(context, each)


def rows(context: CodegenContext, node: Node) -> Buffer:
    """Memory for one vector of rows."""
    shape = (_width(context, node), *static_shape(node))
    pointer = context.access.slots.workspace(prod(shape) * node.dtype.numpy.itemsize)
    return Buffer(pointer, node.dtype, dense_strides(shape), context.access.aliases.fresh())


def row(context: CodegenContext, buffer: Buffer, number: Any) -> Buffer:
    """One of the rows."""
    offset = context.builder.multiply(number, buffer.strides[0])
    type_ = memory_type(buffer.dtype)
    start = context.builder.builder.gep(
        buffer.pointer, [context.builder.index(offset)], inbounds=True, source_etype=type_
    )
    return Buffer(start, buffer.dtype, buffer.strides[1:], buffer.scope)


def _source(context: CodegenContext, item: Node) -> Node:
    """The node in memory of which an item is a column."""
    (source,) = item.operands
    return source.operands[0] if context.access.storage_of(source) is Storage.INLINE else source


def _load(context: CodegenContext, items: Items) -> None:
    w, b, node = context.builder, context.builder.builder, items.node
    op, source = op_of(node, ScanSlice), node.operands[0]
    number, width = w.index(context.access.item_number(node)), _width(context, node)
    distance = b.sub(number, b.load(items.base, typ=I64))
    is_due = b.icmp_unsigned(">=", distance, b.load(items.count, typ=I64))
    with b.if_then(is_due), context.access.scope():
        first = number
        if op.reverse:
            first = w.intrinsic("llvm.smax", I64, b.sub(number, w.index(width - 1)), w.index(0))
        left = b.sub(w.index(context.access.extent(source.shape[op.axis])), first)
        count = w.intrinsic("llvm.smin", I64, left, w.index(width))
        b.store(first, items.base)
        b.store(count, items.count)

        def locate(index: tuple[Index, ...], number: Index) -> Any:
            at = (*index[: op.axis], w.add(first, number), *index[op.axis :])
            return _address(context, source, at)

        scope = context.access.buffer(_source(context, node)).scope
        _copy_columns(_Copy(context, node, items.rows, scope, locate, into=True), count)
    own = b.sub(number, b.load(items.base, typ=I64))
    context.access.columns[node] = row(context, items.rows, own)


def _address(context: CodegenContext, source: Node, index: tuple[Index, ...]) -> Any:
    if context.access.storage_of(source) is Storage.INLINE and isinstance(source.op, View):
        index = tuple(context.access.along(axis, index) for axis in source.op.axes)
        source = source.operands[0]
    return context.access.address(context.access.buffer(source), index)


def store(
    context: CodegenContext,
    node: Node,
    buffer: Buffer,
    whole: Buffer,
    axis: int,
    first: Any,
    count: Any,
) -> None:
    """Move the buffered rows of a stacked node: `count` items of `axis` from `first`."""

    def locate(index: tuple[Index, ...], number: Index) -> Any:
        at = (*index[:axis], context.builder.add(first, number), *index[axis:])
        return context.access.address(whole, at)

    _copy_columns(_Copy(context, node, buffer, whole.scope, locate, into=False), count)


def _width(context: CodegenContext, node: Node) -> int:
    return tile_width(node, context.builder.target.vector_bytes)


@dataclass(frozen=True, eq=False, slots=True)
class _Copy:
    """A copy of columns of a scope to rows (`into`), or of rows to columns."""

    context: CodegenContext
    node: Node
    rows: Buffer
    scope: str
    locate: Locate
    into: bool

    def move(self, columns: Sequence[Any], rows: Sequence[Any], type_: Any) -> None:
        """Copy what is at these addresses, transposed if it is vectors."""
        b, mark, size = self.context.builder.builder, self.context.access.aliases.mark, None
        scopes = (self.scope, self.rows.scope) if self.into else (self.rows.scope, self.scope)
        sources, targets = (columns, rows) if self.into else (rows, columns)
        if isinstance(type_, llvm.VectorType):
            size = self.node.dtype.numpy.itemsize
        values = []
        for address in sources:
            values.append(b.load(address, typ=type_, align=size))
            mark(values[-1], scopes[0])
        moved = values if size is None else transposed(self.context, values, size)
        for address, value in zip(targets, moved, strict=True):
            mark(b.store(value, address, align=size), scopes[1])

    def element(self, index: tuple[Index, ...], number: Index) -> None:
        """Copy one element."""
        there, here = (
            self.locate(index, number),
            self.context.access.address(self.rows, (number, *index)),
        )
        self.move([there], [here], memory_type(self.rows.dtype))

    def tile(self, start: tuple[Index, ...], last: int) -> None:
        """Copy a full tile by vectors."""
        width = _width(self.context, self.node)
        columns = [self.locate(_at(self.context, start, last, k), 0) for k in range(width)]
        rows = [self.context.access.address(self.rows, (k, *start)) for k in range(width)]
        self.move(columns, rows, llvm.VectorType(memory_type(self.node.dtype), width))


def _copy_columns(copy: _Copy, count: Any) -> None:
    """Copy `count` columns to rows, or rows to columns: full tiles by vectors."""
    context, b = copy.context, copy.context.builder.builder
    is_full = b.icmp_signed("==", count, context.builder.index(_width(context, copy.node)))
    with b.if_else(is_full) as (full, partial):
        with full, context.access.scope():
            _tiles(copy)
        with (
            partial,
            context.builder.nest(static_shape(copy.node)) as index,
            context.builder.range(count, hints=NOT_VECTORIZED) as number,
            context.access.scope(),
        ):
            copy.element(index, number)


def _tiles(copy: _Copy) -> None:
    context, shape, width = copy.context, static_shape(copy.node), _width(copy.context, copy.node)
    last = max(k for k, extent in enumerate(shape) if extent != 1)
    full, rest = divmod(shape[last], width)
    around = [1 if k == last else extent for k, extent in enumerate(shape)]
    with context.builder.nest(around) as others:
        with context.builder.range(full, hints=NOT_VECTORIZED) as tile, context.access.scope():
            start = context.builder.multiply(tile, width)
            copy.tile(_at(context, others, last, start), last)
        with (
            context.builder.range(rest) as more,
            context.builder.range(width, hints=NOT_VECTORIZED) as number,
            context.access.scope(),
        ):
            place = _at(context, others, last, context.builder.add(more, full * width))
            copy.element(place, number)


def _at(
    context: CodegenContext, index: tuple[Index, ...], axis: int, more: Index
) -> tuple[Index, ...]:
    return (*index[:axis], context.builder.add(index[axis], more), *index[axis + 1 :])
