"""Writes a kernel node by node: what the lowerings are handed.

A node goes into the outermost loop's surroundings where its operands are known, so invariant work
leaves loops as it is written; a node that can fail stays where it is. Equal nodes are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from treadle.ir import DType, dtype_of
from treadle.jit.kernel_ir import (
    Axis,
    Block,
    Branch,
    Constant,
    Escape,
    Fetch,
    Join,
    Loop,
    Map,
    Node,
    Op,
    Pick,
    Put,
    Reshape,
    Shape,
    View,
    extents,
)

NATIVE = frozenset(
    DType(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "bfloat16", "float32", "float64",
    )
)  # fmt: skip
"""The element types that have native code."""

_STAYING = (Loop, Branch, Pick, Fetch, Put, Escape)


class Declined(Exception):
    """The region, or a step of it, has no native code: why."""


@dataclass(eq=False, slots=True)
class Building:
    """The block that is being written, and what was written before."""

    main: Block
    block: Block
    _known: dict[tuple[object, ...], Node] = field(default_factory=dict)
    _added: list[tuple[object, ...]] = field(default_factory=list)
    _moved: list[Node] = field(default_factory=list)

    @classmethod
    def start(cls) -> Building:
        """An empty kernel."""
        main = Block("main")
        return cls(main, main)

    def add(self, op: Op, dtype: DType, shape: Shape, *operands: Node) -> Node:
        """A node, or the one that is there and equal to it."""
        if dtype not in NATIVE:
            raise Declined(f"no native code for {dtype}")
        home = self._home(op, operands)
        key = (op, dtype, shape, operands, home)
        node = self._known.get(key)
        if node is None:
            node = Node(op, dtype, shape, operands, home)
            home.nodes.append(node)
            self._known[key] = node
            self._added.append(key)
            if home is not self.block:
                self._moved.append(node)
        return node

    @property
    def hoisted(self) -> tuple[Node, ...]:
        """The nodes that left the loop they were written in."""
        there = set(self._known.values())
        return tuple(node for node in self._moved if node in there)

    def mark(self) -> tuple[int, Block]:
        """Where `back` returns to."""
        return len(self._added), self.block

    def back(self, mark: tuple[int, Block]) -> None:
        """Take out what was added since, of a lowering that declined after all."""
        count, self.block = mark
        while len(self._added) > count:
            node = self._known.pop(self._added.pop())
            node.home.nodes.remove(node)

    def _home(self, op: Op, operands: Sequence[Node]) -> Block:
        home = self.block
        if isinstance(op, _STAYING) or not operands:
            return home
        deepest = max(operand.home.depth for operand in operands)
        while home.is_loop and home.depth > deepest and home.parent is not None:
            home = home.parent
        return home

    def param(self, op: Op, dtype: DType, shape: Shape) -> Node:
        """A node of the current block that has no operands and equals no other."""
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

    def scalar(self, number: float | bool, dtype: DType) -> Node:
        """A constant of rank 0."""
        return self.constant(np.asarray(number).astype(dtype.numpy))

    def map(self, function: str, *operands: Node, dtype: DType | None = None) -> Node:
        """A scalar function of every element; the dtype is the first operand's unless said."""
        try:
            shape = np.broadcast_shapes(*map(extents_of, operands))
        except ValueError as error:
            raise Declined("operands whose shapes do not broadcast") from error
        return self.add(Map(function), dtype or operands[0].dtype, shape, *operands)

    def cast(self, operand: Node, dtype: DType) -> Node:
        """The elements in another dtype."""
        if operand.dtype == dtype:
            return operand
        return self.map("cast", operand, dtype=dtype)

    def view(self, operand: Node, shape: Sequence[int], axes: Sequence[Axis]) -> Node:
        """Another order or choice of the elements; a view of a view is one."""
        while isinstance(operand.op, View):
            axes = [_through(axis, axes) for axis in operand.op.axes]
            operand = operand.operands[0]
        identity = all(axis == Axis(0, ((k, 1),)) for k, axis in enumerate(axes))
        if identity and tuple(shape) == operand.shape:
            return operand
        return self.add(View(tuple(axes)), operand.dtype, tuple(shape), operand)

    def reshape(self, operand: Node, shape: Sequence[int]) -> Node:
        """The same elements in another shape; a view where only axes of one come or go."""
        if tuple(shape) == operand.shape:
            return operand
        given = extents_of(operand)
        long = [k for k, extent in enumerate(shape) if extent != 1]
        if [extent for extent in given if extent != 1] == [shape[k] for k in long]:
            rest = iter(long)
            axes = [Axis() if extent == 1 else Axis(0, ((next(rest), 1),)) for extent in given]
            return self.view(operand, shape, axes)
        return self.add(Reshape(), operand.dtype, tuple(shape), operand)

    def expand(self, operand: Node, shape: Sequence[int]) -> Node:
        """The operand broadcast to the shape."""
        given = extents_of(operand)
        shift = len(shape) - len(given)
        axes = [
            Axis() if extent == 1 else Axis(0, ((k + shift, 1),)) for k, extent in enumerate(given)
        ]
        return self.view(operand, shape, axes)


def packed(b: Building, node: Node) -> Node:
    """The elements in memory of their own, side by side: a copy, made where the node is known."""
    if isinstance(node.op, Constant | Join):
        return node
    return b.add(Join(0), node.dtype, node.shape, node)


def extents_of(node: Node) -> tuple[int, ...]:
    """The shape of a node; Declined where an extent is only known when it runs."""
    if not node.is_static:
        raise Declined("an extent that only the run tells")
    return extents(node)


def array_of(node: Node, what: str) -> np.ndarray:
    """The elements of a constant; Declined where the node is none."""
    if not isinstance(node.op, Constant):
        raise Declined(f"{what} that only the run tells")
    return node.op.array


def _through(axis: Axis, outer: Sequence[Axis]) -> Axis:
    """An axis of the inner view in terms of the outer view's index."""
    offset, terms = axis.offset, dict[int, int]()
    for number, step in axis.terms:
        offset += step * outer[number].offset
        for inner, inner_step in outer[number].terms:
            terms[inner] = terms.get(inner, 0) + step * inner_step
    return Axis(offset, tuple(sorted(terms.items())))
