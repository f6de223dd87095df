"""Fusion: which nodes of a block share a loop nest, and the order of nests and other nodes.

A node joins the open nest of its shape unless it reads a member at another index than its own. A
nest is written before the first node that needs it, and before what may overwrite memory: Scatters,
and loops and branches that update a carried array. A nest that reads Concats is split into pieces
(index_set_splitting.py). A member that is the next value of a carried array takes the memory of the
array if the old value is not read any more. So does a value of its shape that is computed before,
which the next value's nest is the last to read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treadle.jit.kernel.ir import Block, Branch, Loop, Node, Scatter
from treadle.jit.kernel.traversal import with_inside, yielded
from treadle.jit.schedule.index_set_splitting import (
    SplitPoints,
    are_few,
    count,
    split_concats,
    together,
)
from treadle.jit.schedule.nest_size import (
    MAX_FUSED,
    MIN_LONG,
    emission_weight,
    has_long_latency,
    is_expensive,
    most_fused,
)
from treadle.jit.schedule.pipelines import Pipeline, in_pipeline_order
from treadle.jit.schedule.read_order import ReadOrder, is_own_index_read, readers_first
from treadle.jit.schedule.storage import Storage, StorageMap
from treadle.jit.schedule.update_chains import update_chain_of


@dataclass(frozen=True, eq=False, slots=True)
class Nest:
    """Nodes that one loop nest computes, and the pieces it is split into.

    `in_place` are the members that take the memory of a carried array, which is named.
    """

    nodes: tuple[Node, ...]
    pieces: SplitPoints | None
    in_place: Mapping[Node, Node]


Step = Nest | Node
"""A nest, or a node that has code of its own."""


def fused_steps(
    block: Block,
    storage: StorageMap,
    state_of: Mapping[Node, Node],
    links: Collection[Node],
    pipelines: Mapping[Node, Pipeline],
) -> tuple[Step, ...]:
    """The steps of a block in order.

    `state_of` are next values and the carried arrays in one buffer that they replace; `links` are
    the nodes that update one; `pipelines` are found by their first loops.
    """
    updates = not set(links).isdisjoint(block.nodes)
    nodes = readers_first(in_pipeline_order(block.nodes, pipelines), links, storage)
    fusion = _Fusion(block, nodes, storage, state_of)
    for node in nodes:
        storage_class = storage.storage_of[node]
        if storage_class is Storage.NEST:
            fusion.join(node)
        elif storage_class is not Storage.INLINE:
            for needing in pipelines[node].loops if node in pipelines else (node,):
                fusion.need(needing)
            if isinstance(node.op, Scatter) or (updates and isinstance(node.op, Loop | Branch)):
                fusion.close_all()
            fusion.steps.append(node)
            fusion.order.done.add(node)
    fusion.close_all()
    return tuple(fusion.steps)


class _Fusion:
    """The open nests of a block, and the steps before them."""

    def __init__(
        self,
        block: Block,
        nodes: Sequence[Node],
        storage: StorageMap,
        state_of: Mapping[Node, Node],
    ) -> None:
        self.block, self.storage, self.state_of = block, storage, state_of
        self.updates = {state: _updates(after, block) for after, state in state_of.items()}
        fused = (node for node in block.nodes if storage.storage_of[node] is Storage.NEST)
        self.is_long = sum(map(emission_weight, fused)) >= MIN_LONG
        self.order = ReadOrder(block, storage)
        self.steps: list[Step] = []
        self.member: dict[Node, list[Node]] = {}
        self.cut: dict[Node, SplitPoints] = {}
        self.row: dict[Node, int] = {}
        self.written = set[Node]()
        self.tenant: dict[Node, Node] = {}
        self.place = {node: number for number, node in enumerate(nodes)}

    def join(self, node: Node) -> None:
        """Add a node to the open nest of its shape, or to a new one."""
        mine: list[Node] | None = None
        for each in self.member.values():
            if each[0].shape == node.shape:
                mine = each
        for found, is_own_index in list(self._open_reads(node)):
            nest = self.member.get(found)
            if nest is not None and not (nest is mine and is_own_index):
                if nest is mine:
                    mine = None
                self._close(nest)
        own = split_concats([node], self._is_inline)
        if own is not None:
            self.cut[node] = own
        if mine is not None and not self._fits([*mine, node]):
            mine = self._divided(mine)
            if mine is not None and own is not None and not self._fits([*mine, node]):
                self._close(mine)
                mine = None
        if mine is None:
            mine = []
        self.row[node] = self._row(node)
        mine.append(node)
        self.member[node] = mine

    def need(self, node: Node) -> None:
        """Close every nest that the node reads from."""
        for found, _ in list(self._open_reads(node)):
            if found in self.member:
                self._close(self.member[found])

    def close_all(self) -> None:
        """Close every open nest."""
        while self.member:
            self._close(next(iter(self.member.values())))

    def _close(self, nest: list[Node]) -> None:
        in_place = {}
        for node in nest:
            state = self.state_of.get(node)
            if state is not None and state not in self.written and self._is_free(state, nest):
                in_place[node] = state
                self.written.add(state)
        in_place.update(self._tenants(nest))
        self.steps.append(Nest(tuple(nest), self._cuts(nest), in_place))
        for node in nest:
            del self.member[node]
            self.order.done.add(node)

    def _is_free(self, state: Node, nest: list[Node]) -> bool:
        """Whether the memory of a carried array is not read any more after the nest."""
        held = [state, *([self.tenant[state]] if state in self.tenant else ())]
        held += [each for each in self.updates[state] if each not in nest]
        return all(self.order.are_over(each, nest) for each in held)

    def _tenants(self, nest: list[Node]) -> Mapping[Node, Node]:
        """Members that take the memory of a carried array before its next value does."""
        found: dict[Node, Node] = {}
        for after, state in self.state_of.items():
            if after in nest or state in self.written or state in self.tenant:
                continue
            node = self._tenant(nest, state, after)
            if node is not None and node not in found and self._is_free(state, nest):
                self.tenant[state], found[node] = node, state
        return found

    def _tenant(self, nest: list[Node], state: Node, after: Node) -> Node | None:
        """The last stored member of the array's kind that nothing behind the next value reads."""
        for node in reversed(nest):
            is_like = (node.shape, node.dtype) == (state.shape, state.dtype)
            is_stored = any(each not in nest for each in self.storage.readers.get(node, ()))
            if is_like and is_stored and self._is_read_until(node, after):
                return None if node in self.state_of else node
        return None

    def _is_read_until(self, node: Node, last: Node) -> bool:
        """Whether all readers stand in this block, and none behind the last node."""
        return all(
            reader.home is self.block
            and self.place[reader] <= self.place[last]
            and (not self._is_inline(reader) or self._is_read_until(reader, last))
            for reader in self.storage.readers.get(node, ())
        )

    def _divided(self, nest: list[Node]) -> list[Node] | None:
        """Close the first part of a full nest; returns the rest of it, still open.

        The nest ends where the fewest of its values are read later, at half its length or beyond:
        so the layers of a network, one nest each or several, are nests that are alike.
        """
        half = len(nest) // 2
        live = [0] * (len(nest) + 1)
        place = {node: number for number, node in enumerate(nest)}
        for number, node in enumerate(nest):
            readers = self.storage.readers.get(node, ())
            last = max((place.get(reader, len(nest)) for reader in readers), default=number)
            for between in range(number + 1, last + 1):
                live[between] += 1
        end = min(range(half + 1, len(nest) + 1), key=lambda each: (live[each], -each))
        rest = nest[end:]
        for node in rest:
            del self.member[node]
        del nest[end:]
        self._close(nest)
        for node in rest:
            self.row[node] = self._row(node)
            self.member[node] = rest
        return rest or None

    def _cuts(self, nest: list[Node]) -> SplitPoints | None:
        """The positions at which the nest is split for the Concats it reads."""
        found = [self.cut[node] for node in nest if node in self.cut]
        return together(found) if found else None

    def _row(self, node: Node) -> int:
        """The number of expensive functions chained in its nest, up to this node."""
        before = [self.row[found] for found, _ in self._open_reads(node)]
        return max(before, default=0) + is_expensive(node)

    def _fits(self, nest: list[Node]) -> bool:
        """Whether the last node may join: the nest stays vectorizable, with short chains."""
        if has_long_latency(nest[-1], self._row(nest[-1])):
            return False
        size = sum(map(emission_weight, nest))
        found = self._cuts(nest)
        most = most_fused(nest[-1], is_long=self.is_long)
        if found is None:
            return size <= most
        return are_few(found) and size * count(found) <= MAX_FUSED

    def _is_inline(self, node: Node) -> bool:
        return self.storage.storage_of[node] is Storage.INLINE

    def _open_reads(self, node: Node) -> Iterator[tuple[Node, bool]]:
        """Members of open nests that the node reads; whether it reads at its own index only."""
        for operand in _operands(node):
            yield from self._through(operand, is_own_index_read(node, operand))

    def _through(self, node: Node, is_own_index: bool) -> Iterator[tuple[Node, bool]]:
        if node in self.member:
            yield node, is_own_index
        elif self._is_inline(node) and node.home is self.block:
            for operand in node.operands:
                yield from self._through(operand, is_own_index and is_own_index_read(node, operand))


def _updates(after: Node, block: Block) -> list[Node]:
    """What a block writes into the memory of a carried array before its next value."""
    links, _ = update_chain_of(after, block)
    return [each for each in links if each is not after and each.home is block]


def _operands(node: Node) -> Iterator[Node]:
    """All operands of the node, at any depth."""
    for each in with_inside(node):
        yield from (*each.operands, *yielded(each))
