"""What loop strategies decide from: a loop, its dependences, and where its values are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    DimOf,
    Elementwise,
    Gather,
    InductionVar,
    Kernel,
    Loop,
    Node,
    Reshape,
    Result,
    ScanSlice,
    Stack,
    SymbolicDim,
    Take,
    View,
    op_of,
)
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import all_nodes, loops_by_body
from treadle.jit.schedule.carried_storage import (
    CarriedStorage,
    DoubleBuffer,
    Resizable,
    SingleBuffer,
    carried_storage,
)
from treadle.jit.schedule.dependence import LoopDependence, dependence_of
from treadle.jit.schedule.layouts.sliding_windows import SlidingWindow
from treadle.jit.schedule.layouts.windows import Window
from treadle.jit.schedule.storage import Storage, StorageMap


@dataclass(frozen=True, eq=False)
class LoopFacts:
    """A loop of a kernel; `carried` is the storage of its carried values, by number."""

    kernel: Kernel
    node: Node
    storage: StorageMap
    target: Target
    carried: tuple[CarriedStorage, ...]

    @property
    def op(self) -> Loop:
        """The loop's operation."""
        return op_of(self.node, Loop)

    @cached_property
    def dependence(self) -> LoopDependence:
        """The dependences of the loop."""
        return dependence_of(self.op)

    def is_array_around(self, node: Node) -> bool:
        """Whether a value is carried by a loop around this one, as an array of fixed extents."""
        around = self._loops.get(node.home)
        if around is None or around is self.node or not isinstance(node.op, CarriedArg):
            return False
        found = carried_storage(op_of(around, Loop), self.storage)[node.op.number]
        return isinstance(found, SingleBuffer | DoubleBuffer)

    @cached_property
    def _loops(self) -> Mapping[Block, Node]:
        """The loops of the kernel, by their bodies."""
        return loops_by_body(all_nodes(self.kernel.main))

    def is_in_registers(self, node: Node) -> bool:
        """Whether the elements of a node are in registers."""
        return self.storage.storage_of[node] is Storage.REGISTERS

    def is_plain(self, number: int) -> bool:
        """Whether a carried value is neither a window nor of changing extents."""
        return not isinstance(self.carried[number], Window | SlidingWindow | Resizable)

    def read_stacks(self) -> list[tuple[Stack, Node]]:
        """The stacked outputs that are read, each with the result that it becomes."""
        found = []
        for number, stack in enumerate(self.op.stacks, start=len(self.op.states)):
            part = read_result(self.storage, self.kernel, self.node, number)
            if part is not None:
                found.append((stack, part))
        return found


def read_result(storage: StorageMap, kernel: Kernel, node: Node, number: int) -> Node | None:
    """The Result of a loop, branch or call; None if nothing reads it."""
    for each in storage.readers.get(node, ()):
        if each.op == Result(number) and (storage.readers.get(each) or each in kernel.results):
            return each
    return None


def has_vector_form(node: Node) -> bool:
    """Whether several elements of an Elementwise can be computed at once."""
    operands = tuple(operand.dtype for operand in node.operands)
    return FUNCTIONS[op_of(node, Elementwise).function].has_vector_form(operands, node.dtype)


def has_lanes(node: Node, is_item: Callable[[ScanSlice | Take | Gather, Node], bool]) -> bool:
    """Whether a node of a body of numbers can be computed for many iterations or rows at once.

    `is_item` says whether a slice of a value, or an element at an index, may be read so.
    """
    if not node.is_single:
        return False
    match node.op:
        case CarriedArg() | InductionVar() | View() | Reshape():
            return all(operand.is_single for operand in node.operands)
        case ScanSlice() as op:
            return is_item(op, node.operands[0])
        case Take() | Gather() as op:
            return is_item(op, node.operands[0])
        case Elementwise():
            return has_vector_form(node)
    return False


def grows(part: Node) -> bool:
    """Whether an extent of a loop's result is known after the loop, but not before."""
    sources = (each.source for each in part.shape if isinstance(each, SymbolicDim))
    return any(
        each is not None and isinstance(each.op, DimOf) and each.operands == part.operands
        for each in sources
    )
