"""Descriptions of steps: two steps of one description have the same code over other values.

A step is described by the operations that its code computes, down to values that are there
already: by the memory and the registers in which those lie. LLVM values are numbered in the order
of this walk, so a description is a tree of plain data, and the values are its arguments.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.kernel.ir import (
    Constant,
    Elementwise,
    Iota,
    Node,
    Reduce,
    Reshape,
    ScanSlice,
    View,
)
from treadle.jit.schedule.storage import Storage

Described = Hashable


class Undescribed(Exception):
    """A step whose code depends on more than a description tells."""


class StepDescription:
    """The description of a step while it is made: nodes and values by number."""

    def __init__(self, context: CodegenContext, members: Sequence[Node]) -> None:
        self.context, self.members = context, frozenset(members)
        self.values: list[Any] = []
        self._values: dict[int, int] = {}
        self._nodes: dict[Node, int] = {}
        self._scopes: dict[str, int] = {}

    def buffer(self, buffer: Buffer) -> Described:
        """The memory of a value, but for its address."""
        scope = self._scopes.setdefault(buffer.scope, len(self._scopes))
        strides = tuple(map(self._value, buffer.strides))
        return self._value(buffer.pointer), buffer.dtype, strides, scope

    def node(self, node: Node) -> Described:
        """The value of a node: how it is computed, or where it lies."""
        if node in self._nodes:
            return self._nodes[node]
        self._nodes[node] = len(self._nodes)
        is_near = any(node.home is each.home for each in self.members)
        return node.dtype, self._shape(node), is_near, self._content(node)

    def _shape(self, node: Node) -> Described:
        """The extents; dynamic ones are the same only if they are the same object."""
        return tuple(each if isinstance(each, int) else id(each) for each in node.shape)

    def _content(self, node: Node) -> Described:
        access = self.context.access
        if isinstance(node.op, Constant):
            return self._constant(node, node.op)
        if node in access.registers:
            memory = self.buffer(access.buffers[node]) if node in access.buffers else None
            return tuple(map(self._value, access.registers[node])), memory
        storage = access.storage_of(node)
        if node in self.members or storage is Storage.INLINE or node not in access.buffers:
            return self._computed(node)
        return self.buffer(access.buffers[node])

    def _constant(self, node: Node, op: Constant) -> Described:
        """A number by its value, unless it is an argument; an array by its address."""
        access = self.context.access
        if node in access.registers:
            return tuple(map(self._value, access.registers[node]))
        if node.is_single:
            return op.array.tobytes()
        return self.buffer(access.buffer(node))

    def _computed(self, node: Node) -> Described:
        """The operation of a node that the step computes element by element."""
        access, op = self.context.access, node.op
        operands = access.chains.get(node, node.operands)
        if isinstance(op, Elementwise | Reshape | Reduce | Iota):
            own: Described = None
        elif isinstance(op, View) and all(isinstance(axis.offset, int) for axis in op.axes):
            own = None
        elif isinstance(op, ScanSlice) and not op.reverse:
            own = self._value(access.counters[node.home])
        else:
            raise Undescribed
        if not (node.is_static or isinstance(op, ScanSlice)):
            raise Undescribed
        return op, own, node in access.chains, tuple(map(self.node, operands))

    def _value(self, value: Any) -> Described:
        """A number that is known, or the number of an LLVM value."""
        if isinstance(value, int):
            return "int", value
        if isinstance(value, llvm.Constant):
            return "constant", str(value)
        if isinstance(value, llvm.GlobalValue):
            return "global", value.name
        if id(value) not in self._values:
            self._values[id(value)] = len(self.values)
            self.values.append(value)
        return self._values[id(value)]
