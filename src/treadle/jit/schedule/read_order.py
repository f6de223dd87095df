"""Whether a value has been read completely, so that its memory may be reused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from treadle.jit.kernel.ir import Block, Elementwise, Loop, Node
from treadle.jit.kernel.traversal import inner_blocks
from treadle.jit.schedule.storage import Storage, StorageMap


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
