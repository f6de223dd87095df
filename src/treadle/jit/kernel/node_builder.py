"""Adds nodes to blocks, with common subexpression elimination and hoisting of invariants.

A node is placed in the outermost block in which its operands are available, so invariants leave
loops on creation; a node that can fail stays in its block.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from treadle.ir import DType, dtype_of
from treadle.jit.kernel.ir import (
    Block,
    Branch,
    Constant,
    Gather,
    HostCall,
    Loop,
    Node,
    Op,
    Scatter,
    Shape,
    SymbolicDim,
    Take,
)
from treadle.jit.kernel.traversal import shape_operands

NATIVE = frozenset(
    DType(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "bfloat16", "float32", "float64",
    )
)  # fmt: skip
"""The element types with native code."""

_NEVER_HOISTED = (Loop, Branch, Take, Gather, Scatter, HostCall)


class Declined(Exception):
    """The region, or a step of it, has no native code; holds the reason."""


class Unprofitable(Declined):
    """Native code is possible, and another engine is expected to be faster."""

    def __init__(self, engine: str, why: str) -> None:
        super().__init__(f"{engine} is expected to be faster: {why}")
        self.engine, self.why = engine, why


@dataclass(eq=False, slots=True)
class NodeBuilder:
    """The current block, and the nodes so far.

    `objects` are the nodes that are handles of boxed values.
    """

    main: Block
    block: Block
    objects: set[Node] = field(default_factory=set)
    _known: dict[tuple[object, ...], Node] = field(default_factory=dict)
    _extents: dict[Node, SymbolicDim] = field(default_factory=dict)
    _added: list[tuple[object, ...]] = field(default_factory=list)
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
        home = self._home(node)
        key = (op, dtype, shape, operands, home)
        if key not in self._known:
            node = node if home is node.home else replace(node, home=home)
            self._known[key] = node
            home.nodes.append(node)
            self._added.append(key)
            if home is not self.block:
                self._moved.append(node)
        return self._known[key]

    @property
    def hoisted(self) -> tuple[Node, ...]:
        """The nodes that left the loop they were added in."""
        there = set(self._known.values())
        return tuple(node for node in self._moved if node in there)

    def mark(self) -> tuple[int, Block]:
        """The current state, for `back`."""
        return len(self._added), self.block

    def back(self, mark: tuple[int, Block]) -> None:
        """Remove the nodes added since the mark, after a lowering that declined."""
        count, self.block = mark
        while len(self._added) > count:
            node = self._known.pop(self._added.pop())
            node.home.nodes.remove(node)
            self._extents.pop(node, None)

    def _home(self, node: Node) -> Block:
        home, needed = self.block, (*node.operands, *shape_operands(node))
        if isinstance(node.op, _NEVER_HOISTED) or not needed:
            return home
        deepest = max(each.home.depth for each in needed)
        while home.is_loop and home.depth > deepest and home.parent is not None:
            home = home.parent
        return home

    def param(self, op: Op, dtype: DType, shape: Shape) -> Node:
        """A node of the current block without operands that equals no other."""
        if dtype not in NATIVE:
            raise Declined(f"no native code for {dtype}")
        node = Node(op, dtype, shape, (), self.block)
        self.block.nodes.append(node)
        return node

    def constant(self, array: np.ndarray) -> Node:
        """A constant, at home in the main block."""
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        dtype = dtype_of(array.dtype)
        if dtype is None or dtype not in NATIVE:
            raise Declined(f"no native code for {dtype or array.dtype}")
        key = ("constant", dtype, array.shape, array.tobytes())
        node = self._known.get(key)
        if node is None:
            node = Node(Constant(array), dtype, tuple(array.shape), (), self.main)
            self.main.nodes.insert(0, node)
            self._known[key] = node
        return node
