"""Products of what a loop slices with what it does not change: for many iterations at once.

    if i % steps == 0:
        rows of min(steps, length - i) iterations = items @ right      one large product
    the product of iteration i is row i % steps

As many iterations as fit into fast memory; what is computed for one that never runs is forgotten.
"""

from __future__ import annotations

from math import prod
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.emit.buffer import Buffer, dense_strides
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.place import Place
from treadle.jit.emit.types import I64, in_memory
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Block, Counter, Item, Node, Pick, Reshape, View, extents

_FEWEST, _MOST = 8, 64
_ROOM = 32_768
_LITTLE = 1024


def sliced(e: Emitter, node: Node) -> tuple[Node, ...]:
    """The nodes between the left operand and the items it is made of; () where it is not."""
    left, right = node.operands
    home = node.home
    is_invariant = right.home is not home and right.home.depth < home.depth
    size = prod(extents(right))
    if not home.is_loop or not is_invariant or size < _LITTLE or len(right.shape) != 2:
        return ()
    if e.t.place(node) is not Place.BUFFER:
        return ()
    found: list[Node] = []
    while left.home is home and isinstance(left.op, Item | Pick | View | Reshape):
        found.append(left)
        left = left.operands[0]
    is_item = bool(found) and _is_item(found[-1]) and left.home is not home
    return tuple(found) if is_item and not any(map(_is_item, found[:-1])) else ()


def _is_item(node: Node) -> bool:
    """Whether it is an item of its operand, whose number is that of the iteration."""
    return isinstance(node.op, Item) or counts(node)


def counts(node: Node) -> bool:
    """Whether it picks the item whose number is that of the iteration."""
    if not isinstance(node.op, Pick):
        return False
    index = node.operands[1]
    while isinstance(index.op, View | Reshape) and index.size == 1 and index.operands[0].size == 1:
        index = index.operands[0]
    return isinstance(index.op, Counter) and index.home is node.home


def steps(node: Node) -> int:
    """Of how many iterations the products are made at once."""
    return min(max(_ROOM // prod(extents(node)), _FEWEST), _MOST)


class Ahead:
    """The products of some iterations while they are written."""

    def __init__(self, e: Emitter, node: Node, between: tuple[Node, ...]) -> None:
        self.e, self.between = e, between
        e.counts["ahead"] += 1
        self.home: Block = node.home
        self.steps = steps(node)
        self.rows = extents(node)[-2]
        self.counter = e.t.counters[self.home]
        item = between[-1]
        assert isinstance(item.op, Item | Pick)
        self.length: Any = e.w.index(e.t.extent(item.operands[0].shape[item.op.axis]))
        shape = (self.steps, *extents(node))
        pointer = e.t.slots.workspace(prod(shape) * node.dtype.numpy.itemsize)
        columns = shape[-1]
        self.all = Buffer(pointer, node.dtype, (columns, 1), e.t.aliases.fresh())

    def count(self) -> Any:
        """How many rows are to be made: those of the iterations there are."""
        b, w = self.e.w.builder, self.e.w
        left = b.sub(self.length, w.index(self.counter))
        most = w.index(self.steps)
        fewer = b.select(b.icmp_signed("<", left, most), left, most)
        return w.multiply(fewer, self.rows)

    def left(self, left: Node, row: Index, k: Index) -> Any:
        """An element of the left operand: `row` counts through the rows of all iterations."""
        w = self.e.w
        step, own = w.split(row, self.rows)
        with self.e.t.at_iteration(self.home, w.add(self.counter, step), self.between):
            return self.e.t.read(left, (own, k))

    def own(self, node: Node) -> Buffer:
        """The product of this iteration."""
        b, w = self.e.w.builder, self.e.w
        step = b.urem(w.index(self.counter), w.index(self.steps))
        offset = w.multiply(step, prod(extents(node)))
        type_ = in_memory(node.dtype)
        start = b.gep(self.all.pointer, [w.index(offset)], inbounds=True, source_etype=type_)
        return Buffer(start, node.dtype, dense_strides(extents(node)), self.all.scope)

    def is_due(self) -> Any:
        """Whether the products are to be made in this iteration."""
        b, w = self.e.w.builder, self.e.w
        step = b.urem(w.index(self.counter), w.index(self.steps))
        return b.icmp_signed("==", step, llvm.Constant(I64, 0))
