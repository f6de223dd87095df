"""Memory order: whether the elements of a value are neighbours in memory, in row-major order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from treadle.jit.kernel.ir import (
    Concat,
    Constant,
    Elementwise,
    Loop,
    Node,
    Reduce,
    Reshape,
    Result,
    ScanSlice,
    Stack,
    Take,
    View,
    op_of,
)
from treadle.jit.kernel.traversal import stack_of
from treadle.jit.kernel.view_bounds import keeps_order
from treadle.jit.schedule.carried_storage import CarriedStorage, Registers, Resizable
from treadle.jit.schedule.layouts.sliding_windows import SlidingWindow
from treadle.jit.schedule.layouts.windows import Window
from treadle.jit.schedule.loops.facts import grows
from treadle.jit.schedule.storage import Storage, StorageMap


@dataclass(frozen=True, slots=True)
class Destination:
    """Memory that a value is written to: its own, or a part of another value's.

    `is_whole`: it has no gaps; `has_rows`: elements along the value's last axis are neighbours,
    where axes of extent 1 do not count.
    """

    is_whole: bool = True
    has_rows: bool = True


OWN_MEMORY = Destination()


@dataclass(frozen=True, eq=False, slots=True)
class MemoryOrder:
    """What it follows from; `carried` is the storage of values in the memory of carried ones.

    `parts` are values that are computed in the memory of a Concat, `gapped` stacked elements that
    are written between those of other iterations.
    """

    storage: StorageMap
    carried: Mapping[Node, CarriedStorage]
    parts: Mapping[Node, Node]
    gapped: Collection[Node] = ()

    def is_dense(self, node: Node) -> bool:
        """Whether a value is surely in memory in row-major order, without gaps."""
        if self.storage.storage_of[node] in (Storage.INLINE, Storage.REGISTERS):
            return False
        stack = _growing_stack(node)
        if node in self.parts or (stack is not None and stack.axis):
            return False
        match self.carried.get(node):
            case Window() | Registers():
                return False
            case SlidingWindow(axis):
                return _are_single(node.shape[:axis])
            case Resizable(_, axis):
                return _are_single(node.shape[: axis or 0])
        return True

    def is_stored_whole(self, node: Node) -> bool:
        """The same also of windows, and of values in registers that are in memory too."""
        kind = self.storage.storage_of[node]
        if kind is Storage.REGISTERS:
            return isinstance(node.op, Constant) or node in self.storage.spilled
        carried = self.carried.get(node)
        if isinstance(carried, Window) and kind is not Storage.INLINE:
            return not carried.axis
        return self.is_dense(node)

    def has_neighbours(self, node: Node, axis: int) -> bool:
        """Whether elements along an axis are surely neighbours in memory."""
        return self.is_stored_whole(node) and _are_single(node.shape[axis + 1 :])

    def is_read_in_place(self, row: Node) -> bool:
        """Whether a row that an index takes is read in the memory of its data."""
        whole = self.storage.in_place.get(row)
        return whole is not None and self.is_dense(whole)

    def is_written_whole(self, node: Node) -> bool:
        """Whether a nest writes a value without gaps: not into parts of a Concat or stack."""
        join = self.parts.get(node)
        return node not in self.gapped and (join is None or self.in_concat(node, join).is_whole)

    def in_concat(self, node: Node, join: Node) -> Destination:
        """The destination of an operand in its Concat, which may be a part of another."""
        axis, outer = op_of(join, Concat).axis, self.parts.get(join)
        whole = Destination(self.is_dense(join)) if outer is None else self.in_concat(join, outer)
        return Destination(
            whole.is_whole and _are_single(node.shape[:axis]),
            whole.has_rows and _are_single(join.shape[_last(node) + 1 :]),
        )

    def in_stack(self, part: Node) -> Destination:
        """The destination of an iteration's element in a stacked output."""
        stack = stack_of(part)
        assert stack is not None, "a result that is not stacked"
        if grows(part):
            return OWN_MEMORY
        axis, element = stack.axis, stack.element
        has_rows = axis <= _last(element) or part.shape[axis] == 1
        return Destination(_are_single(element.shape[:axis]), has_rows)

    def in_window(self, state: Node) -> Destination:
        """The destination of a window's first rows in the memory of its line."""
        axis = self._window(state).axis
        return Destination(not axis, _last(state) != axis)

    def entering(self, state: Node) -> Destination:
        """The destination of the rows that enter a window: backward before it, or after it."""
        return Destination(self._window(state).is_forward)

    def _window(self, state: Node) -> Window:
        found = self.carried[state]
        assert isinstance(found, Window), "a carried value that is no window"
        return found

    def is_flat(self, node: Node) -> bool:
        """Whether a value can be read by a row-major position."""
        kind = self.storage.storage_of[node]
        if node.is_single:
            return True
        if kind is Storage.REGISTERS:
            return self.is_stored_whole(node)
        if kind is not Storage.INLINE:
            return self.is_dense(node)
        read = node.operands
        match node.op:
            case ScanSlice(axis, _) if axis:
                return False
            case View() if not keeps_order(node):
                return False
            case Elementwise():
                read = tuple(each for each in read if not each.is_single)
                if not all(is_same_size(each, node) for each in read):
                    return False
            case Concat() | Reduce() | Take():
                return False
        return all(map(self.is_flat, read))

    def has_rows(self, node: Node) -> bool:
        """Whether neighbouring elements along the last axis are neighbours in memory."""
        kind, last = self.storage.storage_of[node], len(node.shape) - 1
        if kind is not Storage.INLINE:
            stack, carried = _growing_stack(node), self.carried.get(node)
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
                whole = in_same_order(node, self.storage)
                return self.is_dense(whole) or self.is_dense_item(whole)
        return False

    def is_dense_item(self, node: Node) -> bool:
        """Whether a value is an item of dense memory, and has its elements in the same order."""
        is_read = self.storage.storage_of[node] is Storage.INLINE
        if not (is_read and isinstance(node.op, ScanSlice)):
            return False
        data = node.operands[0]
        return self.is_dense(data) and _are_single(data.shape[: node.op.axis])


def storage_of_carried(
    loops: Mapping[Node, Sequence[CarriedStorage]], storage: StorageMap
) -> dict[Node, CarriedStorage]:
    """The storage of carried values, and of the other values that are in the same memory.

    A next value that only adds rows to its array or window is in its memory, and the result of a
    loop in that of a value which changes its extents.
    """
    found: dict[Node, CarriedStorage] = {}
    for node, carried in loops.items():
        assert isinstance(node.op, Loop)
        for state, after, kept in zip(node.op.states, node.op.nexts, carried, strict=True):
            found[state] = kept
            if isinstance(kept, Window | SlidingWindow) or (
                isinstance(kept, Resizable) and kept.appended is not None
            ):
                found[after] = kept
        for part in storage.readers.get(node, ()):
            if isinstance(part.op, Result) and part.op.number < len(carried):
                kept = carried[part.op.number]
                found.update({part: kept} if isinstance(kept, Resizable) else {})
    return found


def in_same_order(node: Node, storage: StorageMap) -> Node:
    """The node that a reshape reads, also through views that only add or remove axes of one."""
    while storage.storage_of[node] is Storage.INLINE and isinstance(node.op, Reshape | View):
        if isinstance(node.op, View) and not keeps_order(node):
            return node
        node = node.operands[0]
    return node


def _are_single(extents: Sequence[object]) -> bool:
    return all(extent == 1 for extent in extents)


def _last(node: Node) -> int:
    """The last axis whose extent is not 1; -1 if there is none."""
    return max((axis for axis, extent in enumerate(node.shape) if extent != 1), default=-1)


def _growing_stack(node: Node) -> Stack | None:
    """The stacked output that a node is, if its memory grows."""
    stack = stack_of(node)
    return stack if stack is not None and grows(node) else None


def is_same_size(one: Node, other: Node) -> bool:
    """Whether both certainly have the same number of elements."""
    if one.is_static and other.is_static:
        return one.size == other.size
    return [e for e in one.shape if e != 1] == [e for e in other.shape if e != 1]
