"""Common subexpression elimination in the kernel IR: equal nodes become one as they are written.

Nodes are numbered by value: two are equal if their operation, dtype, shape, operands and home block
are. Constants are equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from treadle.jit.kernel.ir import Block, Node

Value = tuple[object, ...]
"""What a node computes, as a key."""


@dataclass(eq=False, slots=True)
class ValueTable:
    """The nodes of a kernel by their value, and the order in which they were added."""

    known: dict[Value, Node] = field(default_factory=dict)
    _added: list[Value] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._added)

    def add(self, node: Node) -> Node:
        """The node of the same value in the same block; a new one is appended to its home block."""
        value = (node.op, node.dtype, node.shape, node.operands, node.home)
        found = self.known.get(value)
        if found is not None:
            return found
        self.known[value] = node
        self._added.append(value)
        node.home.nodes.append(node)
        return node

    def remove_after(self, count: int) -> Iterator[Node]:
        """Remove all but the first `count` nodes from the table and their blocks; yields them.

        The block of a node is gone where the lowering of a loop or a branch was given up.
        """
        while len(self._added) > count:
            node = self.known.pop(self._added.pop())
            home: Block | None = node.home
            if home is not None:
                home.nodes.remove(node)
            yield node
