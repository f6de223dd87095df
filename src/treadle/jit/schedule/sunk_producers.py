"""Producers sunk into the loop that slices them: each item is computed in the iteration it is for.

    y = f(x)                                   for i: h = g(h, f(x[i]))
    for i: h = g(h, y[i])               =

The whole value is then never in memory; the loop may also join one that stacks `x`
(stacked_loops.py). A producer of which only views, reshapes and concats would be left to the loop
stays. So does what costs less for many iterations at once: functions with long code of few
elements, and operands of products.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Concat,
    Elementwise,
    InductionVar,
    Iota,
    Kernel,
    Loop,
    MatMul,
    Node,
    Number,
    Reshape,
    ScanSlice,
    Take,
    View,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, new_axes
from treadle.jit.kernel.rewrite import Rules, rewrite_pass
from treadle.jit.kernel.scalar_functions import FUNCTIONS, INSTRUCTIONS
from treadle.jit.kernel.traversal import (
    all_nodes,
    is_run_once,
    loops_by_body,
    shape_operands,
    word_of,
    yielded,
)

_VECTOR = 8
"""The elements of an item from which a function of it is computed in vectors."""
_SHAPING = (Concat, Reshape, View)
_SINKABLE = (Elementwise, Iota, Take, *_SHAPING)


class Slicing(NamedTuple):
    """The items of a value that the loop with this body reads: along an axis, in which order."""

    loop: Node
    axis: int
    reverse: bool


Producers = Mapping[Node, Sequence[Slicing]]
"""The values that are computed item by item, with the items that are read."""


@rewrite_pass
def with_sunk_producers(kernel: Kernel) -> Rules | None:
    """The kernel whose loops compute items of values that they alone slice; itself if none does."""
    sunk = producers(kernel).sunk
    if not sunk:
        return None
    writer = _Items(sunk)
    return {ScanSlice: writer.slice, Take: writer.take}


@dataclass(frozen=True, eq=False, slots=True)
class FoundProducers:
    """The producers that loops compute item by item, and why others are computed before them."""

    sunk: Producers
    kept: Mapping[Node, tuple[Node, str]]


def producers(kernel: Kernel) -> FoundProducers:
    """The producers of a kernel's sliced values; `kept` has the loop and the reason."""
    nodes = all_nodes(kernel.main)
    if not any(isinstance(node.op, ScanSlice) for node in nodes):
        return FoundProducers({}, {})
    search = _Search(kernel, _readers(kernel.results, nodes), loops_by_body(nodes))
    for node in reversed(nodes):
        search.visit(node)
    for node in nodes:
        if node in search.sunk and not _saves(node, search.sunk):
            del search.sunk[node]
    return FoundProducers(search.sunk, search.kept)


def _readers(
    results: Sequence[Node], nodes: Sequence[Node]
) -> Mapping[Node, Sequence[Node | None]]:
    """The readers of each node; None: it is a result of the kernel."""
    found: dict[Node, list[Node | None]] = {node: [None] for node in results}
    for node in nodes:
        for read in (*node.operands, *yielded(node), *shape_operands(node)):
            found.setdefault(read, []).append(node)
    return found


def _saves(node: Node, sunk: Producers) -> bool:
    """Whether the loop computes something that would be stored otherwise."""
    if not isinstance(node.op, _SHAPING):
        return True
    axes = [operand_axis(node, k, sunk[node][0].axis) for k in range(len(node.operands))]
    read = zip(node.operands, axes, strict=True)
    return any(axis is None or operand in sunk for operand, axis in read)


@dataclass(frozen=True, eq=False, slots=True)
class _Search:
    """Visits the nodes of a kernel from the last to the first."""

    kernel: Kernel
    readers: Mapping[Node, Sequence[Node | None]]
    loops: Mapping[Block, Node]
    sunk: dict[Node, list[Slicing]] = field(default_factory=dict)
    kept: dict[Node, tuple[Node, str]] = field(default_factory=dict)

    def visit(self, node: Node) -> None:
        """Decide whether a loop computes the items of a node."""
        uses = list(self._uses(node)) if isinstance(node.op, _SINKABLE) else []
        slicings = list(dict.fromkeys(use for use in uses if use is not None))
        if not slicings:
            return
        why = self._obstacle(node, slicings, is_read_whole=None in uses)
        if not why:
            self.sunk[node] = slicings
        elif not isinstance(node.op, _SHAPING):
            self.kept[node] = slicings[0].loop, why

    def _uses(self, node: Node) -> Iterator[Slicing | None]:
        """How each reader reads the node; None: other than by items."""
        for reader in self.readers.get(node, ()):
            if reader is None or node not in reader.operands:
                yield None
            elif isinstance(reader.op, ScanSlice):
                loop = self.loops.get(reader.home)
                is_item = loop is not None and node.home.depth < reader.home.depth
                yield Slicing(loop, reader.op.axis, reader.op.reverse) if loop and is_item else None
            else:
                yield from self._through(node, reader)

    def _through(self, node: Node, reader: Node) -> Iterator[Slicing | None]:
        """The items that a producer reads whose items a loop computes."""
        numbers = [k for k, operand in enumerate(reader.operands) if operand is node]
        for loop, axis, reverse in self.sunk.get(reader, ()):
            for found in (operand_axis(reader, k, axis) for k in numbers):
                yield None if found is None else Slicing(loop, found, reverse)
        if reader not in self.sunk:
            yield None

    def _obstacle(self, node: Node, slicings: Sequence[Slicing], *, is_read_whole: bool) -> str:
        """Why the items are computed before the loop; "" if they need not be."""
        loop, axis, _ = slicings[0]
        if isinstance(node.op, Iota):
            return ""
        if is_read_whole or len({slicing.loop for slicing in slicings}) > 1:
            return "it is read elsewhere too"
        if not is_run_once(loop, node.home):
            return "an outer loop would compute it again"
        if any(not _has_items(node, slicing.axis) for slicing in slicings):
            return "its items are not made of items"
        if isinstance(node.op, Take) and not op_of(loop, Loop).is_counted:
            return "an index out of range may be one that no iteration reads"
        if self._is_wanted_together(node):
            return "a product or a window reads many items at once"
        if _item_size(node, axis) < _VECTOR and _is_long(node):
            return f"{word_of(node)} is quicker for many iterations at once"
        return ""

    def _is_wanted_together(self, node: Node) -> bool:
        """Whether items go to a product, or to a Concat that may be a window, as they are."""
        waiting = list(self.readers.get(node, ()))
        while waiting:
            reader = waiting.pop()
            if reader is None:
                continue
            if reader.home.depth > node.home.depth and isinstance(reader.op, MatMul | Concat):
                return True
            if isinstance(reader.op, ScanSlice | View | Reshape):
                waiting += self.readers.get(reader, ())
        return False


def operand_axis(node: Node, number: int, axis: int) -> int | None:
    """The axis along which an item of a node reads an operand; None: it reads all of it."""
    operand, op = node.operands[number], node.op
    match op:
        case Elementwise():
            own = axis - (len(node.shape) - len(operand.shape))
            return own if own >= 0 and operand.shape[own] == node.shape[axis] != 1 else None
        case View(axes=axes):
            return next((k for k, each in enumerate(axes) if axis in dict(each.terms)), None)
        case Take(axis=first):
            taken, own = _place_in_take(node, first, axis)
            return own if number == taken else None
    return axis


def _place_in_take(node: Node, first: int, axis: int) -> tuple[int, int]:
    """The operand that has an axis of taken items, data (0) or indices (1), and where."""
    rank = len(node.operands[1].shape)
    if first <= axis < first + rank:
        return 1, axis - first
    return 0, axis if axis < first else axis - rank + 1


def _has_items(node: Node, axis: int) -> bool:
    """Whether an item of the node is made of items of its operands, and of whole operands."""
    extent = node.shape[axis]
    match node.op:
        case Elementwise():
            return all(_is_item_or_same(each, node, axis) for each in node.operands)
        case View(axes=axes):
            moved = [k for k, each in enumerate(axes) if axis in dict(each.terms)]
            is_straight = all(axes[k] == Axis(0, ((axis, 1),)) for k in moved)
            operand = node.operands[0]
            return is_straight and len(moved) < 2 and all(operand.shape[k] == extent for k in moved)
        case Reshape():
            return axis == 0 and node.operands[0].shape[:1] == (extent,)
        case Concat(axis=joined):
            return axis != joined and all(each.shape[axis] == extent for each in node.operands)
        case Take(axis=first):
            number, own = _place_in_take(node, first, axis)
            return node.operands[number].shape[own] == extent
    return False


def _is_item_or_same(operand: Node, node: Node, axis: int) -> bool:
    own = axis - (len(node.shape) - len(operand.shape))
    return own < 0 or operand.shape[own] in (1, node.shape[axis])


def _is_long(node: Node) -> bool:
    """Whether it is a function of more than a few instructions."""
    if not isinstance(node.op, Elementwise):
        return False
    return FUNCTIONS[node.op.function].cost is not INSTRUCTIONS


def _item_size(node: Node, axis: int) -> int:
    """The number of elements of an item; an extent that is not known counts as many."""
    rest = (extent for k, extent in enumerate(node.shape) if k != axis)
    return prod(extent if isinstance(extent, int) else _VECTOR for extent in rest)


@dataclass(frozen=True, eq=False, slots=True)
class _Items:
    """The rules that write items of producers in place of slices."""

    sunk: Producers
    made: dict[tuple[Node, int, bool, Block], Node] = field(default_factory=dict)

    def slice(self, rebuild: Rebuild, node: Node) -> Node:
        """An item, computed if its source is sunk."""
        op, (source,) = op_of(node, ScanSlice), node.operands
        if source not in self.sunk:
            return copied(rebuild, node)
        return self._item(rebuild, source, op.axis, reverse=op.reverse)

    def take(self, rebuild: Rebuild, node: Node) -> Node:
        """Nothing in place of rows that are taken in the loop: reading them may fail."""
        return node if node in self.sunk else copied(rebuild, node)

    def _item(self, rebuild: Rebuild, node: Node, axis: int, *, reverse: bool) -> Node:
        """The item of this iteration; each is written once."""
        key = node, axis, reverse, rebuild.builder.block
        if key not in self.made:
            if node in self.sunk:
                self.made[key] = self._computed(rebuild, node, axis, reverse=reverse)
            else:
                self.made[key] = rebuild.builder.item(rebuild.nodes[node], axis, reverse=reverse)
        return self.made[key]

    def _computed(self, rebuild: Rebuild, node: Node, axis: int, *, reverse: bool) -> Node:
        """The item of a producer."""
        builder, shape = rebuild.builder, rebuild.shape(node)
        rest = (*shape[:axis], *shape[axis + 1 :])
        if isinstance(node.op, Iota):
            return _number(rebuild, node.dtype, shape[0], reverse=reverse)
        parts = [
            self._part(rebuild, node, k, axis, reverse=reverse) for k in range(len(node.operands))
        ]
        match node.op:
            case View(axes=axes):
                moved = operand_axis(node, 0, axis)
                kept = [each for k, each in enumerate(axes) if k != moved]
                return builder.view(parts[0], rest, new_axes(rebuild, _without(kept, axis)))
            case Reshape():
                return builder.reshape(parts[0], rest)
            case Concat(axis=joined):
                return builder.add(Concat(joined - (axis < joined)), node.dtype, rest, *parts)
            case Take(axis=first):
                op = Take(first - (axis < first))
                return builder.add(op, node.dtype, rest, *parts)
        return builder.add(node.op, node.dtype, rest, *parts)

    def _part(self, rebuild: Rebuild, node: Node, number: int, axis: int, *, reverse: bool) -> Node:
        """What an item of a node reads of an operand: an item, or all of it."""
        operand, own = node.operands[number], operand_axis(node, number, axis)
        if own is not None:
            return self._item(rebuild, operand, own, reverse=reverse)
        whole = rebuild.nodes[operand]
        single = axis - (len(node.shape) - len(operand.shape))
        if not isinstance(node.op, Elementwise) or single < 0:
            return whole
        return rebuild.builder.reshape(whole, (*whole.shape[:single], *whole.shape[single + 1 :]))


def _number(rebuild: Rebuild, dtype: DType, extent: Number, *, reverse: bool) -> Node:
    """The number of the iteration, or of the item from the end."""
    builder = rebuild.builder
    made = builder.param(InductionVar(), DType.INT64, ())
    if reverse:
        made = builder.map("sub", builder.dim(builder.minus(extent, 1)), made)
    return builder.cast(made, dtype)


def _without(axes: Sequence[Axis], removed: int) -> tuple[Axis, ...]:
    """The axes of a view whose index has lost an axis."""
    return tuple(
        Axis(each.offset, tuple((k - (k > removed), step) for k, step in each.terms))
        for each in axes
    )
