"""Rerolling: a loop whose iteration is several equal steps becomes one of as many iterations more.

    for i: t = f(s, x[2 * i]); s = f(t, x[2 * i + 1])    =    for i: s = f(s, x[i])

Programs are unrolled to save what an interpreter takes for an iteration. What is found of loops,
as windows, linear recurrences and wavefronts, is found of single steps: a filter of 16 taps
unrolled by two takes 5.4 times as long, an edit distance 3. Declines where a run counts what its
loops do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    DimOf,
    InductionVar,
    Kernel,
    Loop,
    Node,
    Reshape,
    Result,
    ScanSlice,
    Stack,
    View,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, write_loop
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.counters import written_counter
from treadle.jit.schedule.algebra.unrolled_steps import Steps, steps_of, stride_of


@fixpoint_pass
def with_rerolled_loops(kernel: Kernel) -> Rules | None:
    """The kernel with a step in each iteration; itself if it has no such loops."""
    is_counted = kernel.counts_loops or kernel.is_recorded
    found = None if is_counted else next(_found(kernel), None)
    if found is None:
        return None
    writer = _Rerolled(found)
    special = {type(node.op): writer.of_body for node in found.counters}
    return {
        **special, View: writer.of_body, ScanSlice: writer.of_body, Loop: writer.loop,
        Result: writer.result, Reshape: _reshaped,
    }  # fmt: skip


def _found(kernel: Kernel) -> Iterator[Steps]:
    nodes = all_nodes(kernel.main)
    measured = {node.operands[0] for node in nodes if isinstance(node.op, DimOf) and node.operands}
    for node in nodes:
        if isinstance(node.op, Loop) and node not in measured:
            steps = steps_of(node)
            if steps is not None:
                yield steps


def _reshaped(rebuild: Rebuild, node: Node) -> Node:
    """Elements in a shape, out of where they are in one."""
    return rebuild.builder.reshape(rebuild.operands(node)[0], rebuild.shape(node))


@dataclass(frozen=True, eq=False, slots=True)
class _Rerolled:
    """The rules; `items` are the new slices by the old ones."""

    steps: Steps
    items: dict[Node, Node] = field(default_factory=dict)
    iteration: list[Node] = field(default_factory=list)

    def loop(self, rebuild: Rebuild, node: Node) -> Node:
        """Write the loop of the first step; others are copied."""
        op, builder, steps = op_of(node, Loop), rebuild.builder, self.steps
        if node is not steps.loop:
            return write_loop(rebuild, node, op)
        sources = {row: self._source(rebuild, row) for row in (*steps.items, *steps.strided)}
        first = Block(op.body.name, op.body.parent, op.body.is_loop, list(steps.nodes))
        body = rebuild.write_inside(first, lambda: self._begin(rebuild, sources))
        outer, builder.block = builder.block, body
        stacks = tuple(
            Stack(
                self._element(rebuild, each, stack.axis), stack.axis, stack.reverse, stack.is_given
            )
            for each, stack in zip(steps.elements, op.stacks, strict=True)
        )
        builder.block = outer
        assert op.extent is not None
        extent = builder.times(rebuild.number(op.extent), steps.count)
        length = (
            None if op.length is None else builder.times(rebuild.number(op.length), steps.count)
        )
        made = replace(
            op, body=body, length=length, extent=extent, stacks=stacks,
            states=tuple(rebuild.nodes[each] for each in op.states),
            nexts=tuple(rebuild.nodes[each] for each in steps.afters),
        )  # fmt: skip
        trip = [builder.dim(extent)] if op.has_trip else []
        return builder.add(made, node.dtype, (), *trip, *rebuild.operands(node)[op.has_trip :])

    def _begin(self, rebuild: Rebuild, sources: dict[Node, Node]) -> None:
        """Write the items of an iteration, and its number."""
        for row, source in sources.items():
            op = op_of(row, ScanSlice)
            self.items[row] = rebuild.builder.item(source, op.axis, reverse=op.reverse)
        if self.steps.counters:
            self.iteration.append(rebuild.builder.param(InductionVar(), DType.INT64, ()))

    def _source(self, rebuild: Rebuild, row: Node) -> Node:
        """The tensor of which a slice has the items of one step."""
        (source,), axis, count = row.operands, op_of(row, ScanSlice).axis, self.steps.count
        shape, builder = list(rebuild.shape(source)), rebuild.builder
        if row in self.steps.items:
            each = row.shape[axis]
            assert isinstance(each, int)
            own = [each // count] if each > count else []
            whole = builder.times(shape[axis], count)
            return builder.reshape(
                rebuild.nodes[source], [*shape[:axis], whole, *own, *shape[axis + 2 :]]
            )
        shape[axis] = builder.times(shape[axis], count)
        step = stride_of(row) // count
        back = step * (count - 1) if op_of(row, ScanSlice).reverse else 0
        axes = [
            Axis(at.offset - back, ((axis, step),))
            if isinstance(at.offset, int) and any(number == axis for number, _ in at.terms)
            else Axis(rebuild.number(at.offset), at.terms) for at in op_of(source, View).axes
        ]  # fmt: skip
        return builder.view(rebuild.nodes[source.operands[0]], shape, axes)

    def of_body(self, rebuild: Rebuild, node: Node) -> Node:
        """A counter, a slice, or a view of one, of the first step; other nodes are copied."""
        if node in self.steps.counters and node.home is op_of(self.steps.loop, Loop).body:
            counter = self.steps.counters[node]
            base = None if counter.base is None else rebuild.nodes[counter.base]
            slower = replace(counter, base=base, step=counter.step // self.steps.count)
            return written_counter(
                rebuild.builder, slower, self.iteration[0], node.dtype, rebuild.shape(node)
            )
        if node in self.steps.items | self.steps.strided:
            return self.items[node]
        if isinstance(node.op, View) and node.operands[0] in self.steps.items:
            return self._view(rebuild, node)
        return copied(rebuild, node)

    def _view(self, rebuild: Rebuild, view: Node) -> Node:
        """What a view reads of the items of the first step."""
        (row,), axes = view.operands, list(op_of(view, View).axes)
        op, item = op_of(row, ScanSlice), self.items[row]
        if len(item.shape) < len(row.shape):
            axes.pop(op.axis)
        elif op.reverse:
            at, extent = axes[op.axis], row.shape[op.axis]
            assert isinstance(at.offset, int)
            assert isinstance(extent, int)
            first = extent - extent // self.steps.count
            axes[op.axis] = Axis(at.offset - first, at.terms)
        moved = [Axis(rebuild.number(at.offset), at.terms) for at in axes]
        return rebuild.builder.view(item, rebuild.shape(view), moved)

    def _element(self, rebuild: Rebuild, element: Node, axis: int) -> Node:
        """A step's part of a stacked output, without the axis that joined the parts."""
        made = rebuild.nodes[element]
        if made.shape[axis] != 1:
            return made
        return rebuild.builder.reshape(made, (*made.shape[:axis], *made.shape[axis + 1 :]))

    def result(self, rebuild: Rebuild, node: Node) -> Node:
        """A stacked output in its old shape; other results are copied."""
        number = op_of(node, Result).number - len(op_of(self.steps.loop, Loop).states)
        if node.operands != (self.steps.loop,) or number < 0:
            return copied(rebuild, node)
        loop = rebuild.nodes[self.steps.loop]
        stack, extent = op_of(loop, Loop).stacks[number], op_of(loop, Loop).extent
        assert extent is not None
        rest = stack.element.shape
        shape = (*rest[: stack.axis], extent, *rest[stack.axis :])
        made = rebuild.builder.add(node.op, node.dtype, shape, loop)
        return rebuild.builder.reshape(made, rebuild.shape(node))
