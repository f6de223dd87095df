"""Nests that change a part of an array in its memory: what lies behind a place, or before it.

    x = where(position > k, f(x), x)        for j in range(k + 1, n): x[j] = f(x[j])

where x has the memory of its old value. Suppression compares a box with those behind it, and
elimination changes the rows below a pivot: half of all elements, or a third. Where the condition
holds nothing is known, so it is asked all the same, and a vector may begin before the place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Constant,
    Elementwise,
    Iota,
    Kernel,
    Loop,
    Node,
    Reshape,
    View,
)
from treadle.jit.schedule.algebra.counter_comparisons import OPPOSITE
from treadle.jit.schedule.fusion import Nest
from treadle.jit.schedule.parallelism import Parallelism
from treadle.jit.schedule.storage import Storage, StorageMap

_MIN_ELEMENTS = 256
"""The elements of an array from which it pays to count those that change."""
PLACES_TOGETHER = 16
"""Places in a row are moved to multiples of this number: whole vectors."""
FARTHEST = 2**62
"""Further than any place, and so little that a position can be added."""
_FARTHEST_START = 2**31
_WHOLE = frozenset((DType.INT8, DType.INT16, DType.INT32, DType.INT64))
_PARTS = {True: "from a place on", False: "up to a place"}
_SWAPPED = {
    "less": "greater", "greater": "less", "less_equal": "greater_equal",
    "greater_equal": "less_equal",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limit:
    """Elements along an axis change only from a place on, or only before it: number + offset."""

    axis: int
    is_first: bool
    number: Node
    offset: int


@dataclass(frozen=True, slots=True)
class Condition:
    """Elements change only if a truth holds, or fails."""

    truth: Node
    holds: bool


Needed = Limit | Condition
"""What must be so for an element to change."""


@dataclass(frozen=True, slots=True)
class ChangedElements:
    """The limits of the elements that change, and what must hold for any to."""

    limits: tuple[Limit, ...]
    conditions: tuple[Condition, ...]

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        for axis in sorted({limit.axis for limit in self.limits}):
            ends = {limit.is_first for limit in self.limits if limit.axis == axis}
            part = "between places" if len(ends) > 1 else _PARTS[True in ends]
            yield f"only {part} along axis {axis}"
        yield from ["only under a condition"] * bool(self.conditions)


def changed_elements(
    nest: Nest,
    kernel: Kernel,
    storage: StorageMap,
    taken: Mapping[Node, Node],
    found: Parallelism,
) -> ChangedElements | None:
    """The elements that a nest changes; None if it must compute all."""
    written = [node for node in nest.nodes if _is_read_outside(node, nest, kernel, storage)]
    shape = nest.nodes[0].shape
    if nest.pieces is not None or not written or not all(node in taken for node in written):
        return None
    if any(map(partial(_is_stacked, storage), written)):
        return None
    if all(isinstance(extent, int) for extent in shape) and nest.nodes[0].size < _MIN_ELEMENTS:
        return None
    each = [
        _Change(_same_memory(node, taken), nest, storage, len(shape)).needs(node)
        for node in written
    ]
    usable = [need for need in reduce(_either, each) if _is_readable(need, nest, storage)]
    limits = [need for need in usable if isinstance(need, Limit)]
    if found.vector_axis is None:  # all axes as one: only whole rows are left out
        row = next((axis for axis, extent in enumerate(shape) if extent != 1), 0)
        limits = [limit for limit in limits if limit.axis == row]
    conditions = tuple(need for need in usable if isinstance(need, Condition))
    return ChangedElements(tuple(limits), conditions) if limits or conditions else None


def _is_read_outside(node: Node, nest: Nest, kernel: Kernel, storage: StorageMap) -> bool:
    return node in kernel.results or any(
        each not in nest.nodes for each in storage.readers.get(node, ())
    )


def _same_memory(node: Node, taken: Mapping[Node, Node]) -> frozenset[Node]:
    """The values that are in the memory of a node, one after the other."""
    root = _root(node, taken)
    return frozenset((root, *(each for each in taken if _root(each, taken) is root)))


def _root(node: Node, taken: Mapping[Node, Node]) -> Node:
    while node in taken:
        node = taken[node]
    return node


def _is_stacked(storage: StorageMap, node: Node) -> bool:
    """Whether the nest writes all elements to a stacked output, too."""
    loops = (each.op for each in storage.readers.get(node, ()) if isinstance(each.op, Loop))
    return any(stack.element is node for loop in loops for stack in loop.stacks)


def _is_readable(found: Needed, nest: Nest, storage: StorageMap) -> bool:
    """Whether the number or truth is known before the nest."""
    number = found.number if isinstance(found, Limit) else found.truth
    return number not in nest.nodes and storage.storage_of[number] is not Storage.NEST


@dataclass(frozen=True, eq=False, slots=True)
class _Change:
    """Values in the memory that a nest writes to: what it reads of them is what is there."""

    before: frozenset[Node]
    nest: Nest
    storage: StorageMap
    rank: int

    def needs(self, after: Node) -> list[Needed]:
        """What must be so for an element of a value to differ from the one there; [] if nothing."""
        match after.op:
            case Elementwise("where"):
                condition, *sides = after.operands
                found = [
                    [*self._side(side), *_needed(condition, self.rank, holds=holds)]
                    for side, holds in zip(sides, (True, False), strict=True)
                    if side not in self.before
                ]
                return reduce(_either, found) if found else []
            case Elementwise("and" | "or") if after.dtype is DType.BOOL:
                one, other = after.operands
                mask = other if one in self.before else one
                holds = after.op.function == "or"
                is_kept = not self.before.isdisjoint(after.operands)
                return [*_needed(mask, self.rank, holds=holds)] if is_kept else []
        return []

    def _side(self, side: Node) -> list[Needed]:
        """The same of a value that the nest chooses, if it computes that itself."""
        is_here = side in self.nest.nodes or self.storage.storage_of[side] is Storage.INLINE
        return self.needs(side) if is_here and side.shape == self.nest.nodes[0].shape else []


def _either(some: Sequence[Needed], others: Sequence[Needed]) -> list[Needed]:
    """What must be so for one of two things that each need some."""
    return [joined for one in some for other in others for joined in _weaker(one, other)]


def _weaker(one: Needed, other: Needed) -> Iterator[Needed]:
    """The weaker one of two needs of the same number or truth."""
    if isinstance(one, Limit) and isinstance(other, Limit):
        if replace(one, offset=other.offset) == other:
            yield min(one, other, key=lambda each: each.offset if one.is_first else -each.offset)
    elif one == other:
        yield one


def _needed(condition: Node, rank: int, *, holds: bool) -> Iterator[Needed]:
    """What must be so for a condition to hold, or to fail, for an element."""
    if condition.is_single:
        yield Condition(condition, holds)
    elif isinstance(condition.op, View | Reshape):
        axis = _row_axis(condition, rank)
        if axis is not None and _is_same_row(condition):
            for found in _needed(condition.operands[0], rank, holds=holds):
                yield replace(found, axis=axis) if isinstance(found, Limit) else found
    elif isinstance(condition.op, Elementwise):
        yield from _needed_of(condition.op.function, condition.operands, rank, holds=holds)


def _needed_of(function: str, read: Sequence[Node], rank: int, *, holds: bool) -> Iterator[Needed]:
    """The same of a function."""
    match function:
        case "not":
            yield from _needed(read[0], rank, holds=not holds)
        case "and" | "or" if (function == "and") == holds:
            for each in read:
                yield from _needed(each, rank, holds=holds)
        case "and" | "or":
            one, other = ([*_needed(each, rank, holds=holds)] for each in read)
            yield from _either(one, other)
        case "equal" | "not_equal" if (function == "equal") == holds:
            for end in ("less_equal", "greater_equal"):
                yield from _limit(end, read[0], read[1], rank)
        case _ if function in OPPOSITE:
            yield from _limit(function if holds else OPPOSITE[function], read[0], read[1], rank)


def _limit(function: str, one: Node, other: Node, rank: int) -> Iterator[Limit]:
    """The limit that a comparison of positions with a number is."""
    if one.is_single:
        function, one, other = _SWAPPED[function], other, one
    along = positions_of(one, rank)
    if along is None or not other.is_single or other.dtype not in _WHOLE:
        return
    axis, start = along
    if abs(start) > _FARTHEST_START:
        return
    is_next = function in ("greater", "less_equal")
    yield Limit(axis, function.startswith("greater"), other, int(is_next) - start)


def positions_of(node: Node, rank: int) -> tuple[int, int] | None:
    """The axis along which elements count up one by one, and the first of them; None if none do."""
    axis = _row_axis(node, rank)
    if axis is None:
        return None
    while isinstance(node.op, View | Reshape) and _is_same_row(node):
        (node,) = node.operands
    if isinstance(node.op, Iota):
        return axis, 0
    if isinstance(node.op, Constant) and node.dtype in _WHOLE:
        row = node.op.array.reshape(-1)
        first = int(row[0])
        return (axis, first) if np.array_equal(row, np.arange(first, first + row.size)) else None
    return None


def _row_axis(node: Node, rank: int) -> int | None:
    """The only axis of more than one element, in arrays of a rank; None if there is another one."""
    long = [axis for axis, extent in enumerate(node.shape) if extent != 1]
    return long[0] + rank - len(node.shape) if len(long) == 1 else None


def _is_same_row(node: Node) -> bool:
    """Whether a view shows all elements of a row in their order."""
    (source,) = node.operands
    if [each for each in node.shape if each != 1] != [each for each in source.shape if each != 1]:
        return False
    if isinstance(node.op, Reshape):
        return True
    assert isinstance(node.op, View)
    read = [axis for axis, extent in zip(node.op.axes, source.shape, strict=True) if extent != 1]
    return all(axis.offset == 0 and [step for _, step in axis.terms] == [1] for axis in read)
