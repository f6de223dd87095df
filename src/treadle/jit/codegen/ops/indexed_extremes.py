"""Extremes with their positions, searched in vectors of values and vectors of positions.

`schedule/steps/indexed_extremes.py` says which are, and has the loop in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.element_index import broadcast_index
from treadle.jit.codegen.function_builder import NOT_VECTORIZED, FunctionBuilder, Index, i64
from treadle.jit.codegen.iteration_space import each_index
from treadle.jit.codegen.llvm_types import I32, I64
from treadle.jit.codegen.loops.lane_values import LaneValues
from treadle.jit.codegen.ops.reduced_element import combine, neutral, source_index
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel.ir import Elementwise, Node, Reduce, ScanSlice, View, op_of
from treadle.jit.schedule.steps.indexed_extremes import (
    IndexedExtreme,
    indexed_extreme,
    row_axes,
)
from treadle.jit.schedule.storage import Storage

Place = tuple[Index, ...]


@dataclass(eq=False, slots=True)
class _Row(LaneValues):
    """Neighbouring elements, a lane each; `known` are those of some nodes, at any index."""

    known: dict[Node, Any] = field(default_factory=dict, kw_only=True)
    read: dict[Any, Any] = field(default_factory=dict, kw_only=True)

    def at(self, node: Node, index: Place, axis: int | None) -> Any:
        """The elements of a node from an index on along an axis; None: one, in all lanes."""
        if node in self.known:
            return self.known[node]
        key = node, index, axis
        if key not in self.read:
            self.read[key] = self._at(node, index, axis)
        return self.read[key]

    def _at(self, node: Node, index: Place, axis: int | None) -> Any:
        access = self.context.access
        if axis is None or node.shape[axis] == 1:
            return self.many(access.read(node, index))
        if access.storage_of(node) is not Storage.INLINE:
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

    def _indices(self, node: Node, index: Place) -> list[Any]:
        """The index in each operand."""
        access = self.context.access
        match node.op:
            case View(axes):
                return [tuple(access.along(axis, index) for axis in axes)]
            case ScanSlice(axis, _):
                return [(*index[:axis], access.item_number(node), *index[axis:])]
        return [broadcast_index(operand, index) for operand in node.operands]


@dataclass(eq=False, slots=True)
class _Search:
    """The extremes so far in variables, a lane each, while elements are compared with them."""

    context: CodegenContext
    node: Node
    extreme: IndexedExtreme
    lanes: int
    best: Any
    place: Any

    @classmethod
    def begun(cls, context: CodegenContext, node: Node, lanes: int) -> _Search:
        """A search that has compared nothing."""
        w, extreme = context.builder, indexed_extreme(node)
        assert extreme is not None, "a reduction of something else"
        worst = neutral(extreme.function, extreme.values.dtype)
        best = w.splat(worst, lanes)
        first = w.splat(llvm.Constant(I32, -int(extreme.is_turned)), lanes)
        made = w.variable(best.type, best), w.variable(first.type, first)
        return cls(context, node, extreme, lanes, *made)

    def row(self, known: dict[Node, Any] | None = None) -> _Row:
        """Reads rows."""
        return _Row(self.context, self.node.home, self.lanes, known=known or {})

    def compare(self, index: Place, position: Any) -> None:
        """Compare the elements from an index on along the last axis, at positions."""
        b, extreme = self.context.builder.builder, self.extreme
        value = self.row().at(extreme.values, index, len(index) - 1)
        best = b.load(self.best, typ=value.type)
        place = b.load(self.place, typ=position.type)
        at = b.not_(position) if extreme.is_turned else position
        is_better = self._is_better(value, best)
        b.store(b.select(is_better, value, best), self.best)
        b.store(b.select(is_better, at, place), self.place)

    def _is_better(self, value: Any, best: Any) -> Any:
        """Whether an element is taken; of several NaN, the first or the last."""
        b, sign = self.context.builder.builder, ">" if self.extreme.function == "max" else "<"
        is_number = b.fcmp_ordered("ord", best, best)
        if self.extreme.is_first:
            return b.and_(b.fcmp_unordered(sign, value, best), is_number)
        is_better = b.and_(b.fcmp_ordered(f"{sign}=", value, best), is_number)
        return b.or_(is_better, b.fcmp_unordered("uno", value, value))

    def packed(self, index: Place) -> Any:
        """The numbers with the keys in front of the positions."""
        b, (packed,) = self.context.builder.builder, self.node.operands
        best = b.load(self.best, typ=self.best.allocated_type)
        place = b.load(self.place, typ=self.place.allocated_type)
        positions = b.zext(place, llvm.VectorType(I64, self.lanes))
        known = {self.extreme.values: best, self.extreme.positions: positions}
        return self.row(known).at(packed, index, len(index) - 1)


def search_along_result(context: CodegenContext, node: Node, buffer: Buffer, lanes: int) -> None:
    """Search the extremes of neighbouring elements of the result; the last ones maybe again."""
    w, (values,) = context.builder, node.operands
    (axis,) = op_of(node, Reduce).axes
    *outer, last = context.access.shape(node)
    assert isinstance(last, int)
    space = (*outer, -(-last // lanes))
    with each_index(context, space, context.schedule.parallelism_of(node)) as (*own, number):
        w = context.builder
        start = w.multiply(number, lanes)
        start = w.least(start, last - lanes) if last % lanes else start
        search, kept = _Search.begun(context, node, lanes), (*own, start)
        with (
            w.range(context.access.extent(values.shape[axis]), hints=NOT_VECTORIZED) as step,
            context.access.scope(),
        ):
            position = w.splat(w.builder.trunc(w.index(step), I32), lanes)
            search.compare(source_index(node, kept, [step]), position)
        found = search.packed(source_index(node, kept, [0]))
        search.row().store(buffer, found, kept)


def searched_row(context: CodegenContext, node: Node, kept: Sequence[Index], lanes: int) -> Any:
    """The extreme of a row and its position; the last elements may be compared again.

    A row shorter than a vector is compared element by element.
    """
    w, (packed,), op = context.builder, node.operands, op_of(node, Reduce)
    extent = context.access.extent(packed.shape[op.axes[0]])
    search, place = _Search.begun(context, node, lanes), partial(source_index, node, kept)
    vectors = _vectors_of(w, extent, lanes)
    with w.range(vectors, hints=NOT_VECTORIZED) as number, context.access.scope():
        start = w.least(w.multiply(number, lanes), w.add(extent, -lanes))
        first = w.splat(w.builder.trunc(w.index(start), I32), lanes)
        search.compare(place([start]), w.builder.add(first, _lane_numbers(lanes)))
    found = search.packed(place([0]))
    name = f"llvm.vector.reduce.s{op.function}.{i64(found.type)}"
    best = w.builder.call(w.external(name, I64, found.type), [found])
    return best if isinstance(extent, int) else _or_short(search, place, extent, vectors, best)


def _vectors_of(builder: FunctionBuilder, extent: Index, lanes: int) -> Index:
    """The vectors that cover a row; 0: the row is shorter than one."""
    vectors, _ = builder.split(builder.add(extent, lanes - 1), lanes)
    if isinstance(extent, int):
        return vectors
    is_long = builder.builder.icmp_signed(">=", extent, builder.index(lanes))
    return builder.builder.select(is_long, vectors, builder.index(0))


def _lane_numbers(lanes: int) -> Any:
    return llvm.Constant(llvm.VectorType(I32, lanes), list(range(lanes)))


def _or_short(
    search: _Search,
    place: Callable[[Sequence[Index]], Place],
    extent: Index,
    vectors: Any,
    best: Any,
) -> Any:
    """The extreme of a row; element by element if it is shorter than a vector."""
    context, node = search.context, search.node
    w, b, function = context.builder, context.builder.builder, search.extreme.function
    is_short = b.icmp_signed("==", vectors, w.index(0))
    none = neutral(function, node.dtype)
    total = w.variable(I64, b.select(is_short, none, best))
    left = b.select(is_short, extent, w.index(0))
    with w.range(left, hints=NOT_VECTORIZED) as number, context.access.scope():
        element = context.access.read(node.operands[0], place([number]))
        before = w.builder.load(total, typ=I64)
        w.builder.store(combine(w, function, node.dtype, before, element), total)
    return w.builder.load(total, typ=I64)
