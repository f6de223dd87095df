"""Items of the row before, one place behind, become carried values: the diagonals of a grid.

    for i: f(concat(b, x)[i])     =     d = b
                                        for i: f(d); d = x[i]

Applies to a loop of numbers inside a loop, where the joined row is made in the iteration of the
outer one, and x has an element for every iteration. The row is then not made, and the grid's
dependences are those that `loops/wavefront.py` looks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from treadle.jit.kernel.ir import (
    Axis,
    Branch,
    CarriedArg,
    Concat,
    HostCall,
    Kernel,
    Loop,
    Node,
    ScanSlice,
    View,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, loop_with
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes, loops_by_body

_FORWARD = ScanSlice(0, reverse=False)


@dataclass(frozen=True, eq=False, slots=True)
class _Delayed:
    """An item whose row is `border`, and then the elements of `data` from `first` on."""

    item: Node
    border: Node
    data: Node
    first: int


def runs_along_a_row(loop: Node) -> bool:
    """Whether a node is a loop inside a loop that carries numbers, so that it may carry more."""
    op = loop.op
    if not isinstance(op, Loop) or not loop.home.is_loop or not isinstance(op.length, int):
        return False
    is_nested = any(isinstance(node.op, Loop | Branch | HostCall) for node in op.body.nodes)
    return bool(op.states) and not is_nested and all(s.is_static and s.size == 1 for s in op.states)


def is_sliced_along_rows(row: Node, kernel: Kernel) -> bool:
    """Whether a row is read by such loops only, an element in each iteration."""
    nodes = all_nodes(kernel.main)
    loops = loops_by_body(nodes)
    readers = [node for node in nodes if row in node.operands]
    return bool(readers) and all(
        reader.op == _FORWARD and runs_along_a_row(loops[reader.home]) for reader in readers
    )


@fixpoint_pass
def with_carried_diagonals(kernel: Kernel) -> Rules | None:
    """The kernel with such items carried; itself if it has none, or counts what its loops do."""
    found = {
        loop: items
        for loop in (() if kernel.counts_loops else all_nodes(kernel.main))
        if runs_along_a_row(loop) and (items := list(_items(loop)))
    }
    if not found:
        return None
    writer = _Carried(found)
    return {Loop: writer.loop, ScanSlice: writer.item}


def _items(loop: Node) -> Iterator[_Delayed]:
    for node in op_of(loop, Loop).body.nodes:
        if node.op == _FORWARD and node.operands[0].home is loop.home:
            found = _delayed(node)
            if found is not None:
                yield found


def _delayed(item: Node) -> _Delayed | None:
    """The parts of the row that an item is taken from; None if it is no such row."""
    row = item.operands[0]
    if not row.is_static or len(row.shape) != 1:
        return None
    whole = row.operands[0] if _is_part(row) and _start(row) == 0 else row
    if not isinstance(whole.op, Concat) or len(whole.operands) != 2:
        return None
    border, data = whole.operands
    first = 0
    if data.is_static and data.size < row.size and _is_part(data):
        first, (data,) = _start(data), data.operands
    has_room = data.is_static and first + row.size <= data.size
    return _Delayed(item, border, data, first) if border.shape == (1,) and has_room else None


def _is_part(row: Node) -> bool:
    """Whether a row has neighbours of another one, in order."""
    if not isinstance(row.op, View) or len(row.operands[0].shape) != 1:
        return False
    (axis,) = row.op.axes
    return axis.terms == ((0, 1),) and isinstance(axis.offset, int)


def _start(row: Node) -> int:
    start = op_of(row, View).axes[0].offset
    assert isinstance(start, int)
    return start


@dataclass(frozen=True, eq=False, slots=True)
class _Carried:
    """The rules; `found` are the items by loop, `written` the states by item."""

    found: dict[Node, list[_Delayed]]
    written: dict[Node, Node] = field(default_factory=dict)

    def loop(self, rebuild: Rebuild, node: Node) -> Node:
        """Write a loop that carries its delayed items after its other states."""
        op, builder = op_of(node, Loop), rebuild.builder
        delayed = self.found.get(node, [])
        rows = [_row(rebuild, each) for each in delayed]
        borders = [builder.view(rebuild.nodes[d.border], (), (Axis(),)) for d in delayed]

        def begin() -> None:
            for k, each in enumerate(delayed, len(op.states)):
                self.written[each.item] = builder.param(CarriedArg(k), each.item.dtype, ())

        body = rebuild.write_inside(op.body, begin)
        with builder.inside(body):
            items = [_item_of(rebuild, row) for row in rows]
        states = [rebuild.nodes[state] for state in op.states]
        nexts = [rebuild.nodes[after] for after in op.nexts]
        states += [self.written[each.item] for each in delayed]
        made = loop_with(rebuild, op, body, states, [*nexts, *items])
        stacks = range(len(states), len(states) + len(op.stacks))
        rebuild.numbers[node] = [*range(len(op.states)), *stacks]
        return builder.add(made, node.dtype, (), *rebuild.operands(node), *borders)

    def item(self, rebuild: Rebuild, node: Node) -> Node:
        """A delayed item is the carried value; others stay."""
        return self.written.get(node) or copied(rebuild, node)


def _row(rebuild: Rebuild, delayed: _Delayed) -> Node:
    """The elements one place before those that the items are taken from."""
    data = rebuild.nodes[delayed.data]
    shape = rebuild.shape(delayed.item.operands[0])
    return rebuild.builder.view(data, shape, (Axis(delayed.first, ((0, 1),)),))


def _item_of(rebuild: Rebuild, row: Node) -> Node:
    """The item of a row in this iteration, which the body may take already."""
    block = rebuild.builder.block
    known = (node for node in block.nodes if node.op == _FORWARD and node.operands == (row,))
    return next(known, None) or rebuild.builder.item(row)
