"""Emits a loop in register tiles: all iterations for a few elements in vectors, then the next ones.

`schedule/loops/register_tiling.py` says which loops run so. If the elements are no whole number of
tiles, the first tile computes the last elements, some of which another tile computes again, to the
same values: its results are stored after all other tiles have begun. All tiles share the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.buffer import Buffer, Flat
from treadle.jit.codegen.carried.stacked import StackedOutput
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.llvm_types import I64, memory_type, register_type
from treadle.jit.codegen.safepoint import safepoint
from treadle.jit.codegen.scalar import vector_forms
from treadle.jit.kernel.ir import InductionVar, Node, Reshape, ScanSlice, View, op_of
from treadle.jit.schedule.cost_model import iteration_bound
from treadle.jit.schedule.loops.register_tiling import RegisterTiling, period


@dataclass(eq=False, slots=True)
class _Tile:
    """The elements from `start` on, while an iteration is emitted: the values of nodes in lanes."""

    context: CodegenContext
    tiling: RegisterTiling
    start: Index
    number: Any
    counter: Any = None
    values: dict[Node, Any] = field(default_factory=dict)
    late: dict[int, Any] = field(default_factory=dict)
    """For each carried array, by number, the results of the tile that overlaps another."""

    @property
    def lanes(self) -> int:
        """The number of its elements."""
        return self.tiling.lanes

    def vector(self, node: Node) -> Any:
        """The type of a node's values."""
        return llvm.VectorType(register_type(node.dtype), self.lanes)

    def many(self, value: Any) -> Any:
        """A number in every lane."""
        return self.context.builder.splat(value, self.lanes)


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
    count, hints = whole + bool(rest), ("unroll.disable",)
    with w.range(count, hints=hints) as number, context.access.scope():
        tile = _Tile(context, tiling, _start(context, tiling, number), number)
        _emit_tile(tile, limit, stacks, singles, finals)
    for k, late in tile.late.items():
        last = w.builder.load(late, typ=late.allocated_type)
        _stored(tile, _memory(tile, k), tiling.size - tiling.lanes, last)
    for variable, final in zip(_single_variables(context, tiling), finals, strict=True):
        w.builder.store(w.builder.load(final, typ=final.allocated_type), variable)
    w.builder.store(w.intrinsic("llvm.smax", I64, limit, w.index(0)), counter)


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
        is_array = k in tile.tiling.arrays
        begin = _loaded(tile, _memory(tile, k), tile.start) if is_array else tile.many(next(first))
        carried[state] = w.variable(begin.type, begin)
    with w.range(limit) as counter, context.access.scope():
        safepoint(context, op.body, iteration_bound(op.body) * tile.lanes // tile.tiling.size)
        tile.counter = w.index(counter)
        tile.values = {
            state: b.load(variable, typ=variable.allocated_type)
            for state, variable in carried.items()
        }
        nexts = [_value(tile, after) for after in op.nexts]
        for stack in stacks:
            _put(tile, stack)
        for state, after in zip(op.states, nexts, strict=True):
            b.store(after, carried[state])
    last = iter(finals)
    for k, state in enumerate(op.states):
        value = b.load(carried[state], typ=carried[state].allocated_type)
        if k in tile.tiling.arrays:
            _finish(tile, k, value)
        else:
            b.store(b.extract_element(value, w.index(0)), next(last))


def _finish(tile: _Tile, number: int, value: Any) -> None:
    """Store the last values of a carried array; with a rest, those of the first tile late."""
    if not tile.tiling.size % tile.lanes:
        _stored(tile, _memory(tile, number), tile.start, value)
        return
    w = tile.context.builder
    tile.late[number] = w.variable(value.type)
    with w.builder.if_else(_is_first(w, tile.number)) as (first, others):
        with first:
            w.builder.store(value, tile.late[number])
        with others:
            _stored(tile, _memory(tile, number), tile.start, value)


def _memory(tile: _Tile, number: int) -> Buffer:
    """The memory of a carried array, where the loop's result will be."""
    found = tile.context.results.values[tile.tiling.node, number]
    assert isinstance(found, Buffer)
    return found


def _value(tile: _Tile, node: Node) -> Any:
    """The values of a node in all lanes."""
    if node not in tile.values:
        tile.values[node] = _computed(tile, node)
    return tile.values[node]


def _computed(tile: _Tile, node: Node) -> Any:
    access, w = tile.context.access, tile.context.builder
    if node.home is not tile.tiling.op.body:
        if node.is_single:
            return tile.many(access.scalar(node))
        return _loaded(tile, access.buffer(node), _position(tile, node))
    match node.op:
        case InductionVar():
            return tile.many(tile.counter)
        case View() | Reshape():
            return _value(tile, node.operands[0])
        case ScanSlice():
            return _item(tile, node)
    chain = access.chains.get(node) if node.is_single else None
    return vector_forms.mapped(w, node, chain, partial(_value, tile))


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
    return _loaded(tile, access.buffer(source), w.add(first, _position(tile, node)))


def _position(tile: _Tile, node: Node) -> Index:
    """The first element of a node in the tile; arrays of fewer axes repeat themselves."""
    own, w = period(node, tile.tiling.shape), tile.context.builder
    if isinstance(tile.start, int):
        return tile.start % own
    return tile.start if own == tile.tiling.size else w.builder.urem(tile.start, w.index(own))


def _put(tile: _Tile, stack: StackedOutput) -> None:
    """The element of this iteration into the stack."""
    value = _value(tile, stack.element)
    room = stack.room(tile.context, tile.counter)
    if stack.element.is_single:
        w = tile.context.builder
        number = w.builder.extract_element(value, w.index(0))
        tile.context.access.store(room, Flat(0), number)
    else:
        _stored(tile, room, tile.start, value)


def _loaded(tile: _Tile, buffer: Buffer, position: Index) -> Any:
    access, b = tile.context.access, tile.context.builder.builder
    type_ = llvm.VectorType(memory_type(buffer.dtype), tile.lanes)
    where = access.address(buffer, Flat(position))
    made = b.load(where, typ=type_, align=buffer.dtype.numpy.itemsize)
    access.aliases.mark(made, buffer.scope)
    if buffer.dtype is DType.BOOL:
        return b.icmp_unsigned("!=", made, llvm.Constant(type_, None))
    return made


def _stored(tile: _Tile, buffer: Buffer, position: Index, value: Any) -> None:
    access, b = tile.context.access, tile.context.builder.builder
    if buffer.dtype is DType.BOOL:
        value = b.zext(value, llvm.VectorType(memory_type(buffer.dtype), tile.lanes))
    where = access.address(buffer, Flat(position))
    made = b.store(value, where, align=buffer.dtype.numpy.itemsize)
    access.aliases.mark(made, buffer.scope)
