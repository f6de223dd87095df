"""ArgTopK: a heap of the best items so far, a radix sort of all, or ranks of few (ranks.py).

    heap = the first `count` entries
    for each of the others: if it precedes the top, it replaces the top
    pop the top to the last free position, until the heap is empty

An entry combines a key and its position in one number, the key in front, so equal keys keep their
order.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.allocation import allocate, new_heap_buffer
from treadle.jit.codegen.buffer import Buffer, Flat, dense_strides
from treadle.jit.codegen.context import OUT_OF_MEMORY, CodegenContext
from treadle.jit.codegen.failure import fail_if, is_in_parallel_part
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.heap_buffer import byte_size
from treadle.jit.codegen.llvm_types import I64, memory_type, register_type
from treadle.jit.codegen.ops.heap import DIGIT_BITS, heap_sift, sort_passes
from treadle.jit.codegen.ops.ranks import write_by_ranks
from treadle.jit.codegen.safepoint import poll_after
from treadle.jit.kernel.element_types import is_signed
from treadle.jit.kernel.ir import ArgTopK, Node, op_of, static_shape
from treadle.jit.schedule.steps.forms import SIFT_NS, SORT_NS, Form, StepForm
from treadle.jit.schedule.storage import Storage

_NARROW_BITS = 32
"""Width of a key that shares a 64-bit heap entry with its index."""


def emit_topk(context: CodegenContext, node: Node) -> None:
    """The indices, in registers or memory."""
    op, t = op_of(node, ArgTopK), context.access
    is_small = t.storage_of(node) is Storage.REGISTERS
    buffer = _small(context, node) if is_small else allocate(context, node)
    keys = node.operands[0]
    count, shape = t.shape(node)[op.axis], t.shape(keys)
    form = context.schedule.form_of(node)
    heap = None if form.form is Form.RANKS else _Heap(context, keys, op.axis, count, form)
    with context.builder.nest((*shape[: op.axis], *shape[op.axis + 1 :])) as rest, t.scope():
        if heap is None:
            write_by_ranks(context, node, rest, buffer)
        elif isinstance(count, int):
            heap.choose(rest, buffer)
        else:
            with context.builder.builder.if_then(
                context.builder.builder.icmp_signed(">", count, context.builder.index(0))
            ):
                heap.choose(rest, buffer)
    if is_small:
        t.keep(node, [t.load(buffer, Flat(position)) for position in range(node.size)])
    else:
        t.buffers[node] = buffer


def _small(context: CodegenContext, node: Node) -> Buffer:
    pointer = context.builder.variable(memory_type(node.dtype), count=max(node.size, 2))
    return Buffer(
        pointer, node.dtype, dense_strides(static_shape(node)), context.access.aliases.fresh()
    )


class _Heap:
    """The heap of one row; all rows share its memory."""

    def __init__(
        self, context: CodegenContext, keys: Node, axis: int, count: Index, form: StepForm
    ) -> None:
        self.context, self.keys, self.axis, self.count = context, keys, axis, count
        self.extent = context.access.shape(keys)[axis]
        bits = 8 * keys.dtype.numpy.itemsize
        self.half = _NARROW_BITS if bits <= _NARROW_BITS else 2 * _NARROW_BITS
        self.type = llvm.IntType(2 * self.half)
        self.is_signed = is_signed(keys.dtype)
        self.polls, self.together = form.polls, form.together
        self.is_whole = form.form is Form.SORT
        self.is_sorted = form.form is not Form.HEAP
        size = self.extent if self.is_whole else count
        self.memory = self._room(size)
        self.spare = self._room(size) if self.is_sorted else None

    def _room(self, count: Index) -> Any:
        item = self.type.width // 8
        if isinstance(count, int):
            return self.context.access.slots.workspace(count * item)
        scratch, w = new_heap_buffer(self.context), self.context.builder
        is_there = scratch.ensure(w, byte_size(w, (count,), item), keep=False)
        fail_if(self.context, w.builder.not_(is_there), OUT_OF_MEMORY)
        return scratch.at(w)

    def choose(self, rest: tuple[Index, ...], buffer: Buffer) -> None:
        """Write the indices of one row to memory."""
        e, w, b = self.context, self.context.builder, self.context.builder.builder
        size = w.index(self.extent if self.is_whole else self.count)
        with w.range(size) as i, e.access.scope():
            b.store(self._entry(rest, i), self._at(i))
        if not self.is_whole:
            self._select(rest, size)
        if self.is_sorted:
            self._put_in_order(size)
            with w.range(self.count) as i, e.access.scope():
                self._give(rest, buffer, i, b.load(self._at(i), typ=self.type))
        else:
            self._take_down(rest, buffer, size)

    def _select(self, rest: tuple[Index, ...], count: Any) -> None:
        """Build a heap of the first entries, then insert later ones that precede its top."""
        w, b = self.context.builder, self.context.builder.builder
        half = b.lshr(count, llvm.Constant(I64, 1))
        with w.range(half) as j:
            self._poll(SIFT_NS)
            at = b.sub(b.sub(half, llvm.Constant(I64, 1)), w.index(j))
            self._sift(count, at, b.load(self._at(at), typ=self.type))
        worst = w.variable(self.type, b.load(self._at(0), typ=self.type))
        left, done = b.sub(w.index(self.extent), count), llvm.Constant(I64, 0)
        if self.together:
            blocks = b.lshr(left, llvm.Constant(I64, self.together.bit_length() - 1))
            with w.range(blocks) as j:
                first = b.add(count, w.index(w.multiply(j, self.together)))
                with w.rarely(self._has_better(rest, first, worst)), w.range(self.together) as k:
                    self._replace(rest, b.add(first, w.index(k)), worst)
            done = w.index(w.multiply(blocks, self.together))
        with w.range(b.sub(left, done)) as j:
            self._replace(rest, b.add(b.add(count, done), w.index(j)), worst)

    def _replace(self, rest: tuple[Index, ...], at: Any, worst: Any) -> None:
        """Insert the entry at a position if it precedes the top of the heap, the worst."""
        e, b = self.context, self.context.builder.builder
        with e.access.scope():
            entry = self._entry(rest, at)
            with e.builder.rarely(self._compare("<", entry, b.load(worst, typ=self.type))):
                self._poll(SIFT_NS)
                self._sift(e.builder.index(self.count), llvm.Constant(I64, 0), entry)
                b.store(b.load(self._at(0), typ=self.type), worst)

    def _has_better(self, rest: tuple[Index, ...], first: Any, worst: Any) -> Any:
        """Whether one of a block of keys is smaller than the worst in the heap."""
        b, key = self.context.builder.builder, register_type(self.keys.dtype)
        address = self.context.access.address(
            self.context.access.buffers[self.keys], self._index(rest, first)
        )
        keys = b.load(address, align=key.width // 8, typ=llvm.VectorType(key, self.together))
        high = b.lshr(b.load(worst, typ=self.type), llvm.Constant(self.type, self.half))
        worst_keys = self.context.builder.splat(b.trunc(high, key), self.together)
        found = self._compare("<", keys, worst_keys)
        bits = llvm.IntType(self.together)
        return b.icmp_unsigned("!=", b.bitcast(found, bits), llvm.Constant(bits, 0))

    def _put_in_order(self, size: Any) -> None:
        """Sort the entries; those of a heap are unordered."""
        bits = self.extent.bit_length() if isinstance(self.extent, int) else _NARROW_BITS
        places = 0 if self.is_whole else -(-bits // DIGIT_BITS)
        memory, b = (self.memory, self.spare), self.context.builder.builder
        passes = sort_passes(self.context.builder, self.type, places, is_signed=self.is_signed)
        for function in passes:
            b.call(function, [*memory, size])
            memory = memory[::-1]
            self._poll(self.context.builder.multiply(size, SORT_NS))

    def _poll(self, taken: Index) -> None:
        """A safepoint inside one long row, so that a run can stop there."""
        if self.polls and not is_in_parallel_part(self.context):
            poll_after(self.context, taken)

    def _take_down(self, rest: tuple[Index, ...], buffer: Buffer, size: Any) -> None:
        """Pop the top to the last free position, until the heap is empty."""
        e, w, b = self.context, self.context.builder, self.context.builder.builder
        end = b.sub(size, llvm.Constant(I64, 1))
        with w.range(self.count) as j, e.access.scope():
            self._poll(SIFT_NS)
            free = b.sub(end, w.index(j))
            top = b.load(self._at(0), typ=self.type)
            self._sift(free, llvm.Constant(I64, 0), b.load(self._at(free), typ=self.type))
            self._give(rest, buffer, free, top)

    def _give(self, rest: tuple[Index, ...], buffer: Buffer, at: Any, entry: Any) -> None:
        b = self.context.builder.builder
        index = b.and_(entry, llvm.Constant(self.type, (1 << self.half) - 1))
        self.context.access.store(buffer, self._index(rest, at), _resized(b, index, I64))

    def _index(self, rest: tuple[Index, ...], at: Index) -> tuple[Index, ...]:
        return (*rest[: self.axis], at, *rest[self.axis :])

    def _entry(self, rest: tuple[Index, ...], at: Index) -> Any:
        """The entry of a position in the row."""
        b = self.context.builder.builder
        key = self.context.access.read(self.keys, self._index(rest, at))
        wide = b.sext(key, self.type) if self.is_signed else b.zext(key, self.type)
        high = b.shl(wide, llvm.Constant(self.type, self.half))
        return b.or_(high, _resized(b, self.context.builder.index(at), self.type))

    def _at(self, number: Index) -> Any:
        b = self.context.builder.builder
        return b.gep(
            self.memory, [self.context.builder.index(number)], source_etype=self.type, inbounds=True
        )

    def _compare(self, sign: str, left: Any, right: Any) -> Any:
        b = self.context.builder.builder
        return (b.icmp_signed if self.is_signed else b.icmp_unsigned)(sign, left, right)

    def _sift(self, count: Any, at: Any, entry: Any) -> None:
        function = heap_sift(self.context.builder, self.type, is_signed=self.is_signed)
        self.context.builder.builder.call(function, [self.memory, count, at, entry])


def _resized(builder: llvm.IRBuilder, value: Any, type_: Any) -> Any:
    if value.type.width == type_.width:
        return value
    return (builder.trunc if value.type.width > type_.width else builder.zext)(value, type_)
