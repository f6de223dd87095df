"""Neighbouring elements of values in the lanes of vectors, read from memory or computed.

`schedule/steps/row_vectors.py` says which are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.element_index import broadcast_index
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import I32, undefined
from treadle.jit.codegen.loops.lane_values import LaneValues
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel.ir import Elementwise, Node, ScanSlice, View
from treadle.jit.schedule.steps.row_vectors import row_axes
from treadle.jit.schedule.storage import Storage


@dataclass(eq=False, slots=True)
class RowValues(LaneValues):
    """Neighbouring elements, a lane each; `known` are those of some nodes, at any index."""

    known: dict[Node, Any] = field(default_factory=dict, kw_only=True)
    read: dict[Any, Any] = field(default_factory=dict, kw_only=True)

    def at(self, node: Node, index: tuple[Index, ...], axis: int | None) -> Any:
        """The elements of a node from an index on along an axis; None: one, in all lanes."""
        if node in self.known:
            return self.known[node]
        key = node, index, axis
        if key not in self.read:
            self.read[key] = self._at(node, index, axis)
        return self.read[key]

    def _at(self, node: Node, index: tuple[Index, ...], axis: int | None) -> Any:
        access = self.context.access
        if axis is None or node.shape[axis] == 1:
            return self.many(access.read(node, index))
        if access.storage_of(node) is Storage.REGISTERS:
            return self._joined(node, index[axis])
        if access.storage_of(node) is not Storage.INLINE and not self._is_of_known(node):
            return self.loaded(access.buffer(node), index)
        along = row_axes(node, axis)
        assert along is not None, f"{type(node.op).__name__} has no rows"
        parts = zip(node.operands, self._indices(node, index), along, strict=True)
        values = [self.at(*part) for part in parts]
        if not isinstance(node.op, Elementwise):
            return values[0]
        dtypes = tuple(operand.dtype for operand in node.operands)
        builder = self.context.builder
        return functions.apply(builder, node.op.function, dtypes, node.dtype, *values)

    def _joined(self, node: Node, start: Index) -> Any:
        """Elements that are in registers, from a known number on."""
        assert isinstance(start, int), "registers at an unknown index"
        elements = self.context.access.registers[node][start : start + self.lanes]
        vector: Any = undefined(self.vector(elements[0].type))
        for lane, element in enumerate(elements):
            number = llvm.Constant(I32, lane)
            vector = self.context.builder.builder.insert_element(vector, element, number)
        return vector

    def _is_of_known(self, node: Node) -> bool:
        """Whether it is a function of known elements, at whose own index others are in memory."""
        return isinstance(node.op, Elementwise) and any(
            each in self.known or self._is_of_known(each) for each in node.operands
        )

    def _indices(self, node: Node, index: tuple[Index, ...]) -> list[Any]:
        """The index in each operand."""
        access = self.context.access
        match node.op:
            case View(axes):
                return [tuple(access.along(axis, index) for axis in axes)]
            case ScanSlice(axis, _):
                return [(*index[:axis], access.item_number(node), *index[axis:])]
        return [broadcast_index(operand, index) for operand in node.operands]
