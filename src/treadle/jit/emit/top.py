"""The first of an axis in order: a heap of the best so far, the worst of them on top.

    heap = the first `count`, with their places
    for each of the others: if it comes before the top, it takes the top's place
    the top goes to the last place that is free, until none is left

A key and its place are one number, the key in front, so of equal keys the first one comes first.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from treadle.jit.emit.buffer import Buffer, Flat, dense_strides
from treadle.jit.emit.emitter import OUT_OF_MEMORY, Emitter
from treadle.jit.emit.heap import sifting, sorting
from treadle.jit.emit.place import Place
from treadle.jit.emit.scratch import byte_size
from treadle.jit.emit.types import I32, I64, in_memory, in_register, is_signed
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Node, Top, extents

_NARROW, _BLOCK = 32, 16
_MANY, _MOST_OF = 128, 16
_DIGIT = 8


def emit_top(e: Emitter, node: Node) -> None:
    """The places, into registers or memory."""
    op, t = node.op, e.t
    assert isinstance(op, Top)
    is_small = t.place(node) is Place.REGISTERS
    buffer = _small(e, node) if is_small else e.allocate(node)
    keys = node.operands[0]
    count, shape = t.shape(node)[op.axis], t.shape(keys)
    heap = _Heap(e, keys, op.axis, count)
    with e.w.nest((*shape[: op.axis], *shape[op.axis + 1 :])) as rest, t.scope():
        if isinstance(count, int):
            heap.choose(rest, buffer)
        else:
            with e.w.builder.if_then(e.w.builder.icmp_signed(">", count, e.w.index(0))):
                heap.choose(rest, buffer)
    if is_small:
        t.keep(node, [t.load(buffer, Flat(position)) for position in range(node.size)])
    else:
        t.buffers[node] = buffer


def _small(e: Emitter, node: Node) -> Buffer:
    pointer = e.w.variable(in_memory(node.dtype), count=max(node.size, 2))
    return Buffer(pointer, node.dtype, dense_strides(extents(node)), e.t.aliases.fresh())


class _Heap:
    """The heap of one row; its memory serves all rows."""

    def __init__(self, e: Emitter, keys: Node, axis: int, count: Index) -> None:
        self.e, self.keys, self.axis, self.count = e, keys, axis, count
        self.extent = e.t.shape(keys)[axis]
        bits = 8 * keys.dtype.numpy.itemsize
        self.half = _NARROW if bits <= _NARROW else 2 * _NARROW
        self.type = llvm.IntType(2 * self.half)
        self.is_signed = is_signed(keys.dtype)
        self.is_whole = _is_many(count, self.extent)
        self.is_sorted = self.is_whole or (isinstance(count, int) and count >= _MANY)
        size = self.extent if self.is_whole else count
        self.memory = self._room(size)
        self.spare = self._room(size) if self.is_sorted else None

    def _room(self, count: Index) -> Any:
        item = self.type.width // 8
        if isinstance(count, int):
            return self.e.t.slots.workspace(count * item)
        scratch, w = self.e.scratch(), self.e.w
        is_there = scratch.ensure(w, byte_size(w, (count,), item), keep=False)
        self.e.fail_if(w.builder.not_(is_there), OUT_OF_MEMORY)
        return scratch.at(w)

    def choose(self, rest: tuple[Index, ...], buffer: Buffer) -> None:
        """The places of one row into memory."""
        e, w, b = self.e, self.e.w, self.e.w.builder
        size = w.index(self.extent if self.is_whole else self.count)
        with w.range(size) as i, e.t.scope():
            b.store(self._entry(rest, i), self._at(i))
        if not self.is_whole:
            self._select(rest, size)
        if self.is_sorted:
            self._put_in_order(size)
            with w.range(self.count) as i, e.t.scope():
                self._give(rest, buffer, i, b.load(self._at(i), typ=self.type))
        else:
            self._take_down(rest, buffer, size)

    def _select(self, rest: tuple[Index, ...], count: Any) -> None:
        """The first entries made a heap, then those behind that come before its top put in."""
        w, b = self.e.w, self.e.w.builder
        half = b.lshr(count, llvm.Constant(I64, 1))
        with w.range(half) as j:
            at = b.sub(b.sub(half, llvm.Constant(I64, 1)), w.index(j))
            self._sift(count, at, b.load(self._at(at), typ=self.type))
        worst = w.variable(self.type, b.load(self._at(0), typ=self.type))
        left, done = b.sub(w.index(self.extent), count), llvm.Constant(I64, 0)
        if self._has_rows():
            blocks = b.lshr(left, llvm.Constant(I64, _BLOCK.bit_length() - 1))
            with w.range(blocks) as j:
                first = b.add(count, w.index(w.multiply(j, _BLOCK)))
                with w.rarely(self._has_better(rest, first, worst)), w.range(_BLOCK) as k:
                    self._replace(rest, b.add(first, w.index(k)), worst)
            done = w.index(w.multiply(blocks, _BLOCK))
        with w.range(b.sub(left, done)) as j:
            self._replace(rest, b.add(b.add(count, done), w.index(j)), worst)

    def _replace(self, rest: tuple[Index, ...], at: Any, worst: Any) -> None:
        """Put the entry of a place into the heap where it comes before its top, the worst."""
        e, b = self.e, self.e.w.builder
        with e.t.scope():
            entry = self._entry(rest, at)
            with e.w.rarely(self._compare("<", entry, b.load(worst, typ=self.type))):
                self._sift(e.w.index(self.count), llvm.Constant(I64, 0), entry)
                b.store(b.load(self._at(0), typ=self.type), worst)

    def _has_rows(self) -> bool:
        """Whether keys that follow each other along the axis do so in memory."""
        found = self.e.t.buffers.get(self.keys)
        return found is not None and found.strides[self.axis] == 1

    def _has_better(self, rest: tuple[Index, ...], first: Any, worst: Any) -> Any:
        """Whether one of a block of keys is smaller than that of the worst."""
        b, key = self.e.w.builder, in_register(self.keys.dtype)
        place = self.e.t.address(self.e.t.buffers[self.keys], self._index(rest, first))
        keys = b.load(place, align=key.width // 8, typ=llvm.VectorType(key, _BLOCK))
        high = b.lshr(b.load(worst, typ=self.type), llvm.Constant(self.type, self.half))
        undefined = llvm.Constant(keys.type, llvm.Undefined)
        one = b.insert_element(undefined, b.trunc(high, key), llvm.Constant(I32, 0))
        nowhere = llvm.Constant(llvm.VectorType(I32, _BLOCK), [0] * _BLOCK)
        found = self._compare("<", keys, b.shuffle_vector(one, undefined, nowhere))
        bits = llvm.IntType(_BLOCK)
        return b.icmp_unsigned("!=", b.bitcast(found, bits), llvm.Constant(bits, 0))

    def _put_in_order(self, size: Any) -> None:
        """The entries in order; those of a heap are in no order, not even of their places."""
        bits = self.extent.bit_length() if isinstance(self.extent, int) else _NARROW
        places = 0 if self.is_whole else -(-bits // _DIGIT)
        function = sorting(self.e.w, self.type, places, is_signed=self.is_signed)
        self.e.w.builder.call(function, [self.memory, self.spare, size])

    def _take_down(self, rest: tuple[Index, ...], buffer: Buffer, size: Any) -> None:
        """The top to the last place that is free, until none is left."""
        e, w, b = self.e, self.e.w, self.e.w.builder
        end = b.sub(size, llvm.Constant(I64, 1))
        with w.range(self.count) as j, e.t.scope():
            free = b.sub(end, w.index(j))
            top = b.load(self._at(0), typ=self.type)
            self._sift(free, llvm.Constant(I64, 0), b.load(self._at(free), typ=self.type))
            self._give(rest, buffer, free, top)

    def _give(self, rest: tuple[Index, ...], buffer: Buffer, at: Any, entry: Any) -> None:
        b = self.e.w.builder
        place = b.and_(entry, llvm.Constant(self.type, (1 << self.half) - 1))
        self.e.t.store(buffer, self._index(rest, at), _resized(b, place, I64))

    def _index(self, rest: tuple[Index, ...], at: Index) -> tuple[Index, ...]:
        return (*rest[: self.axis], at, *rest[self.axis :])

    def _entry(self, rest: tuple[Index, ...], at: Index) -> Any:
        """The key at a place of the row, and the place."""
        b = self.e.w.builder
        key = self.e.t.read(self.keys, self._index(rest, at))
        wide = b.sext(key, self.type) if self.is_signed else b.zext(key, self.type)
        high = b.shl(wide, llvm.Constant(self.type, self.half))
        return b.or_(high, _resized(b, self.e.w.index(at), self.type))

    def _at(self, number: Index) -> Any:
        b = self.e.w.builder
        return b.gep(self.memory, [self.e.w.index(number)], source_etype=self.type, inbounds=True)

    def _compare(self, sign: str, left: Any, right: Any) -> Any:
        b = self.e.w.builder
        return (b.icmp_signed if self.is_signed else b.icmp_unsigned)(sign, left, right)

    def _sift(self, count: Any, at: Any, entry: Any) -> None:
        function = sifting(self.e.w, self.type, is_signed=self.is_signed)
        self.e.w.builder.call(function, [self.memory, count, at, entry])


def _is_many(count: Index, extent: Index) -> bool:
    """Whether so many are wanted that all may as well be put in order."""
    if not isinstance(count, int) or not isinstance(extent, int):
        return False
    return count >= _MANY and count * _MOST_OF >= extent


def _resized(b: llvm.IRBuilder, value: Any, type_: Any) -> Any:
    if value.type.width == type_.width:
        return value
    return b.trunc(value, type_) if value.type.width > type_.width else b.zext(value, type_)
