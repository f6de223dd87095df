"""Memory order: whether the elements of a value are neighbours in memory, in row-major order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    Loop,
    Node,
    Reshape,
    Result,
    ScanSlice,
    Stack,
    View,
)
from treadle.jit.schedule.carried_storage import CarriedStorage, Registers, Resizable, Window
from treadle.jit.schedule.loops.facts import is_extent_of
from treadle.jit.schedule.storage import Storage, StorageMap, keeps_order


@dataclass(frozen=True, eq=False, slots=True)
class MemoryOrder:
    """What it follows from; `carried` is the storage of carried values, by their loop's body.

    `parts` are values that are computed in the memory of a Concat.
    """

    storage: StorageMap
    carried: Mapping[Block, Sequence[CarriedStorage]]
    parts: Mapping[Node, Node]

    def is_dense(self, node: Node) -> bool:
        """Whether a value is surely in memory in row-major order, without gaps."""
        if self.storage.storage_of[node] in (Storage.INLINE, Storage.REGISTERS):
            return False
        stack = _growing_stack(node)
        if node in self.parts or (stack is not None and stack.axis):
            return False
        match self._carried(node):
            case Window() | Registers():
                return False
            case Resizable(_, axis):
                return all(extent == 1 for extent in node.shape[: axis or 0])
        return True

    def has_rows(self, node: Node) -> bool:
        """Whether neighbouring elements along the last axis are neighbours in memory."""
        kind, last = self.storage.storage_of[node], len(node.shape) - 1
        if kind is not Storage.INLINE:
            stack, carried = _growing_stack(node), self._carried(node)
            is_turned = stack is not None and 0 < stack.axis == last
            is_window = isinstance(carried, Window) and 0 < carried.axis == last
            return not (kind is Storage.REGISTERS or is_turned or is_window)
        match node.op:
            case ScanSlice(axis, _):
                is_last = axis == len(node.operands[0].shape) - 1
                return not is_last and self.has_rows(node.operands[0])
            case View(axes) if axes:
                *others, own = axes
                is_apart = all(number != last for axis in others for number, _ in axis.terms)
                return is_apart and (last, 1) in own.terms and self.has_rows(node.operands[0])
            case Reshape():
                return self.is_dense(in_same_order(node, self.storage))
        return False

    def _carried(self, node: Node) -> CarriedStorage | None:
        """The storage of a carried value, also after the loop if it is resizable; else None."""
        match node.op:
            case CarriedArg(number):
                return self.carried[node.home][number]
            case Result(number) if isinstance(node.operands[0].op, Loop):
                found = self.carried[node.operands[0].op.body][number:][:1]
                return found[0] if found and isinstance(found[0], Resizable) else None
        return None


def in_same_order(node: Node, storage: StorageMap) -> Node:
    """The node that a reshape reads, also through views that only add or remove axes of one."""
    while storage.storage_of[node] is Storage.INLINE and isinstance(node.op, Reshape | View):
        if isinstance(node.op, View) and not keeps_order(node):
            return node
        node = node.operands[0]
    return node


def grows(part: Node) -> bool:
    """Whether the length of a stacked output is known after its loop only."""
    return any(is_extent_of(extent, part) for extent in part.shape)


def _growing_stack(node: Node) -> Stack | None:
    """The stacked output that a node is, if its memory grows."""
    if not isinstance(node.op, Result) or not isinstance(node.operands[0].op, Loop):
        return None
    loop, number = node.operands[0].op, node.op.number - len(node.operands[0].op.states)
    return loop.stacks[number] if number >= 0 and grows(node) else None
