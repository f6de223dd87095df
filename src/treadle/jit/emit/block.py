"""A block of a kernel in LLVM: its nodes in order, those of one shape gathered into nests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from treadle.jit.emit import joined
from treadle.jit.emit.branch import Home, emit_branch
from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.contract import emit_contract
from treadle.jit.emit.emitter import UNFIT, UNMATCHED, Emitter
from treadle.jit.emit.escape import emit_escape
from treadle.jit.emit.index import emit_fetch, emit_pick, emit_positions
from treadle.jit.emit.inplace import settle, taken
from treadle.jit.emit.loop import emit_loop
from treadle.jit.emit.moving import appended, join_into
from treadle.jit.emit.nest import Ending, Nests
from treadle.jit.emit.pace import per_element
from treadle.jit.emit.place import Place
from treadle.jit.emit.put import emit_put
from treadle.jit.emit.reduce import emit_reduce
from treadle.jit.emit.running import emit_running
from treadle.jit.emit.top import emit_top
from treadle.jit.emit.transpose import copy_view
from treadle.jit.emit.types import literal
from treadle.jit.kernel_ir import (
    Block,
    Branch,
    Constant,
    Contract,
    Counter,
    Dim,
    Empty,
    Escape,
    Fetch,
    Guard,
    Input,
    Iota,
    Item,
    Join,
    Length,
    Loop,
    Map,
    Node,
    Part,
    Pick,
    Positions,
    Put,
    Reduce,
    Reshape,
    Running,
    State,
    Top,
    View,
    extents,
)


def emit_block(e: Emitter, block: Block, ending: Ending) -> None:
    """Every node of the block."""
    nests = Nests(e, block, ending)
    for node in block.nodes:
        place = e.t.place(node)
        if place is Place.NEST:
            nests.join(node)
            continue
        if place is Place.INLINE:
            continue
        nests.need(node)
        match node.op:
            case Put():
                emit_put(e, node, nests)
            case Loop():
                emit_loop(e, node, emit_block, taken(e, node, nests))
            case Branch():
                emit_branch(e, node, emit_block, nests)
            case _:
                _EMIT[type(node.op)](e, node)
        nests.done.add(node)
        settle(e, node, nests)
    nests.flush_all()


def _input(e: Emitter, node: Node) -> None:
    op = node.op
    assert isinstance(op, Input)
    pointer = e.t.slots.given(op.position)
    e.t.buffers[node] = Buffer(pointer, node.dtype, e.t.strides(node), "given")
    if e.t.place(node) is Place.REGISTERS:
        _elements(e, node, lambda index: e.t.load(e.t.buffers[node], index))


def _constant(e: Emitter, node: Node) -> None:
    op = node.op
    assert isinstance(op, Constant)
    if e.t.place(node) is Place.REGISTERS:
        e.t.registers[node] = [literal(node.dtype, element) for element in op.array.ravel()]


def _counter(e: Emitter, node: Node) -> None:
    e.t.keep(node, [e.t.counters[node.home]])


def _empty(e: Emitter, node: Node) -> None:
    if e.t.place(node) is Place.REGISTERS:
        e.t.keep(node, [])
    else:
        e.t.buffers[node] = e.allocate(node)


def _length(e: Emitter, node: Node) -> None:
    op = node.op
    assert isinstance(op, Length)
    e.t.keep(node, [e.t.extent(op.extent)])


def _dim(e: Emitter, node: Node) -> None:
    op = node.op
    assert isinstance(op, Dim)
    whose = node.operands[0] if node.operands else node.home
    e.t.keep(node, [e.w.index(e.dims[whose, op.number, op.axis])])


def _guard(e: Emitter, node: Node) -> None:
    op = node.op
    assert isinstance(op, Guard)
    status = UNMATCHED if op.is_of_shapes else UNFIT
    e.fail_if(e.w.builder.not_(e.t.scalar(node.operands[0])), status)
    e.t.keep(node, [literal(node.dtype, True)])


def _state(e: Emitter, node: Node) -> None:
    if node in e.moving:
        e.t.buffers[node] = e.moving[node].buffer(e)
    assert node in e.t.registers or node in e.t.buffers


def _computed(e: Emitter, node: Node) -> None:
    if e.t.place(node) is Place.BUFFER:
        buffer = e.allocate(node)
        copy_view(e, node, buffer, per_element(e.t, (node,)), e.t.compute)
        e.t.buffers[node] = buffer
        return
    _elements(e, node, lambda index: e.t.compute(node, index))


def _elements(e: Emitter, node: Node, element: Callable[[tuple[int, ...]], Any]) -> None:
    e.t.keep(node, [element(index) for index in product(*map(range, extents(node)))])


def _join(e: Emitter, node: Node) -> None:
    op = node.op
    assert isinstance(op, Join)
    if node in e.delays:
        e.delays[node].place(e, node, e.w.add(e.t.counters[node.home], 1))
        return
    if e.t.place(node) is Place.REGISTERS:
        _elements(e, node, lambda index: _piece(e, node, op.axis, index))
        return
    if appended(e, node):
        return
    buffer = joined.whole(e, node)
    join_into(e, buffer, op.axis, 0, node.operands, join=node)
    e.t.buffers[node] = buffer


def _piece(e: Emitter, node: Node, axis: int, index: Sequence[int]) -> Any:
    at = index[axis]
    for operand in node.operands:
        extent = operand.shape[axis]
        assert isinstance(extent, int), "elements in registers are joined along a known axis"
        if at < extent:
            return e.t.read(operand, (*index[:axis], at, *index[axis + 1 :]))
        at -= extent
    raise AssertionError("an index beyond what is joined")


def _part(e: Emitter, node: Node) -> None:
    op = node.op
    assert isinstance(op, Part)
    found = e.parts.get((node.operands[0], op.number))
    if isinstance(found, Home):
        found = found.found(e)
    if found is None:
        return
    if isinstance(found, Buffer):
        e.t.buffers[node] = found
        if e.t.place(node) is Place.REGISTERS:
            _elements(e, node, lambda index: e.t.load(found, index))
    else:
        e.t.keep(node, found)


_EMIT: Mapping[type, Callable[[Emitter, Node], None]] = {
    Input: _input,
    Constant: _constant,
    Empty: _empty,
    Length: _length,
    Dim: _dim,
    Guard: _guard,
    Counter: _counter,
    State: _state,
    Iota: _computed,
    Item: _computed,
    Map: _computed,
    View: _computed,
    Reshape: _computed,
    Join: _join,
    Reduce: emit_reduce,
    Contract: emit_contract,
    Positions: emit_positions,
    Pick: emit_pick,
    Fetch: emit_fetch,
    Running: emit_running,
    Top: emit_top,
    Escape: emit_escape,
    Part: _part,
}
