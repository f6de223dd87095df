"""Emits fused loop nests: one nest computes all elements of several nodes of one shape.

Members that are not read outside are never stored. `schedule/fusion.py` says which nodes share a
nest, and which take the memory of a carried array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.buffer import Buffer, Flat, Indices
from treadle.jit.codegen.clock import timed_nest
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.iteration_space import each_index, each_position
from treadle.jit.codegen.nest_function import is_swapped, outlined
from treadle.jit.codegen.ops.concat_in_place import concat_memory
from treadle.jit.codegen.parallel import split_nest
from treadle.jit.codegen.steps.step_function import emit_nest_once
from treadle.jit.kernel.ir import Block, Loop, Node
from treadle.jit.schedule.fusion import Nest
from treadle.jit.schedule.parallelism import Parallelism, in_rows
from treadle.jit.schedule.read_order import ReadOrder


@dataclass(eq=False, slots=True)
class IterationEnd:
    """The nodes needed at the end of a loop's body: carried values and stacked outputs.

    `into` are the carried values that are updated in place, by each node of the update chain
    (carried/in_place.py). `over` are pairs of a reader outside this block and a value it has read
    completely, so that the value's memory may be reused. `anew` are results of a branch's side and
    the values whose memory the branch reuses for them.
    """

    loop: Node | None = None
    state_of: dict[Node, Node] = field(default_factory=dict)
    stacked: dict[Node, list[Buffer]] = field(default_factory=dict)
    kept: frozenset[Node] = frozenset()
    into: dict[Node, Node] = field(default_factory=dict)
    over: set[tuple[Node, Node]] = field(default_factory=set)
    anew: dict[Node, Node] = field(default_factory=dict)
    written: set[Node] = field(default_factory=set)
    stored: set[Node] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class FusedNests:
    """The nests of one block."""

    context: CodegenContext
    block: Block
    ending: IterationEnd
    order: ReadOrder

    @classmethod
    def of(cls, context: CodegenContext, block: Block, ending: IterationEnd) -> FusedNests:
        """Those of a block, with nothing emitted yet."""
        order = ReadOrder(block, context.access.places, over=ending.over)
        return cls(context, block, ending, order)

    def emit(self, nest: Nest) -> None:
        """Emit one nest."""
        targets = self._targets(nest)
        t, e = self.context.access, self.context
        e.counts.update({"nests": 1, "fused": len(nest.nodes)})
        is_apart = any(is_swapped(e, b) for node in nest.nodes for b in targets[node])
        found = e.schedule.parallelism_of(nest)
        with timed_nest(e, nest.nodes), outlined(e, when=is_apart):
            emit_nest_once(e, nest, targets, found, lambda: self._write(nest, found, targets))
        for node in nest.nodes:
            self.order.done.add(node)
            for buffer in targets[node][:1]:
                if self._is_kept(node, nest.nodes):
                    t.buffers[node] = buffer

    def _write(self, nest: Nest, found: Parallelism, targets: dict[Node, list[Buffer]]) -> None:
        t, e, nodes = self.context.access, self.context, nest.nodes
        if nest.pieces is not None:
            split_nest(e, nest.pieces, found, lambda index: self._element(nodes, targets, index))
        elif found.vector_axis is None and self._is_dense(nodes, targets):
            with each_position(e, t.size(nodes[0]), found) as position:
                self._element(nodes, targets, Flat(position))
        else:
            with each_index(e, t.shape(nodes[0]), self._in_rows(nodes[0], found)) as index:
                self._element(nodes, targets, index)

    def _in_rows(self, node: Node, found: Parallelism) -> Parallelism:
        """How the nest runs index by index, also where memory with strides asks for that."""
        if found.vector_axis is not None:
            return found
        threshold = self.context.kernel.parallel_threshold_ns
        return in_rows(found.nanoseconds, self.context.access.shape(node), threshold)

    def _element(
        self, nest: Sequence[Node], targets: dict[Node, list[Buffer]], at: Indices
    ) -> None:
        t = self.context.access
        with t.scope():
            values = [(node, t.read(node, at)) for node in nest]
            for node, value in values:
                for buffer in targets[node]:
                    t.store(buffer, at, value)

    def _is_dense(self, nest: Sequence[Node], targets: dict[Node, list[Buffer]]) -> bool:
        """Whether all memory of the nest is in row-major order: no part of a larger array."""
        if not all(buffer.is_dense for node in nest for buffer in targets[node]):
            return False
        read = (operand for node in nest for operand in node.operands)
        outside = dict.fromkeys(operand for operand in read if operand not in nest)
        return all(map(self.context.access.is_flat, outside))

    def _targets(self, nest: Nest) -> dict[Node, list[Buffer]]:
        """The memory each member is written to; its own storage comes first."""
        targets: dict[Node, list[Buffer]] = {}
        for node in nest.nodes:
            targets[node] = []
            if self._is_kept(node, nest.nodes):
                targets[node].append(self._memory(node, nest))
            if node in self.ending.stacked:
                targets[node] += self.ending.stacked[node]
                self.ending.stored.add(node)
        return targets

    def _is_kept(self, node: Node, nest: Sequence[Node]) -> bool:
        if node in self.context.kernel.results or node in self.ending.state_of:
            return True
        if node in self.ending.kept:
            return True
        loop = self.ending.loop
        is_stacked_alone = (
            loop is not None
            and isinstance(loop.op, Loop)
            and node in self.ending.stacked
            and node not in loop.op.nexts
        )
        for reader in self.context.access.places.readers.get(node, ()):
            if reader is loop and is_stacked_alone:
                continue
            if reader not in nest:
                return True
        return False

    def _memory(self, node: Node, nest: Nest) -> Buffer:
        if node in self.context.carried.double_buffers:
            target: Buffer = self.context.carried.double_buffers[node].target
            return target
        state = nest.in_place.get(node)
        if state is not None:
            if self.ending.state_of.get(node) is state:
                self.ending.written.add(state)
            return self.context.access.buffers[state]
        base = self.ending.anew.get(node)
        if base is not None and self.order.are_over(base, nest.nodes):
            return self.context.access.buffers[base]
        return concat_memory(self.context, node) or allocate(self.context, node)
