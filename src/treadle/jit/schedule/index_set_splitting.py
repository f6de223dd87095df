"""Index-set splitting: a Concat is read piece by piece and never written to memory.

    u + Pad(change)  of [256,256]:      for i in 0..1, 1..255, 255..256:
                                            for j in 0..1, 1..255, 255..256:
                                                each of these nine reads one operand

A nest is split wherever an operand of such a Concat ends: at a number, or at a sum of extents that
the kernel computes. Which of two such sums is larger is not known: then no nest is split.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import pairwise
from math import prod

from treadle.jit.kernel import costs
from treadle.jit.kernel.ir import Concat, Elementwise, Node, Number, op_of
from treadle.jit.schedule.access import AffineIndex, of_number, shift_of
from treadle.jit.schedule.op_accesses import accesses_of

SplitPoint = int | AffineIndex
"""A number, or a sum of extents that the kernel computes."""
SplitPoints = tuple[tuple[SplitPoint, ...], ...]
"""Along each axis the starts of the pieces, and the end of the last one."""
_UNORDERED: SplitPoints = ((0,),)
"""Points whose order is not known: no pieces."""
_ENDS = 2
_MOST_PIECES = 9
_WIDE, _NARROW_PART = 16, 8
_ASSUMED_WIDTH = 256
"""The elements of a piece whose ends the kernel computes."""
_NEST_NS = 50.0
"""What a nest takes beside its elements: to copy a Concat takes one for each operand."""


def split_concats(nodes: Collection[Node], is_inline: Callable[[Node], bool]) -> SplitPoints | None:
    """The pieces of a nest of these nodes; None if it reads no Concat."""
    shapes = {node.shape for node in nodes}
    if len(shapes) != 1:
        return None
    whole: SplitPoints = tuple((0, _point(extent)) for extent in shapes.pop())
    found, waiting = [whole], [(node, (0,) * len(whole)) for node in nodes]
    seen, is_cut = set(waiting), False
    while waiting:
        node, start = waiting.pop()
        if isinstance(node.op, Concat):
            axis, is_cut = node.op.axis, True
            points = [moved(point, start[axis]) for point in operand_ends(node)]
            along = (0, *points[:-1], whole[axis][-1])
            found.append((*whole[:axis], along, *whole[axis + 1 :]))
        for operand, index in _inner(node, start):
            if (operand, index) not in seen and is_inline(operand):
                seen.add((operand, index))
                waiting.append((operand, index))
    return together(found) if is_cut else None


def _inner(node: Node, start: tuple[int, ...]) -> Iterable[tuple[Node, tuple[int, ...]]]:
    """What a function or a Concat reads at its own index, shifted or not, and its place there."""
    if isinstance(node.op, Elementwise | Concat):
        for operand, access in zip(node.operands, accesses_of(node), strict=True):
            offsets = shift_of(access, len(node.shape))
            if offsets is not None:
                yield operand, tuple(map(int.__sub__, start, offsets))


def has_computed_ends(join: Node) -> bool:
    """Whether the kernel computes where an operand of a Concat ends that is not the last."""
    return not all(isinstance(point, int) for point in operand_ends(join)[:-1])


def is_split_with(node: Node, join: Node, readers: Mapping[Node, Collection[Node]]) -> bool:
    """Whether a Concat that only other Concats read can be read in pieces as one of them is."""
    if not isinstance(node.op, Concat) or node.shape == join.shape or len(readers[node]) > 1:
        return False
    return not any(map(has_computed_ends, (join, node)))


def operand_ends(join: Node) -> tuple[SplitPoint, ...]:
    """Where the operands of a Concat end; the last one where the Concat does."""
    axis, total, found = op_of(join, Concat).axis, AffineIndex(), list[SplitPoint]()
    for operand in join.operands:
        total = total.plus(of_number(operand.shape[axis]))
        found.append(total.offset if total.is_constant else total)
    return (*found[:-1], _point(join.shape[axis]))


def operand_at(join: Node, start: SplitPoint, end: SplitPoint) -> tuple[Node, SplitPoint]:
    """The operand of a Concat in which a piece lies, and where the operand starts."""
    ends = operand_ends(join)
    for operand, first, last in zip(join.operands, (0, *ends), ends, strict=False):
        if (first == start and last != start) or _is_within((start, end), (first, last)):
            return operand, first
    raise AssertionError("an index in two operands of a Concat")


def _is_within(piece: tuple[SplitPoint, SplitPoint], part: tuple[SplitPoint, SplitPoint]) -> bool:
    """Whether numbers say that a piece lies in a part."""
    match *piece, *part:
        case int(start), int(end), int(first), int(last):
            return first <= start and end <= last
    return False


def _point(extent: Number) -> SplitPoint:
    return extent if isinstance(extent, int) else of_number(extent)


def moved(point: SplitPoint, offset: int) -> SplitPoint:
    """A point `offset` elements behind another one."""
    return point + offset if isinstance(point, int) else point.plus(AffineIndex(offset))


def together(all_cuts: Iterable[SplitPoints]) -> SplitPoints:
    """The pieces of fused nests of one shape."""
    cuts = list(all_cuts)
    if _UNORDERED in cuts:
        return _UNORDERED
    found = tuple(_ordered(set(each)) for each in zip(*cuts, strict=True))
    return found if all(found) else _UNORDERED


def _ordered(points: Collection[tuple[SplitPoint, ...]]) -> tuple[SplitPoint, ...]:
    """All points along one axis in their order; none if that is not known."""
    numbers = [point for each in points for point in each if isinstance(point, int)]
    if len(numbers) == sum(map(len, points)):
        return tuple(sorted(set(numbers)))
    split = [each for each in points if len(each) > _ENDS] or [*points]
    return split[0] if len(split) == 1 else ()


def count(found: SplitPoints) -> int:
    """The number of pieces."""
    return prod(len(places) - 1 for places in found)


def are_few(found: SplitPoints, alone: float = 0.0) -> bool:
    """Whether there are few pieces, and few elements in pieces too narrow for vectors.

    Each of those takes `alone` nanoseconds where functions with long code follow in the nest; to
    copy the Concat must take longer.
    """
    widths = [_width(*ends) for ends in pairwise(found[-1])] if found else []
    narrow = sum(width for width in widths if width < _WIDE)
    rows = prod(_width(places[0], places[-1]) for places in found[:-1])
    copied = _NEST_NS + rows * sum(widths) * (costs.READ + costs.WRITTEN)
    is_narrow = narrow * _NARROW_PART > sum(widths) or narrow * rows * alone > copied
    return 0 < count(found) <= _MOST_PIECES and not is_narrow


def reads_few_pieces(node: Node, is_inline: Callable[[Node], bool], alone: float) -> bool:
    """Whether the nest of a node that reads Concats is split into few pieces."""
    found = split_concats([node], is_inline)
    return found is not None and are_few(found, alone)


def _width(start: SplitPoint, end: SplitPoint) -> int:
    """The elements between two points, or an assumed number."""
    if isinstance(start, int) and isinstance(end, int):
        return end - start
    return _ASSUMED_WIDTH


def known_widths(found: SplitPoints) -> list[int]:
    """The elements of those pieces of a row whose ends are numbers."""
    ends = pairwise(found[-1])
    return [end - start for start, end in ends if isinstance(start, int) and isinstance(end, int)]
