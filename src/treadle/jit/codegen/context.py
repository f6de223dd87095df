"""What the writers of blocks, loops and nests share while one kernel is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.element_access import ElementAccess
from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.heap_buffer import HeapBuffer, byte_size
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.parallel_call import ParallelCall
from treadle.jit.kernel.ir import Block, Kernel, Node, Result
from treadle.jit.kernel.target import PYTHON, Surroundings

OUT_OF_RANGE, OUT_OF_MEMORY, UNEQUAL_LENGTHS, INTERRUPTED, UNMATCHED, UNFIT = 1, 2, 3, 4, 5, 6
OVER_LIMIT, OVER_BYTES = 7, 8
"""What a kernel gives where it failed; 0 is success."""


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
    surroundings: Surroundings = PYTHON

    @contextmanager
    def outlined(self, *, when: bool) -> Iterator[None]:
        """Nests that are written inside become functions of their own."""
        before, self.is_outlined = self.is_outlined, when
        yield
        self.is_outlined = before

    def is_turning(self, buffer: Buffer) -> bool:
        """Whether it is a memory that the next value of a `swaps` is written to, or in one."""
        return buffer.scope in self.turning

    @property
    def is_in_parallel_part(self) -> bool:
        """Whether the function being written is a part of a nest that several threads share."""
        return bool(self.builder.function.name != self.leave.function.name)

    def fail_if(self, condition: Any, status: int) -> None:
        """Leave the kernel where the condition holds."""
        assert not self.is_in_parallel_part, "what several threads write can fail"
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

    def part(self, loop: Node, number: int) -> Node | None:
        """The node of a value a Loop or Branch gives; None where nothing reads it."""
        readers = self.access.places.readers
        for node in readers.get(loop, ()):
            if node.op == Result(number) and (readers.get(node) or node in self.kernel.results):
                return node
        return None
