"""The nodes of a loop's body in vectors, for strategies whose lanes are more than one element.

Lanes are iterations (parallel_prefix.py), rows (wavefront.py) or elements (register_tile.py): what
the number of the iteration and the item of a loop are in each lane, the strategy says (`own`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.buffer import Buffer, Indices
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import I8, I32, I64, memory_type, register_type, undefined
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Elementwise,
    Gather,
    Node,
    Reshape,
    Take,
    View,
    op_of,
)


@dataclass(eq=False, slots=True)
class LaneValues:
    """The values of nodes in all lanes, by node, while some iterations of a body are emitted."""

    context: CodegenContext
    body: Block
    lanes: int
    values: dict[Node, Any] = field(default_factory=dict, kw_only=True)

    def own(self, node: Node) -> Any:
        """The values of a node of the body that differ by strategy; None of another."""

    def invariant(self, node: Node) -> Any:
        """The values of a node outside the body: a number, in every lane."""
        return self.many(self.context.access.scalar(node))

    def many(self, value: Any) -> Any:
        """A number in every lane."""
        return self.context.builder.splat(value, self.lanes)

    def vector(self, type_: Any) -> Any:
        """The type of vectors of numbers of this type."""
        return llvm.VectorType(type_, self.lanes)

    def of(self, node: Node) -> Any:
        """The values of a node."""
        if node not in self.values:
            self.values[node] = self._computed(node)
        return self.values[node]

    def _computed(self, node: Node) -> Any:
        if node.home is not self.body:
            return self.invariant(node)
        if isinstance(node.op, View | Reshape):
            return self.of(node.operands[0])
        found = self.own(node)
        if found is not None:
            return found
        if isinstance(node.op, Take | Gather):
            return self._gathered(node, node.op)
        apply = partial(functions.apply, self.context.builder, op_of(node, Elementwise).function)
        chain = self.context.access.chains.get(node)
        if chain is not None:
            return reduce(partial(apply, (node.dtype,) * 2, node.dtype), map(self.of, chain))
        dtypes = tuple(operand.dtype for operand in node.operands)
        return apply(dtypes, node.dtype, *map(self.of, node.operands))

    def index(self, node: Node, extent: Index) -> Any:
        """The index along an axis of this extent that a node is in each lane, in int64."""
        return functions.cast(self.context.builder, self.of(node), node.dtype, DType.INT64)

    def _gathered(self, node: Node, op: Take | Gather) -> Any:
        """The element of each lane at its computed index, which is in range."""
        access, b = self.context.access, self.context.builder.builder
        data, *indices = node.operands
        axes = op.axes if isinstance(op, Gather) else (0,)
        places = [
            a if isinstance(a, Axis) else self.index(indices[a], extent)
            for a, extent in zip(axes, access.shape(data), strict=True)
        ]
        found = undefined(self.vector(register_type(node.dtype)))
        for lane in range(self.lanes):
            number = llvm.Constant(I32, lane)
            place = tuple(
                access.along(a, ()) if isinstance(a, Axis) else b.extract_element(a, number)
                for a in places
            )
            found = b.insert_element(found, access.read(data, place), number)
        return found

    def loaded(self, buffer: Buffer, index: Indices) -> Any:
        """Neighbouring elements of a memory, from an index on."""
        access, b = self.context.access, self.context.builder.builder
        type_ = self.vector(memory_type(buffer.dtype))
        made = b.load(access.address(buffer, index), typ=type_, align=buffer.dtype.numpy.itemsize)
        access.aliases.mark(made, buffer.scope)
        is_bool = buffer.dtype is DType.BOOL
        return b.icmp_unsigned("!=", made, llvm.Constant(type_, None)) if is_bool else made

    def store(self, buffer: Buffer, value: Any, index: Indices | None = None) -> None:
        """Store the values of all lanes side by side, from an index on, or at the start."""
        access, b = self.context.access, self.context.builder.builder
        if buffer.dtype is DType.BOOL:
            value = b.zext(value, self.vector(I8))
        address = buffer.pointer if index is None else access.address(buffer, index)
        stored = b.store(value, address, align=buffer.dtype.numpy.itemsize)
        access.aliases.mark(stored, buffer.scope)


def lane_numbers(count: int, type_: Any = I64) -> Any:
    """0, 1, 2 ..."""
    return llvm.Constant(llvm.VectorType(type_, count), list(range(count)))
