"""Whether a value has been read completely, so that its memory may be reused.

    new = scatter into old                x = take of old
    x = take of old            becomes    new = scatter into old

A program may read the old value of an array behind its update, which would then need a copy of the
array: what can be computed before the update is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from treadle.jit.kernel.ir import (
    Block,
    Branch,
    Elementwise,
    Guard,
    HostCall,
    Loop,
    Node,
    Result,
    Scatter,
)
from treadle.jit.kernel.traversal import inner_blocks, reads_of, with_inside
from treadle.jit.schedule.storage import Storage, StorageMap
from treadle.jit.schedule.update_chains import link_of

_UNMOVED = (Branch, Guard, HostCall, Loop, Result, Scatter)
"""Operations that stay in their order: they write, fail or take long."""


@dataclass(frozen=True, eq=False, slots=True)
class ReadOrder:
    """The nodes of a block that are finished.

    `over` are pairs of a reader outside the block and a value that it has read completely.
    """

    block: Block
    storage: StorageMap
    done: set[Node] = field(default_factory=set)
    over: Collection[tuple[Node, Node]] = ()

    def is_over(self, reader: Node, read: Node, nest: Collection[Node] = ()) -> bool:
        """Whether the reader has read the whole value once the nest is written."""
        if (reader, read) in self.over:
            return True
        if self._is_done(reader):
            return True
        is_own = is_own_index_read(reader, read)
        if reader in nest:
            return is_own
        return (
            is_own
            and self._is_computed_by_readers(reader)
            and all(
                self.is_over(other, reader, nest) for other in self.storage.readers.get(reader, ())
            )
        )

    def _is_done(self, node: Node) -> bool:
        """Whether a node is finished: one that its readers compute, once these are."""
        if node.home is not self.block:
            return self._around(node) in self.done
        return node in self.done or (
            self._is_computed_by_readers(node)
            and all(map(self._is_done, self.storage.readers.get(node, ())))
        )

    def _is_computed_by_readers(self, node: Node) -> bool:
        is_inline = self.storage.storage_of[node] is Storage.INLINE
        return node.home is self.block and is_inline and not isinstance(node.op, Loop)

    def are_over(self, read: Node, nest: Collection[Node] = ()) -> bool:
        """Whether every reader has read the whole value once the nest is written."""
        return all(self.is_over(each, read, nest) for each in self.storage.readers.get(read, ()))

    def _around(self, node: Node) -> Node:
        """The node of this block that contains an inner node."""
        inner = next((b for b in node.home.outward() if b.parent is self.block), None)
        return next((own for own in self.block.nodes if inner in inner_blocks(own)), node)


def is_own_index_read(reader: Node, read: Node) -> bool:
    """Whether each element of the reader reads the element at its own index, and no other."""
    return isinstance(reader.op, Elementwise) and read.shape == reader.shape


def readers_first(
    nodes: Sequence[Node], links: Collection[Node], storage: StorageMap
) -> Sequence[Node]:
    """The nodes of a block, with what reads an array before the link that overwrites it."""
    own = [node for node in nodes if node in links]
    reads = {node: reads_of(with_inside(node)) for node in nodes} if own else {}
    for node in own:
        link = link_of(node)
        if link is None:
            continue
        writer = node.operands[0] if isinstance(node.op, Result) else node
        place = nodes.index(writer)
        behind = nodes[place + 1 :]
        moved = _late_readers(behind, link[1], reads, storage)
        if moved and not any(
            isinstance(each.op, _UNMOVED) or writer in reads[each] for each in moved
        ):
            early = [each for each in behind if each in moved]
            kept = [each for each in behind if each not in moved]
            nodes = [*nodes[:place], *early, writer, *kept]
    return nodes


def _late_readers(
    behind: Sequence[Node], old: Node, reads: Mapping[Node, set[Node]], storage: StorageMap
) -> set[Node]:
    """The nodes behind a writer that read the old value, and what they are computed from.

    What reads a value that is computed where it is read reads the old value itself.
    """
    found, sources = set[Node](), {old}
    for node in behind:
        if not sources.isdisjoint(reads[node]):
            found.add(node)
            if storage.storage_of[node] is Storage.INLINE or node in storage.in_place:
                sources.add(node)
    for node in reversed(behind):
        if node in found:
            found |= reads[node].intersection(behind)
    return found
