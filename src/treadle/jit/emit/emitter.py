"""What the writers of blocks, loops and nests share while one kernel is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.emit.place import Place
from treadle.jit.emit.tensors import Buffer, Flat, Tensors, dense_strides
from treadle.jit.emit.types import I64
from treadle.jit.emit.writer import Index, Writer
from treadle.jit.kernel_ir import Extent, Kernel, Node, Part, extents

OUT_OF_RANGE, OUT_OF_MEMORY, UNEQUAL_LENGTHS, INTERRUPTED = 1, 2, 3, 4
"""What a kernel gives where it failed; 0 is success."""


@dataclass(frozen=True, eq=False, slots=True)
class Window:
    """The part of all tensors of a shape that is worked on: `count` items of `axis` from `start`.

    The axes before it are ones; `inner` elements are in an item, `parts` windows in the whole.
    """

    axis: int
    start: Index
    count: Index
    inner: int
    parts: int


@dataclass(eq=False, slots=True)
class Emitter:
    """One kernel that is being written.

    `bound` are nodes whose memory is a result's, by number; `exact` the extents of loops known
    before the kernel runs; `status` and `leave` are how it fails.
    """

    kernel: Kernel
    w: Writer
    t: Tensors
    bound: Mapping[Node, int]
    exact: frozenset[Extent]
    status: Any
    leave: Any
    ticks: Any
    thread: Any
    poll: Any
    parts: dict[tuple[Node, int], Any] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    window: Window | None = None

    @contextmanager
    def positions(self, size: int) -> Iterator[Index]:
        """What is written inside, for the position of every element of the window."""
        window, w = self.window, self.w
        if window is None:
            with w.range(size) as position:
                yield position
            return
        first = w.multiply(window.start, window.inner)
        with w.range(w.multiply(window.count, window.inner)) as position:
            yield w.add(first, position)

    @contextmanager
    def indices(self, shape: Sequence[int]) -> Iterator[tuple[Index, ...]]:
        """What is written inside, for the index of every element of the window."""
        window, own = self.window, list[Index](shape)
        if window is not None:
            own[window.axis] = window.count
        with self.w.nest(own) as index:
            if window is not None:
                at = self.w.add(index[window.axis], window.start)
                index = (*index[: window.axis], at, *index[window.axis + 1 :])
            yield index

    def fail_if(self, condition: Any, status: int) -> None:
        """Leave the kernel where the condition holds."""
        with self.w.rarely(condition):
            self.w.builder.store(llvm.Constant(I64, status), self.status)
            self.w.builder.branch(self.leave)

    def allocate(self, node: Node) -> Buffer:
        """Memory for a node: of the result it is, or the kernel's own."""
        if node not in self.bound:
            return self.t.allocate(node)
        pointer = self.t.slots.result(self.bound[node])
        strides = dense_strides(extents(node))
        return Buffer(pointer, node.dtype, strides, self.t.aliases.fresh())

    def copy(self, source: Node, target: Buffer) -> None:
        """Every element of a node into memory."""
        t, size = self.t, source.size
        if t.place(source) is Place.REGISTERS:
            for position, value in enumerate(t.registers[source]):
                t.store(target, t.unflat(position, extents(source)), value)
        elif target.is_dense and t.is_flat(source):
            with self.positions(size) as position, t.scope():
                t.store(target, Flat(position), t.read(source, Flat(position)))
        else:
            with self.indices(extents(source)) as index, t.scope():
                t.store(target, index, t.read(source, index))

    def part(self, loop: Node, number: int) -> Node | None:
        """The node of a value a Loop or Branch gives; None where nothing reads it."""
        readers = self.t.places.readers
        for node in readers.get(loop, ()):
            if node.op == Part(number) and (readers.get(node) or node in self.kernel.results):
                return node
        return None
