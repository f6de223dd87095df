"""Fused loop nests: one nest computes all elements of several nodes of one shape.

A node joins the open nest of its shape unless it reads a member at another index than its own.
Members that are not read outside are never stored. A member that is the next value of a carried
value is written to its memory if the old value is not read any more, or to the second buffer of a
double buffer. A nest that reads Concats is split into pieces (schedule/index_set_splitting.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.buffer import Buffer, Flat, Indices
from treadle.jit.codegen.clock import timed_nest
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.iteration_space import each_index, each_position
from treadle.jit.codegen.nest_function import is_swapped, outlined
from treadle.jit.codegen.ops.concat_in_place import concat_memory
from treadle.jit.codegen.parallel import split_nest
from treadle.jit.kernel.ir import Block, Elementwise, Loop, Node
from treadle.jit.kernel.traversal import all_nodes, inner_blocks, yielded
from treadle.jit.schedule.cost_model import per_element
from treadle.jit.schedule.index_set_splitting import Pieces, are_few, count, split_concats, together
from treadle.jit.schedule.storage import (
    MAX_FUSED,
    Storage,
    emission_weight,
    has_long_latency,
    is_expensive,
    is_same_size,
)


@dataclass(eq=False, slots=True)
class IterationEnd:
    """The nodes needed at the end of a loop's body: carried values and stacked outputs.

    `into` are the carried values that are updated in place, by each node of the update chain
    (carried/in_place.py). `over` are pairs of a reader outside this block and a value it has read
    completely, so that the value's memory may be reused.
    """

    loop: Node | None = None
    state_of: dict[Node, Node] = field(default_factory=dict)
    stacked: dict[Node, list[Buffer]] = field(default_factory=dict)
    kept: frozenset[Node] = frozenset()
    into: dict[Node, Node] = field(default_factory=dict)
    over: set[tuple[Node, Node]] = field(default_factory=set)
    written: set[Node] = field(default_factory=set)
    stored: set[Node] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class FusedNests:
    """The open nests of one block."""

    context: CodegenContext
    block: Block
    ending: IterationEnd
    member: dict[Node, list[Node]] = field(default_factory=dict)
    done: set[Node] = field(default_factory=set)
    cut: dict[Node, Pieces] = field(default_factory=dict)
    row: dict[Node, int] = field(default_factory=dict)

    def join(self, node: Node) -> None:
        """Add a node to the open nest of its shape, or to a new one."""
        mine: list[Node] | None = None
        for each in self.member.values():
            if each[0].shape == node.shape:
                mine = each
        for found, is_own_index in list(self.open_reads(node)):
            nest = self.member.get(found)
            if nest is not None and not (nest is mine and is_own_index):
                if nest is mine:
                    mine = None
                self.flush(nest)
        own = split_concats([node], self._is_inline)
        if own is not None:
            self.cut[node] = own
        if mine is not None and not self._fits([*mine, node]):
            self.flush(mine)
            mine = None
        if mine is None:
            mine = []
        self.row[node] = self._row(node)
        mine.append(node)
        self.member[node] = mine

    def _cuts(self, nest: list[Node]) -> Pieces | None:
        """The positions at which the nest is split for the Concats it reads."""
        found = [self.cut[node] for node in nest if node in self.cut]
        return together(found) if found else None

    def _row(self, node: Node) -> int:
        """The number of expensive functions chained in its nest, up to this node."""
        before = [self.row[found] for found, _ in self.open_reads(node)]
        return max(before, default=0) + is_expensive(node)

    def _fits(self, nest: list[Node]) -> bool:
        """Whether the last node may join: the nest stays vectorizable, with short chains."""
        if has_long_latency(nest[-1], self._row(nest[-1])):
            return False
        size = sum(map(emission_weight, nest))
        found = self._cuts(nest)
        if found is None:
            return size <= MAX_FUSED
        return are_few(found) and size * count(found) <= MAX_FUSED

    def _is_inline(self, node: Node) -> bool:
        return self.context.access.storage_of(node) is Storage.INLINE

    def need(self, node: Node) -> None:
        """Emit every nest that the node reads from."""
        for found, _ in list(self.open_reads(node)):
            if found in self.member:
                self.flush(self.member[found])

    def open_reads(self, node: Node) -> Iterator[tuple[Node, bool]]:
        """Members of open nests that the node reads; whether it reads at its own index only."""
        for operand in _operands(node):
            yield from self._through(operand, operand.shape == node.shape and _is_map(node))

    def _through(self, node: Node, is_own_index: bool) -> Iterator[tuple[Node, bool]]:
        if node in self.member:
            yield node, is_own_index
        elif self.context.access.storage_of(node) is Storage.INLINE and node.home is self.block:
            for operand in node.operands:
                same = is_own_index and _is_map(node) and operand.shape == node.shape
                yield from self._through(operand, same)

    def flush_all(self) -> None:
        """Emit every open nest."""
        while self.member:
            self.flush(next(iter(self.member.values())))

    def flush(self, nest: list[Node]) -> None:
        """Emit one nest."""
        targets = self._targets(nest)
        t, e = self.context.access, self.context
        e.counts.update({"nests": 1, "fused": len(nest)})
        is_apart = any(is_swapped(e, b) for node in nest for b in targets[node])
        with timed_nest(e, nest), outlined(e, when=is_apart):
            self._write(nest, targets)
        for node in nest:
            del self.member[node]
            self.done.add(node)
            for buffer in targets[node][:1]:
                if self._is_kept(node, nest):
                    t.buffers[node] = buffer

    def _write(self, nest: list[Node], targets: dict[Node, list[Buffer]]) -> None:
        t, e = self.context.access, self.context
        cost, found = per_element(t.places, t.buffers, nest), self._cuts(nest)
        if found is not None:
            split_nest(e, found, cost, lambda index: self._element(nest, targets, index))
        elif self._is_flat(nest, targets):
            with each_position(e, t.size(nest[0]), cost) as position:
                self._element(nest, targets, Flat(position))
        else:
            with each_index(e, t.shape(nest[0]), cost) as index:
                self._element(nest, targets, index)

    def _element(self, nest: list[Node], targets: dict[Node, list[Buffer]], at: Indices) -> None:
        t = self.context.access
        with t.scope():
            values = [(node, t.read(node, at)) for node in nest]
            for node, value in values:
                for buffer in targets[node]:
                    t.store(buffer, at, value)

    def _is_flat(self, nest: list[Node], targets: dict[Node, list[Buffer]]) -> bool:
        t, members = self.context.access, set(nest)
        if not all(buffer.is_dense for node in nest for buffer in targets[node]):
            return False
        if len(nest[0].shape) == 1 and not all(_is_map(node) for node in nest):
            return False
        outside = {o for node in nest for o in node.operands if o not in members}
        if not all(_is_map(node) for node in nest):
            return False
        return all(o.is_single or (is_same_size(o, nest[0]) and t.is_flat(o)) for o in outside)

    def _targets(self, nest: list[Node]) -> dict[Node, list[Buffer]]:
        """The memory each member is written to; its own storage comes first."""
        targets: dict[Node, list[Buffer]] = {}
        for node in nest:
            targets[node] = []
            if self._is_kept(node, nest):
                targets[node].append(self._memory(node, nest))
            if node in self.ending.stacked:
                targets[node] += self.ending.stacked[node]
                self.ending.stored.add(node)
        return targets

    def _is_kept(self, node: Node, nest: list[Node]) -> bool:
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

    def _memory(self, node: Node, nest: list[Node]) -> Buffer:
        if node in self.context.carried.double_buffers:
            target: Buffer = self.context.carried.double_buffers[node].target
            return target
        state = self.ending.state_of.get(node)
        if state is None or state in self.ending.written or not self._is_last(state, nest):
            part = concat_memory(self.context, node, nest) if state is None else None
            return part or allocate(self.context, node)
        self.ending.written.add(state)
        return self.context.access.buffers[state]

    def _is_last(self, state: Node, nest: list[Node]) -> bool:
        """Whether the nest is the last reader of the old value, and reads before it writes."""
        if state not in self.context.access.buffers:
            return False
        return all(self.is_over(reader, state, nest) for reader in self._readers(state))

    def _readers(self, node: Node) -> tuple[Node, ...]:
        return self.context.access.places.readers.get(node, ())

    def is_over(self, reader: Node, read: Node, nest: list[Node]) -> bool:
        """Whether the reader has read the whole value once the nest is written."""
        place = self.context.access.storage_of(reader)
        if (reader, read) in self.ending.over:
            return True
        if reader.home is not self.block:
            reader = self._around(reader)
            return reader in self.done
        if reader in self.done:
            return True
        is_own_index = _is_map(reader) and read.shape == reader.shape
        if reader in nest:
            return is_own_index
        if place is Storage.INLINE and not isinstance(reader.op, Loop):
            return all(
                other in self.done or (is_own_index and self.is_over(other, reader, nest))
                for other in self._readers(reader)
            )
        return False

    def _around(self, node: Node) -> Node:
        """The node of this block that contains an inner node."""
        for own in self.block.nodes:
            for inner in inner_blocks(own):
                if node.home is inner or any(node is each for each in all_nodes(inner)):
                    return own
        return node


def _is_map(node: Node) -> bool:
    return isinstance(node.op, Elementwise)


def _operands(node: Node) -> Iterator[Node]:
    """All operands of the node, at any depth."""
    yield from node.operands
    for inner in inner_blocks(node):
        for each in all_nodes(inner):
            yield from each.operands
            yield from yielded(each)
    yield from yielded(node)
