"""Extremes with their positions, searched in vectors of values and vectors of positions.

`schedule/steps/indexed_extremes.py` says which are, and has the loop in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import NOT_VECTORIZED, FunctionBuilder, Index, i64
from treadle.jit.codegen.iteration_space import each_index
from treadle.jit.codegen.llvm_types import I32, I64
from treadle.jit.codegen.loops.lane_values import lane_numbers
from treadle.jit.codegen.ops.reduced_element import combine, neutral, source_index
from treadle.jit.codegen.ops.row_values import RowValues
from treadle.jit.kernel.ir import Node, Reduce, op_of
from treadle.jit.schedule.steps.indexed_extremes import (
    IndexedExtreme,
    Search,
    indexed_extreme,
)

Place = tuple[Index, ...]


@dataclass(eq=False, slots=True)
class _Best:
    """The extremes so far in variables, a lane each, while elements are compared with them."""

    context: CodegenContext
    node: Node
    extreme: IndexedExtreme
    lanes: int
    value: Any
    place: Any

    @classmethod
    def of(cls, context: CodegenContext, node: Node, lanes: int) -> _Best:
        """The extremes of nothing."""
        w, extreme = context.builder, indexed_extreme(node)
        assert extreme is not None, "a reduction of something else"
        none = neutral(extreme.function, extreme.values.dtype)
        none = none if extreme.prefers_nan else llvm.Constant(none.type, math.nan)
        worst = w.splat(none, lanes)
        first = w.splat(llvm.Constant(I32, -int(extreme.is_turned)), lanes)
        made = w.variable(worst.type, worst), w.variable(first.type, first)
        return cls(context, node, extreme, lanes, *made)

    @property
    def loaded(self) -> list[Any]:
        """The values and the places."""
        b = self.context.builder.builder
        return [b.load(each, typ=each.allocated_type) for each in (self.value, self.place)]

    def row(self, known: dict[Node, Any] | None = None) -> RowValues:
        """Reads rows."""
        return RowValues(self.context, self.node.home, self.lanes, known=known or {})

    def compare(self, index: Place, places: Any) -> None:
        """Compare the elements from an index on along the last axis, at places."""
        self.take(self.row().at(self.extreme.values, index, len(index) - 1), places)

    def placed(self, positions: Any) -> Any:
        """Positions as places: their complement if the extreme `is_turned`."""
        return self.context.builder.builder.not_(positions) if self.extreme.is_turned else positions

    def move(self, distance: Index) -> None:
        """Move the places by a number of positions."""
        w, b = self.context.builder, self.context.builder.builder
        by = w.splat(b.trunc(w.index(distance), I32), self.lanes)
        place = b.load(self.place, typ=self.place.allocated_type)
        b.store((b.sub if self.extreme.is_turned else b.add)(place, by), self.place)

    def take(self, values: Any, places: Any) -> None:
        """Take those elements, which come after the ones before, that are better."""
        b, (best, place) = self.context.builder.builder, self.loaded
        is_better = self._is_better(values, best)
        b.store(b.select(is_better, values, best), self.value)
        b.store(b.select(is_better, places, place), self.place)

    def _is_better(self, values: Any, best: Any) -> Any:
        """Whether elements are taken: the first or last of equal ones, as all NaN are."""
        b, sign = self.context.builder.builder, ">" if self.extreme.function == "max" else "<"
        good, bad = (values, best) if self.extreme.prefers_nan else (best, values)
        if self.extreme.is_first:
            is_better = b.fcmp_unordered(sign, values, best)
            return b.and_(is_better, b.fcmp_ordered("ord", bad, bad))
        is_better = b.fcmp_ordered(f"{sign}=", values, best)
        return b.or_(is_better, b.fcmp_unordered("uno", good, good))

    def packed(self, index: Place) -> Any:
        """The numbers with the keys in front of the positions."""
        b, (packed,), (best, place) = self.context.builder.builder, self.node.operands, self.loaded
        positions = b.zext(place, llvm.VectorType(I64, self.lanes))
        known = {self.extreme.values: best, self.extreme.positions: positions}
        return self.row(known).at(packed, index, len(index) - 1)


def search_along_result(
    context: CodegenContext, node: Node, buffer: Buffer, search: Search
) -> None:
    """Search the extremes of neighbouring elements of the result; the last ones maybe again."""
    *outer, last = context.access.shape(node)
    assert isinstance(last, int), "vectors along an open axis"
    space = (*outer, -(-last // search.elements))
    with each_index(context, space, context.schedule.parallelism_of(node)) as (*own, number):
        w = context.builder
        first = w.multiply(number, search.elements)
        starts = (w.add(first, tile * search.lanes) for tile in range(search.tiles))
        kept = [(*own, w.least(start, last - search.lanes)) for start in starts]
        _search_tiles(context, node, buffer, search, kept)


def _search_tiles(
    context: CodegenContext, node: Node, buffer: Buffer, search: Search, tiles: Sequence[Place]
) -> None:
    """Search the extremes of some vectors of the result, in all parts at once."""
    w, (axis,) = context.builder, op_of(node, Reduce).axes
    extent = context.access.extent(node.operands[0].shape[axis])
    length, _ = w.split(w.add(extent, search.parts - 1), search.parts)
    last = w.add(extent, w.multiply(length, -1))
    firsts = [w.least(w.multiply(length, part), last) for part in range(search.parts)]
    found = [[_Best.of(context, node, search.lanes) for _ in tiles] for _ in firsts]
    current = _Best.of(context, node, search.lanes)
    with w.range(length, hints=NOT_VECTORIZED) as number, context.access.scope():
        _, places = current.loaded
        for first, row in zip(firsts, found, strict=True):
            for best, kept in zip(row, tiles, strict=True):
                best.compare(source_index(node, kept, [w.add(first, number)]), places)
        current.move(1)
    for first, row in zip(firsts, found, strict=True):
        for best in row:
            best.move(first)
    for (best, *others), kept in zip(zip(*found, strict=True), tiles, strict=True):
        for other in others:
            best.take(*other.loaded)
        best.row().store(buffer, best.packed(source_index(node, kept, [0])), kept)


def searched_row(context: CodegenContext, node: Node, kept: Sequence[Index], search: Search) -> Any:
    """The extreme of a row and its position; the last elements may be compared again.

    A row shorter than a vector is compared element by element.
    """
    w, (packed,), op, lanes = context.builder, node.operands, op_of(node, Reduce), search.elements
    extent = context.access.extent(packed.shape[op.axes[0]])
    best, place = _Best.of(context, node, lanes), partial(source_index, node, kept)
    vectors = _vectors_of(w, extent, lanes)
    with w.range(vectors, hints=NOT_VECTORIZED) as number, context.access.scope():
        start = w.least(w.multiply(number, lanes), w.add(extent, -lanes))
        first = w.splat(w.builder.trunc(w.index(start), I32), lanes)
        positions = w.builder.add(first, lane_numbers(lanes, I32))
        best.compare(place([start]), best.placed(positions))
    found = best.packed(place([0]))
    name = f"llvm.vector.reduce.s{op.function}.{i64(found.type)}"
    total = w.builder.call(w.external(name, I64, found.type), [found])
    return total if isinstance(extent, int) else _or_short(best, place, extent, vectors, total)


def _vectors_of(builder: FunctionBuilder, extent: Index, lanes: int) -> Index:
    """The vectors that cover a row; 0: the row is shorter than one."""
    vectors, _ = builder.split(builder.add(extent, lanes - 1), lanes)
    if isinstance(extent, int):
        return vectors
    is_long = builder.builder.icmp_signed(">=", extent, builder.index(lanes))
    return builder.builder.select(is_long, vectors, builder.index(0))


def _or_short(
    best: _Best,
    place: Callable[[Sequence[Index]], Place],
    extent: Index,
    vectors: Any,
    total: Any,
) -> Any:
    """The extreme of a row; element by element if it is shorter than a vector."""
    context, node, function = best.context, best.node, best.extreme.function
    w, b = context.builder, context.builder.builder
    is_short = b.icmp_signed("==", vectors, w.index(0))
    made = w.variable(I64, b.select(is_short, neutral(function, node.dtype), total))
    left = b.select(is_short, extent, w.index(0))
    with w.range(left, hints=NOT_VECTORIZED) as number, context.access.scope():
        element = context.access.read(node.operands[0], place([number]))
        before = w.builder.load(made, typ=I64)
        w.builder.store(combine(w, function, node.dtype, before, element), made)
    return w.builder.load(made, typ=I64)
