"""What the writers of blocks, loops and nests share while one kernel is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.buffer import Buffer, Flat
from treadle.jit.codegen.element_access import ElementAccess
from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.heap_buffer import HeapBuffer, byte_size
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.ops.transpose import copy_view
from treadle.jit.codegen.parallel import ParallelCall, is_inside, parallel_for, parallel_range
from treadle.jit.kernel.ir import Block, Kernel, Node, Result, symbolic_dims
from treadle.jit.schedule.cost_model import COPIED, interleave_hint, per_read
from treadle.jit.schedule.storage import Storage

OUT_OF_RANGE, OUT_OF_MEMORY, UNEQUAL_LENGTHS, INTERRUPTED, UNMATCHED, UNFIT = 1, 2, 3, 4, 5, 6
OVER_LIMIT, OVER_BYTES = 7, 8
"""What a kernel gives where it failed; 0 is success."""
_APART = 64
"""Elements of an array that one thread writes, so that no two write into one line of the cache."""


@dataclass(frozen=True, eq=False, slots=True)
class Tile:
    """The part of all tensors of a shape that is worked on: `count` items of `axis` from `start`.

    The axes before it are ones; `inner` elements are in an item, `parts` windows in the whole.
    """

    axis: int
    start: Index
    count: Index
    inner: int
    parts: int


@dataclass(eq=False, slots=True)
class CodegenContext:
    """One kernel that is being written.

    `bound` are nodes whose memory is a result's, by number; `status` and `leave` are how it fails.
    `dims` are extents a loop or a branch leaves behind: (whose, part, axis). `scopes` are the names
    of memory that is to become another's, `moving` the carried values whose extents change,
    `delays` those that only move on, and their next values, `swaps` those with two memories, and
    their next values, of whose memory `turning` are the names. `held` is a variable for the bytes
    that the loops around hold, `weighed` what looks at the extents of a value they are to hold.
    `is_apart`: what is written at once becomes a function of its own.
    """

    kernel: Kernel
    builder: FunctionBuilder
    access: ElementAccess
    bound: Mapping[Node, int]
    status: Any
    leave: Any
    ticks: Any
    thread: Any
    poll: Any
    held: Any
    parts: dict[tuple[Node, int], Any] = field(default_factory=dict)
    dims: dict[tuple[Node | Block, int, int], Any] = field(default_factory=dict)
    scopes: dict[Node, str] = field(default_factory=dict)
    weighed: dict[Node, Callable[[Sequence[Index]], None]] = field(default_factory=dict)
    moving: dict[Node, Any] = field(default_factory=dict)
    delays: dict[Node, Any] = field(default_factory=dict)
    swaps: dict[Node, Any] = field(default_factory=dict)
    turning: set[str] = field(default_factory=set)
    is_outlined: bool = False
    scratches: list[HeapBuffer] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    window: Tile | None = None
    joined: dict[Node, Buffer] = field(default_factory=dict)
    shared: list[ParallelCall] = field(default_factory=list)
    placed: dict[tuple[Node, Node], Buffer] = field(default_factory=dict)

    @contextmanager
    def outlined(self, *, when: bool) -> Iterator[None]:
        """Nests that are written inside become functions of their own."""
        before, self.is_outlined = self.is_outlined, when
        yield
        self.is_outlined = before

    def is_turning(self, buffer: Buffer) -> bool:
        """Whether it is a memory that the next value of a `swaps` is written to, or in one."""
        return buffer.scope in self.turning

    @contextmanager
    def positions(self, size: Index, cost: float = 0.0) -> Iterator[Index]:
        """What is written inside, for the position of every element of the window.

        Several threads write it where an element takes `cost` nanoseconds.
        """
        window = self.window
        if window is None:
            with parallel_range(self, size, cost, _APART) as position:
                yield position
            return
        w = self.builder
        first = w.multiply(window.start, window.inner)
        hints = interleave_hint(cost, size)
        with w.range(w.multiply(window.count, window.inner), hints=hints) as position:
            yield w.add(first, position)

    @contextmanager
    def indices(self, shape: Sequence[Index], cost: float = 0.0) -> Iterator[tuple[Index, ...]]:
        """What is written inside, for the index of every element of the window.

        Several threads write it where an element takes `cost` nanoseconds.
        """
        window, own = self.window, list[Index](shape)
        if window is None:
            with parallel_for(self, shape, cost) as index:
                yield index
            return
        own[window.axis] = window.count
        with self.builder.nest(own, interleave_hint(cost, shape[-1])) as index:
            at = self.builder.add(index[window.axis], window.start)
            yield (*index[: window.axis], at, *index[window.axis + 1 :])

    def fail_if(self, condition: Any, status: int) -> None:
        """Leave the kernel where the condition holds."""
        assert not is_inside(self), "what several threads write can fail"
        with self.builder.rarely(condition):
            self.builder.builder.store(llvm.Constant(I64, status), self.status)
            self.builder.builder.branch(self.leave)

    def allocate(self, node: Node) -> Buffer:
        """Memory for a node: of the result it is, or the kernel's own."""
        if node in self.bound:
            pointer = self.access.slots.result(self.bound[node])
            return Buffer(
                pointer, node.dtype, self.access.strides(node), self.access.aliases.fresh()
            )
        if node.is_static:
            return self.access.allocate(node)
        return self.fill(self.scratch(), node, self.scope(node))

    def scope(self, node: Node) -> str:
        """The name of a node's own memory."""
        return self.scopes.get(node) or self.access.aliases.fresh()

    def scratch(self) -> HeapBuffer:
        """Memory of the kernel's own, as large as will be wanted."""
        self.scratches.append(HeapBuffer.made(self.builder))
        return self.scratches[-1]

    def fill(self, scratch: HeapBuffer, node: Node, scope: str) -> Buffer:
        """The scratch as memory for a node, to be written; what was there may be lost."""
        shape = self.access.shape(node)
        self.foresee(node, shape)
        self.reserve(scratch, shape, node.dtype)
        strides = self.builder.strides(shape)
        self._count(shape)
        return Buffer(scratch.at(self.builder), node.dtype, strides, scope, owner=scratch)

    def _count(self, shape: Sequence[Index]) -> None:
        """About a nanosecond for each element, towards the next poll."""
        b = self.builder.builder
        left = b.load(self.ticks, typ=I64)
        b.store(b.sub(left, self.builder.index(self.builder.product(shape))), self.ticks)

    def foresee(self, node: Node, shape: Sequence[Index]) -> None:
        """Weigh a value that is to be carried or stacked before there is memory for it."""
        if node in self.weighed:
            self.weighed[node](shape)

    def reserve(
        self, scratch: HeapBuffer, shape: Sequence[Index], dtype: DType, *, keep: bool = False
    ) -> None:
        """At least the memory of the shape; the kernel fails where there is not so much."""
        size = byte_size(self.builder, shape, dtype.numpy.itemsize)
        is_there = scratch.ensure(self.builder, size, keep=keep)
        self.fail_if(self.builder.builder.not_(is_there), OUT_OF_MEMORY)

    def copy(self, source: Node, target: Buffer) -> None:
        """Every element of a node into memory."""
        with self.outlined(when=self.is_turning(target)):
            self._copy(source, target)

    def _copy(self, source: Node, target: Buffer) -> None:
        t, cost = self.access, per_read(self.access, source) + COPIED
        if t.storage_of(source) is Storage.REGISTERS:
            for position, value in enumerate(t.registers[source]):
                t.store(target, t.unflat(position, symbolic_dims(source)), value)
        elif target.is_dense and t.is_flat(source):
            with self.positions(t.size(source), cost) as position, t.scope():
                t.store(target, Flat(position), t.read(source, Flat(position)))
        elif self.window is None and t.storage_of(source) is Storage.INLINE:
            copy_view(self, source, target, cost, t.read)
        else:
            with self.indices(t.shape(source), cost) as index, t.scope():
                t.store(target, index, t.read(source, index))

    def part(self, loop: Node, number: int) -> Node | None:
        """The node of a value a Loop or Branch gives; None where nothing reads it."""
        readers = self.access.places.readers
        for node in readers.get(loop, ()):
            if node.op == Result(number) and (readers.get(node) or node in self.kernel.results):
                return node
        return None
