"""Where every node of a kernel is kept.

REGISTERS   one LLVM value for each element: a few elements, computed where they stand
NEST        element by element in a loop nest that nodes of one shape share
INLINE      nowhere: computed anew by whoever reads it, index by index
BUFFER      in memory, whole, before anything reads it
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from treadle.jit.kernel_ir import (
    Branch,
    Constant,
    Contract,
    Escape,
    Fetch,
    Item,
    Kernel,
    Loop,
    Map,
    Node,
    Pick,
    Put,
    Reduce,
    Reshape,
    View,
    all_nodes,
    extents,
    leaving,
)

MOST_IN_REGISTERS = 16
MOST_UNROLLED = 512
_MANY_ROWS = 4


class Place(enum.Enum):
    """Where a node is kept."""

    REGISTERS = enum.auto()
    NEST = enum.auto()
    INLINE = enum.auto()
    BUFFER = enum.auto()


@dataclass(frozen=True, eq=False, slots=True)
class Places:
    """The place of every node, who reads it, and which registers are also read by an index."""

    place: Mapping[Node, Place]
    readers: Mapping[Node, tuple[Node, ...]]
    spilled: frozenset[Node]


def places(kernel: Kernel) -> Places:
    """The places of all nodes of a kernel."""
    readers: dict[Node, list[Node]] = {}
    nodes = list(all_nodes(kernel.main))
    for node in nodes:
        for operand in (*node.operands, *leaving(node)):
            readers.setdefault(operand, []).append(node)
    place: dict[Node, Place] = {}
    for node in reversed(nodes):
        place[node] = _place(node, readers.get(node, []), place, node in kernel.results)
    spilled = {
        operand
        for node in nodes
        for operand in node.operands
        if _reads_by_index(node, operand, place)
    }
    return Places(
        place, {node: tuple(found) for node, found in readers.items()}, frozenset(spilled)
    )


def _place(node: Node, readers: list[Node], place: Mapping[Node, Place], is_result: bool) -> Place:
    if isinstance(node.op, Loop | Branch | Escape) or not node.is_static:
        return Place.BUFFER
    if node.size <= MOST_IN_REGISTERS and not _is_long(node):
        return Place.REGISTERS
    if isinstance(node.op, Item | View | Reshape):
        return Place.BUFFER if _is_packed(node, readers) else Place.INLINE
    if isinstance(node.op, Map):
        lone = readers[0] if len(readers) == 1 and not is_result else None
        is_fused = lone is not None and lone.home is node.home and _takes_inline(node, lone, place)
        return Place.INLINE if is_fused else Place.NEST
    return Place.BUFFER


def _takes_inline(node: Node, reader: Node, place: Mapping[Node, Place]) -> bool:
    if isinstance(reader.op, Reduce):
        return place[reader] is not Place.INLINE
    is_inline = place.get(reader) is Place.INLINE and isinstance(reader.op, Map)
    return is_inline and reader.shape == node.shape


def _is_packed(node: Node, readers: list[Node]) -> bool:
    """Whether a turned matrix is worth its own memory: it is multiplied with many rows."""
    source = node.operands[0]
    if not isinstance(node.op, View) or not source.shape:
        return False
    if node.op.axes[-1].terms == ((len(node.shape) - 1, 1),):
        return False
    return any(
        isinstance(reader.op, Contract)
        and reader.operands[1] is node
        and (reader.home is not node.home or extents(reader)[-2] >= _MANY_ROWS)
        for reader in readers
    )


def _is_long(node: Node) -> bool:
    """Whether few elements take so much work that loops must do it."""
    if not isinstance(node.op, Contract):
        return False
    return node.size * extents(node.operands[0])[-1] > MOST_UNROLLED


def _reads_by_index(node: Node, operand: Node, place: Mapping[Node, Place]) -> bool:
    if place[operand] is not Place.REGISTERS or operand.size <= 1:
        return False
    if isinstance(operand.op, Constant) or isinstance(node.op, Loop | Branch):
        return False
    return place[node] is not Place.REGISTERS or isinstance(
        node.op, Item | Pick | Fetch | Put | Reduce
    )
