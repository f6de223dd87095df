"""Where the elements a loop stacks go.

a length known before the loop    memory of the kernel's own, or a result
else                              memory that grows, twice as large each time

Where the extents of an element are only known in the body, those of the first iteration count, and
the kernel is refused where others come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.emit import columns
from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.emitter import UNMATCHED, Emitter
from treadle.jit.emit.scratch import Scratch, larger
from treadle.jit.emit.transpose import tile_width
from treadle.jit.emit.types import I64, in_memory
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Dim, Extent, Loop, Node, Part, Stack
from treadle.jit.walk import is_inside

_FIRST_ROOM = 64


@dataclass(eq=False, slots=True)
class Stacking:
    """One stacked value while its loop is written: into `memory`, or into a growing `scratch`.

    `inner` are variables for the extents of an element that only the body knows, by axis; `rows`
    holds how many elements there is room for.
    """

    part: Node
    number: int
    stack: Stack
    scope: str
    limit: Any
    memory: Buffer | None = None
    scratch: Scratch | None = None
    rows: Any = None
    inner: Mapping[int, Any] = field(default_factory=dict)
    rows_of_columns: Buffer | None = None

    @property
    def element(self) -> Node:
        """The node whose elements are stacked."""
        return self.stack.element

    def room(self, e: Emitter, i: Any) -> Buffer:
        """The memory of this iteration's element."""
        if self.rows_of_columns is not None:
            number = e.w.builder.urem(i, e.w.index(self._width))
            return columns.row(e, self.rows_of_columns, number)
        if self.memory is not None:
            return self._place(e, self.memory, i)
        self._expect_alike(e, i)
        shape = self._element_shape(e)
        self._grow(e, i, shape)
        return self._place(e, self._growing(e, shape), i)

    @property
    def _width(self) -> int:
        return tile_width(self.element)

    def put(self, e: Emitter, i: Any) -> None:
        """At the end of iteration i: rows of columns go where they belong once all are there."""
        if self.rows_of_columns is None:
            return
        b, width = e.w.builder, e.w.index(self._width)
        done = b.add(i, e.w.index(1))
        is_last = b.icmp_unsigned("==", b.urem(done, width), e.w.index(0))
        with b.if_then(is_last), e.t.scope():
            self._put(e, done, width)

    def put_rest(self, e: Emitter, count: Any) -> None:
        """After `count` iterations: rows of columns that are left go where they belong."""
        if self.rows_of_columns is None:
            return
        with e.t.scope():
            self._put(e, count, e.w.builder.urem(count, e.w.index(self._width)))

    def _put(self, e: Emitter, done: Any, count: Any) -> None:
        assert self.rows_of_columns is not None
        assert self.memory is not None
        first = e.w.builder.sub(done, count)
        columns.store(
            e, self.element, self.rows_of_columns, self.memory, self.stack.axis, first, count
        )

    def _place(self, e: Emitter, whole: Buffer, i: Any) -> Buffer:
        axis, b = self.stack.axis, e.w.builder
        if self.stack.reverse:
            i = b.sub(b.sub(self.limit, e.w.index(1)), i)
        offset = e.w.index(e.w.multiply(i, whole.strides[axis]))
        type_ = in_memory(self.part.dtype)
        start = b.gep(whole.pointer, [offset], inbounds=True, source_etype=type_)
        strides = (*whole.strides[:axis], *whole.strides[axis + 1 :])
        is_dense = self.memory is None or all(e == 1 for e in self.element.shape[:axis])
        return Buffer(start, self.part.dtype, strides, whole.scope, is_dense=is_dense)

    def _expect_alike(self, e: Emitter, i: Any) -> None:
        b = e.w.builder
        for axis, variable in self.inner.items():
            extent = e.w.index(e.t.extent(self.element.shape[axis]))
            is_first = b.icmp_signed("==", i, e.w.index(0))
            b.store(b.select(is_first, extent, b.load(variable, typ=I64)), variable)
            other = b.icmp_signed("!=", extent, b.load(variable, typ=I64))
            e.fail_if(other, UNMATCHED)

    def _element_shape(self, e: Emitter) -> tuple[Index, ...]:
        b = e.w.builder
        return tuple(
            b.load(self.inner[axis], typ=I64) if axis in self.inner else e.t.extent(extent)
            for axis, extent in enumerate(self.element.shape)
        )

    def _grow(self, e: Emitter, i: Any, shape: Sequence[Index]) -> None:
        w, b = e.w, e.w.builder
        assert self.scratch is not None
        with w.rarely(b.icmp_signed(">=", i, b.load(self.rows, typ=I64))):
            twice = b.shl(b.load(self.rows, typ=I64), w.index(1))
            more = larger(w, twice, w.index(_FIRST_ROOM))
            e.reserve(self.scratch, (more, *shape), self.part.dtype, keep=True)
            b.store(more, self.rows)

    def _growing(self, e: Emitter, shape: Sequence[Index]) -> Buffer:
        """All elements, one after the other, with the axis they are stacked along where it goes."""
        assert self.scratch is not None
        strides = list(e.w.strides(shape))
        strides.insert(self.stack.axis, e.w.product(shape))
        is_dense = self.stack.axis == 0
        return Buffer(
            self.scratch.at(e.w), self.part.dtype, tuple(strides), self.scope, is_dense=is_dense,
            owner=self.scratch if is_dense else None,
        )  # fmt: skip

    def whole(self, e: Emitter, loop: Node) -> Buffer:
        """The memory of all iterations; the extents only the body knew are left in `e.dims`."""
        if self.memory is not None:
            return self.memory
        for axis, variable in self.inner.items():
            at = axis if axis < self.stack.axis else axis + 1
            e.dims[loop, self.number, at] = e.w.builder.load(variable, typ=I64)
        return self._growing(e, self._element_shape(e))


def stackings(e: Emitter, node: Node, op: Loop, limit: Any) -> list[Stacking]:
    """The stacks of a loop that somebody reads, or of which an extent is asked for."""
    found = []
    for number, stack in enumerate(op.stacks, start=len(op.states)):
        part = e.part(node, number) or _measured(e, node, number, op, stack)
        if part is not None:
            found.append(_stacking(e, part, number, op, stack, limit))
    return found


def _measured(e: Emitter, node: Node, number: int, op: Loop, stack: Stack) -> Node | None:
    """The part nobody reads whose extents only the body knows."""
    if not any(is_inside(extent, op.body) for extent in stack.element.shape):
        return None
    parts = e.t.places.readers.get(node, ())
    return next((part for part in parts if part.op == Part(number)), None)


def _stacking(e: Emitter, part: Node, number: int, op: Loop, stack: Stack, limit: Any) -> Stacking:
    if not any(_is_of(extent, part) for extent in part.shape):
        memory = e.allocate(part)
        own = columns.rows(e, stack.element) if _is_column(e, part, stack) else None
        return Stacking(part, number, stack, memory.scope, limit, memory, rows_of_columns=own)
    none = llvm.Constant(I64, 0)
    inner = {
        axis: e.w.variable(I64, none)
        for axis, extent in enumerate(stack.element.shape)
        if is_inside(extent, op.body)
    }
    rows = e.w.variable(I64, none)
    return Stacking(part, number, stack, e.scope(part), limit, None, e.scratch(), rows, inner)


def _is_column(e: Emitter, part: Node, stack: Stack) -> bool:
    """Whether elements become columns, which are stacked some at a time."""
    count = part.shape[stack.axis]
    is_plain = e.window is None and not stack.reverse and stack.axis > 0
    return is_plain and columns.are_columns(stack.element.shape, count, stack.axis)


def _is_of(extent: int | Extent, part: Node) -> bool:
    """Whether an extent is known when the loop has ended, and not before."""
    source = extent.source if isinstance(extent, Extent) else None
    return source is not None and isinstance(source.op, Dim) and source.operands == part.operands
