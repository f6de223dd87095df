"""Emits a loop in register tiles: all iterations for a few elements in vectors, then the next ones.

`schedule/loops/register_tiling.py` says which loops run so. If the elements are no whole number of
tiles, the first tile computes the last elements, some of which another tile computes again, to the
same values: its results are stored after all other tiles have begun. All tiles share the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from treadle.jit.codegen.buffer import Buffer, Flat
from treadle.jit.codegen.carried.stacked import StackedOutput
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import NOT_VECTORIZED, FunctionBuilder, Index
from treadle.jit.codegen.loops.lane_values import LaneValues
from treadle.jit.codegen.loops.vector_variables import VectorVariables
from treadle.jit.codegen.safepoint import poll_after
from treadle.jit.kernel.ir import InductionVar, Node, ScanSlice, op_of
from treadle.jit.schedule.loops.register_tiling import RegisterTiling, period


@dataclass(eq=False, slots=True)
class _Tile(LaneValues):
    """The elements from `start` on, a lane each, while an iteration is emitted.

    `late` are, for each carried array by number, the results of the tile that overlaps another.
    """

    tiling: RegisterTiling
    start: Index
    number: Any
    counter: Any = None
    late: dict[int, Any] = field(default_factory=dict)

    def own(self, node: Node) -> Any:
        """The number of the iteration, the same in all lanes, and its item."""
        if isinstance(node.op, InductionVar):
            return self.many(self.counter)
        return _item(self, node) if isinstance(node.op, ScanSlice) else None

    def invariant(self, node: Node) -> Any:
        """The elements of an array in memory, or a number in every lane."""
        if node.is_single:
            return self.many(self.context.access.scalar(node))
        return self.loaded(self.context.access.dense_buffer(node), Flat(_position(self, node)))


def emit_register_tiles(
    context: CodegenContext,
    tiling: RegisterTiling,
    counter: Any,
    limit: Any,
    stacks: Sequence[StackedOutput],
) -> None:
    """Run all iterations, and move `counter` past them."""
    w = context.builder
    context.counts["register_tiled"] += 1
    singles = _singles(context, tiling)
    finals = [w.variable(number.type, number) for number in singles]
    whole, rest = divmod(tiling.size, tiling.lanes)
    with w.range(whole + bool(rest), hints=NOT_VECTORIZED) as number, context.access.scope():
        start = _start(context, tiling, number)
        tile = _Tile(context, tiling.op.body, tiling.lanes, tiling, start, number)
        _emit_tile(tile, limit, stacks, singles, finals)
    for k, late in tile.late.items():
        last = w.builder.load(late, typ=late.allocated_type)
        tile.store(_memory(tile, k), last, Flat(tiling.size - tiling.lanes))
    for variable, final in zip(_single_variables(context, tiling), finals, strict=True):
        w.builder.store(w.builder.load(final, typ=final.allocated_type), variable)
    w.builder.store(w.most(limit, 0), counter)


def _start(context: CodegenContext, tiling: RegisterTiling, number: Any) -> Index:
    """The first element of a tile; with a rest, the first tile begins where the last whole fits."""
    w, rest = context.builder, tiling.size % tiling.lanes
    if not rest:
        return w.multiply(number, tiling.lanes)
    before = w.multiply(w.builder.sub(number, w.index(1)), tiling.lanes)
    return w.builder.select(_is_first(w, number), w.index(tiling.size - tiling.lanes), before)


def _is_first(builder: FunctionBuilder, number: Any) -> Any:
    return builder.builder.icmp_unsigned("==", number, builder.index(0))


def _single_variables(context: CodegenContext, tiling: RegisterTiling) -> list[Any]:
    """The variables of the carried numbers."""
    numbers = [k for k in range(len(tiling.op.states)) if k not in tiling.arrays]
    return [context.results.values[tiling.node, k][0] for k in numbers]


def _singles(context: CodegenContext, tiling: RegisterTiling) -> list[Any]:
    """The carried numbers before the loop: every tile begins with them."""
    b = context.builder.builder
    return [b.load(v, typ=v.allocated_type) for v in _single_variables(context, tiling)]


def _emit_tile(
    tile: _Tile,
    limit: Any,
    stacks: Sequence[StackedOutput],
    singles: Sequence[Any],
    finals: Sequence[Any],
) -> None:
    """All iterations of a tile: carried values go from and to memory once."""
    context, op = tile.context, tile.tiling.op
    w, b = context.builder, context.builder.builder
    first = iter(singles)
    carried = {}
    for k, state in enumerate(op.states):
        if k in tile.tiling.arrays:
            begin = tile.loaded(_memory(tile, k), Flat(tile.start))
        else:
            begin = tile.many(next(first))
        carried[state] = VectorVariables.of(w, begin)
    with w.range(limit, hints=NOT_VECTORIZED) as counter, context.access.scope():
        poll_after(context, context.schedule.iterations[tile.tiling.node].group)
        tile.counter = w.index(counter)
        tile.values = {state: variables.load(w) for state, variables in carried.items()}
        nexts = [tile.of(after) for after in op.nexts]
        for stack in stacks:
            _put(tile, stack)
        for state, after in zip(op.states, nexts, strict=True):
            carried[state].store(w, after)
    last = iter(finals)
    for k, state in enumerate(op.states):
        value = carried[state].load(w)
        if k in tile.tiling.arrays:
            _finish(tile, k, value)
        else:
            b.store(b.extract_element(value, w.index(0)), next(last))


def _finish(tile: _Tile, number: int, value: Any) -> None:
    """Store the last values of a carried array; with a rest, those of the first tile late."""
    if not tile.tiling.size % tile.lanes:
        tile.store(_memory(tile, number), value, Flat(tile.start))
        return
    w = tile.context.builder
    tile.late[number] = w.variable(value.type)
    with w.builder.if_else(_is_first(w, tile.number)) as (first, others):
        with first:
            w.builder.store(value, tile.late[number])
        with others:
            tile.store(_memory(tile, number), value, Flat(tile.start))


def _memory(tile: _Tile, number: int) -> Buffer:
    """The memory of a carried array, where the loop's result will be."""
    found = tile.context.results.values[tile.tiling.node, number]
    assert isinstance(found, Buffer)
    return found


def _item(tile: _Tile, node: Node) -> Any:
    """The lanes of this iteration's item, or its only element in every lane."""
    access, w, (source,) = tile.context.access, tile.context.builder, node.operands
    op = op_of(node, ScanSlice)
    at: Any = tile.counter
    if op.reverse:
        end = w.index(access.extent(source.shape[op.axis]))
        at = w.builder.sub(w.builder.sub(end, w.index(1)), at)
    if node.is_single:
        own = tuple(at if k == op.axis else 0 for k in range(len(source.shape)))
        return tile.many(access.read(source, own))
    first = w.multiply(at, period(node, tile.tiling.shape))
    return tile.loaded(access.dense_buffer(source), Flat(w.add(first, _position(tile, node))))


def _position(tile: _Tile, node: Node) -> Index:
    """The first element of a node in the tile; arrays of fewer axes repeat themselves."""
    own, w = period(node, tile.tiling.shape), tile.context.builder
    if isinstance(tile.start, int):
        return tile.start % own
    return tile.start if own == tile.tiling.size else w.builder.urem(tile.start, w.index(own))


def _put(tile: _Tile, stack: StackedOutput) -> None:
    """The element of this iteration into the stack."""
    value = tile.of(stack.element)
    room = stack.room(tile.context, tile.counter)
    if stack.element.is_single:
        w = tile.context.builder
        number = w.builder.extract_element(value, w.index(0))
        tile.context.access.store(room, Flat(0), number)
    else:
        tile.store(room, value, Flat(tile.start))
