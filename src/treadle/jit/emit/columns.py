"""Items and stacked elements that are columns in memory: some iterations at a time, as rows.

if item n is not among the `count` from `base`:
    rows = the columns from n on, transposed              as many as a vector has elements
item n is row n - base

the element of iteration i is written to row i % width
if i % width == width - 1: the rows, transposed, go where they are stacked
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.emit.buffer import Buffer, dense_strides
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.place import MOST_IN_REGISTERS, Place, transposed_axes
from treadle.jit.emit.transpose import tile_width, transposed
from treadle.jit.emit.types import I64, in_memory
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Item, Loop, Node, Number, Shape, View, extents

Locate = Callable[[tuple[Index, ...], Index], Any]
"""Where the element of a column, by its index there, and of an iteration is."""


@dataclass(frozen=True, eq=False, slots=True)
class Items:
    """The rows of an item: variables for the first one's number, and how many there are."""

    node: Node
    rows: Buffer
    base: Any
    count: Any


def begin(e: Emitter, loop: Loop) -> list[Items]:
    """No rows yet of the items of the loop that are columns."""
    found = []
    for node in loop.body.nodes:
        if isinstance(node.op, Item) and _is_column(e, node):
            e.counts["columns"] += 1
            base, count = (e.w.variable(I64, llvm.Constant(I64, 0)) for _ in range(2))
            found.append(Items(node, rows(e, node), base, count))
    return found


def load(e: Emitter, items: list[Items]) -> None:
    """Have the rows of this iteration's items there."""
    for each in items:
        _load(e, each)


def rows(e: Emitter, node: Node) -> Buffer:
    """Memory for as many rows as a vector has elements."""
    shape = (tile_width(node), *extents(node))
    pointer = e.t.slots.workspace(prod(shape) * node.dtype.numpy.itemsize)
    return Buffer(pointer, node.dtype, dense_strides(shape), e.t.aliases.fresh())


def row(e: Emitter, buffer: Buffer, number: Any) -> Buffer:
    """One of the rows."""
    offset = e.w.multiply(number, buffer.strides[0])
    type_ = in_memory(buffer.dtype)
    start = e.w.builder.gep(buffer.pointer, [e.w.index(offset)], inbounds=True, source_etype=type_)
    return Buffer(start, buffer.dtype, buffer.strides[1:], buffer.scope)


def are_columns(item: Shape, count: Number, axis: int) -> bool:
    """Whether items along the axis of something dense are columns, many and large ones."""
    own = [extent for extent in item if extent != 1]
    if any(extent != 1 for extent in item[axis:]) or not own:
        return False
    if not all(isinstance(extent, int) for extent in item):
        return False
    size = prod(extent for extent in item if isinstance(extent, int))
    last = own[-1]
    is_large = size > MOST_IN_REGISTERS and isinstance(last, int) and last >= MOST_IN_REGISTERS
    return is_large and not (isinstance(count, int) and count < MOST_IN_REGISTERS)


def _is_column(e: Emitter, node: Node) -> bool:
    op, source = node.op, node.operands[0]
    assert isinstance(op, Item)
    if e.window is not None or e.t.place(node) is not Place.INLINE:
        return False
    count, axis = source.shape[op.axis], op.axis
    if e.t.place(source) is Place.INLINE:
        axes = transposed_axes(source)
        if axes is None or axes[0] != axis:
            return False
        source, axis = source.operands[0], len(node.shape)
    return (
        are_columns(node.shape, count, axis)
        and e.t.is_in_memory(source)
        and e.t.buffer(source).is_dense
    )


def _load(e: Emitter, items: Items) -> None:
    w, b, node = e.w, e.w.builder, items.node
    op, source = node.op, node.operands[0]
    assert isinstance(op, Item)
    number, width = w.index(e.t.item_number(node)), tile_width(node)
    distance = b.sub(number, b.load(items.base, typ=I64))
    is_due = b.icmp_unsigned(">=", distance, b.load(items.count, typ=I64))
    with b.if_then(is_due), e.t.scope():
        first = number
        if op.reverse:
            first = w.intrinsic("llvm.smax", I64, b.sub(number, w.index(width - 1)), w.index(0))
        left = b.sub(w.index(e.t.extent(source.shape[op.axis])), first)
        count = w.intrinsic("llvm.smin", I64, left, w.index(width))
        b.store(first, items.base)
        b.store(count, items.count)

        def locate(index: tuple[Index, ...], number: Index) -> Any:
            at = (*index[: op.axis], w.add(first, number), *index[op.axis :])
            return _address(e, source, at)

        _copy(e, node, items.rows, _scope(e, source), locate, count, into=True)
    own = b.sub(number, b.load(items.base, typ=I64))
    e.t.columns[node] = row(e, items.rows, own)


def _address(e: Emitter, source: Node, index: tuple[Index, ...]) -> Any:
    if e.t.place(source) is Place.INLINE and isinstance(source.op, View):
        index = tuple(e.t.along(axis, index) for axis in source.op.axes)
        source = source.operands[0]
    return e.t.address(e.t.buffer(source), index)


def _scope(e: Emitter, source: Node) -> str:
    is_inline = e.t.place(source) is Place.INLINE
    return e.t.buffer(source.operands[0] if is_inline else source).scope


def store(
    e: Emitter, node: Node, buffer: Buffer, whole: Buffer, axis: int, first: Any, count: Any
) -> None:
    """The rows of a stacked node to where they belong: `count` items of `axis` from `first`."""

    def locate(index: tuple[Index, ...], number: Index) -> Any:
        at = (*index[:axis], e.w.add(first, number), *index[axis:])
        return e.t.address(whole, at)

    _copy(e, node, buffer, whole.scope, locate, count, into=False)


def _copy(
    e: Emitter, node: Node, own: Buffer, scope: str, locate: Locate, count: Any, *, into: bool
) -> None:
    """`count` columns into rows, or rows into columns: full tiles by vectors."""
    b, width = e.w.builder, tile_width(node)
    is_full = b.icmp_signed("==", count, e.w.index(width))
    with b.if_else(is_full) as (full, partial):
        with full, e.t.scope():
            _tiles(e, node, own, scope, locate, into=into)
        with partial, e.w.nest(extents(node)) as index, e.w.range(count) as number, e.t.scope():
            _element(e, own, scope, locate, index, number, into=into)


def _element(
    e: Emitter,
    own: Buffer,
    scope: str,
    locate: Locate,
    index: tuple[Index, ...],
    number: Index,
    *,
    into: bool,
) -> None:
    there, here = locate(index, number), e.t.address(own, (number, *index))
    source, target = (there, here) if into else (here, there)
    value = e.w.builder.load(source, typ=in_memory(own.dtype))
    e.t.aliases.mark(value, scope if into else own.scope)
    stored = e.w.builder.store(value, target)
    e.t.aliases.mark(stored, own.scope if into else scope)


def _tiles(e: Emitter, node: Node, own: Buffer, scope: str, locate: Locate, *, into: bool) -> None:
    shape, width = extents(node), tile_width(node)
    last = max(k for k, extent in enumerate(shape) if extent != 1)
    full, rest = divmod(shape[last], width)
    around = [1 if k == last else extent for k, extent in enumerate(shape)]
    with e.w.nest(around) as others:
        with e.w.range(full) as tile, e.t.scope():
            start = e.w.multiply(tile, width)
            _tile(e, node, own, scope, locate, _at(e, others, last, start), last, into=into)
        with e.w.range(rest) as more, e.w.range(width) as number, e.t.scope():
            index = _at(e, others, last, e.w.add(more, full * width))
            _element(e, own, scope, locate, index, number, into=into)


def _at(e: Emitter, index: tuple[Index, ...], axis: int, more: Index) -> tuple[Index, ...]:
    return (*index[:axis], e.w.add(index[axis], more), *index[axis + 1 :])


def _tile(
    e: Emitter,
    node: Node,
    own: Buffer,
    scope: str,
    locate: Locate,
    start: tuple[Index, ...],
    last: int,
    *,
    into: bool,
) -> None:
    b, width, size = e.w.builder, tile_width(node), node.dtype.numpy.itemsize
    vector = llvm.VectorType(in_memory(node.dtype), width)
    columns = [locate(_at(e, start, last, k), 0) for k in range(width)]
    lines = [e.t.address(own, (k, *start)) for k in range(width)]
    sources, targets = (columns, lines) if into else (lines, columns)
    vectors = []
    for place in sources:
        vectors.append(b.load(place, typ=vector, align=size))
        e.t.aliases.mark(vectors[-1], scope if into else own.scope)
    for place, each in zip(targets, transposed(e, vectors), strict=True):
        e.t.aliases.mark(b.store(each, place, align=size), own.scope if into else scope)
