"""Items and stacked outputs that lie across the rows of their tensor become rows.

    for i: h = f(h, x[:, i]); y[:, i] = h         xt = transpose(x)
                                            =     for i: h = f(h, xt[i]); yt[i] = h
                                                  y = transpose(yt)

A transposition by tiles reads and writes each cache line once, where an iteration would touch one
for every element of its item. Only of many columns of many elements, whose sizes are known before
the loop; those of open extents count as many.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from treadle.jit.kernel.ir import Kernel, Loop, Node, Number, Result, ScanSlice, Shape, op_of
from treadle.jit.kernel.rebuild import Rebuild, copied, write_loop
from treadle.jit.kernel.rewrite import Rules, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, stack_of
from treadle.jit.kernel.views import moved_axis
from treadle.jit.schedule.loops.facts import grows
from treadle.jit.schedule.storage import TILE


@rewrite_pass
def with_rows(kernel: Kernel) -> Rules | None:
    """The kernel whose loops take and stack rows; itself if they do, or counts what they do."""
    nodes = () if kernel.counts_loops else all_nodes(kernel.main)
    items = {node for node in nodes if isinstance(node.op, ScanSlice) and _is_column(node, node.op)}
    stacks = {node for node in nodes if isinstance(node.op, Result) and _is_stacked_column(node)}
    if not items and not stacks:
        return None
    writer = _Rows(items, stacks)
    rules = {ScanSlice: writer.item, Loop: writer.loop, Result: writer.result}
    return rules


def _is_column(item: Node, op: ScanSlice) -> bool:
    return _are_columns(item.shape, item.operands[0].shape[op.axis], op.axis)


def _is_stacked_column(node: Node) -> bool:
    stack = stack_of(node)
    if stack is None or grows(node):
        return False
    return _are_columns(stack.element.shape, node.shape[stack.axis], stack.axis)


def _are_columns(item: Shape, count: Number, axis: int) -> bool:
    """Whether parts of a tensor along an axis are columns of many elements, and many of them."""
    own = [extent for extent in item if extent != 1]
    is_last = axis > 0 and all(extent == 1 for extent in item[axis:])
    return is_last and bool(own) and _is_many(own[-1]) and _is_many(count)


def _is_many(extent: Number) -> bool:
    return not isinstance(extent, int) or extent >= TILE


@dataclass(frozen=True, eq=False, slots=True)
class _Rows:
    """The rules; `items` and `stacks` are the slices and results that are columns."""

    items: Collection[Node]
    stacks: Collection[Node]

    def item(self, rebuild: Rebuild, node: Node) -> Node:
        """A slice; of a transposition if it is a column."""
        if node not in self.items:
            return copied(rebuild, node)
        op, source = op_of(node, ScanSlice), rebuild.nodes[node.operands[0]]
        return rebuild.builder.item(
            moved_axis(rebuild.builder, source, op.axis, 0), reverse=op.reverse
        )

    def loop(self, rebuild: Rebuild, node: Node) -> Node:
        """A loop that stacks rows."""
        op = op_of(node, Loop)
        numbers = {op_of(each, Result).number for each in self.stacks if each.operands == (node,)}
        stacks = tuple(
            replace(stack, axis=0) if number in numbers else stack
            for number, stack in enumerate(op.stacks, start=len(op.states))
        )
        return write_loop(rebuild, node, replace(op, stacks=stacks))

    def result(self, rebuild: Rebuild, node: Node) -> Node:
        """A result; a transposition of it if its elements were columns."""
        stack, builder = stack_of(node), rebuild.builder
        if node not in self.stacks or stack is None:
            return copied(rebuild, node)
        count, shape = rebuild.number(node.shape[stack.axis]), list(rebuild.shape(node))
        del shape[stack.axis]
        rows = builder.add(node.op, node.dtype, (count, *shape), rebuild.nodes[node.operands[0]])
        return moved_axis(builder, rows, 0, stack.axis)
