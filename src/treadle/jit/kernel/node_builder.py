"""Adds nodes to blocks: equal nodes become one (`cse`), invariant nodes leave loops (`licm`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from treadle.ir import DType, dtype_of
from treadle.jit.kernel.cse import ValueTable
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Block, Constant, Node, Op, ScanSlice, Shape, SymbolicDim
from treadle.jit.kernel.licm import outermost_block

NATIVE = frozenset(
    DType(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "bfloat16", "float32", "float64",
    )
)  # fmt: skip
"""The element types with native code."""


@dataclass(eq=False, slots=True)
class NodeBuilder:
    """The current block, and the nodes so far.

    `objects` are the nodes that are handles of boxed values.
    """

    main: Block
    block: Block
    objects: set[Node] = field(default_factory=set)
    values: ValueTable = field(default_factory=ValueTable)
    _extents: dict[Node, SymbolicDim] = field(default_factory=dict)
    _moved: list[Node] = field(default_factory=list)

    @classmethod
    def start(cls) -> Self:
        """An empty kernel."""
        main = Block("main")
        return cls(main, main)

    def add(self, op: Op, dtype: DType, shape: Shape, *operands: Node) -> Node:
        """A new node, or an existing equal one."""
        if dtype not in NATIVE:
            raise Declined(f"no native code for {dtype}")
        node = Node(op, dtype, shape, operands, self.block)
        home = outermost_block(node)
        if home is self.block:
            return self.values.add(node)
        moved = replace(node, home=home)
        found = self.values.add(moved)
        if found is moved:
            self._moved.append(moved)
        return found

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Add nodes to another block."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    @property
    def hoisted(self) -> tuple[Node, ...]:
        """The nodes that left the loop they were added in."""
        there = set(self.values.known.values())
        return tuple(node for node in self._moved if node in there)

    def mark(self) -> tuple[int, Block]:
        """The current state, for `back`."""
        return len(self.values), self.block

    def back(self, mark: tuple[int, Block]) -> None:
        """Remove the nodes added since the mark, after a lowering that declined."""
        count, self.block = mark
        for node in self.values.remove_after(count):
            self._extents.pop(node, None)

    def param(self, op: Op, dtype: DType, shape: Shape, *operands: Node) -> Node:
        """A node of the current block that equals no other."""
        if dtype not in NATIVE:
            raise Declined(f"no native code for {dtype}")
        node = Node(op, dtype, shape, operands, self.block)
        self.block.nodes.append(node)
        return node

    def item(self, source: Node, axis: int = 0, *, reverse: bool = False) -> Node:
        """The item of the source, along an axis, in this iteration of the loop."""
        rest = (*source.shape[:axis], *source.shape[axis + 1 :])
        return self.param(ScanSlice(axis, reverse), source.dtype, rest, source)

    def constant(self, array: np.ndarray) -> Node:
        """A constant, at home in the main block."""
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        dtype = dtype_of(array.dtype)
        if dtype is None or dtype not in NATIVE:
            raise Declined(f"no native code for {dtype or array.dtype}")
        key = ("constant", dtype, array.shape, array.tobytes())
        node = self.values.known.get(key)
        if node is None:
            node = Node(Constant(array), dtype, tuple(array.shape), (), self.main)
            self.main.nodes.insert(0, node)
            self.values.known[key] = node
        return node
