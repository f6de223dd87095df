"""Index-set splitting: a Concat is read piece by piece and never written to memory.

    u + Pad(change)  of [256,256]:      for i in 0..1, 1..255, 255..256:
                                            for j in 0..1, 1..255, 255..256:
                                                each of these nine reads one operand

A nest is split wherever an operand of such a Concat ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import pairwise
from math import prod

from treadle.jit.kernel import costs
from treadle.jit.kernel.ir import Concat, Elementwise, Node, static_shape
from treadle.jit.schedule.access import shift_of
from treadle.jit.schedule.op_accesses import accesses_of

SplitPoints = tuple[tuple[int, ...], ...]
"""Along each axis the starts of the pieces, and the end of the last one."""
_MOST_PIECES = 9
_WIDE, _NARROW_PART = 16, 8
_NEST_NS = 50.0
"""What a nest takes beside its elements: to copy a Concat takes one for each operand."""


def split_concats(nodes: Collection[Node], is_inline: Callable[[Node], bool]) -> SplitPoints | None:
    """The pieces of a nest of these nodes; None if it reads no Concat."""
    shapes = {node.shape for node in nodes if node.is_static}
    if len(shapes) != 1:
        return None
    found = [{0, extent} for extent in static_shape(next(iter(nodes)))]
    waiting = [(node, (0,) * len(found)) for node in nodes]
    seen, is_cut = set(waiting), False
    while waiting:
        node, start = waiting.pop()
        is_cut = is_cut or isinstance(node.op, Concat)
        for operand, index in _inner(node, start):
            if isinstance(node.op, Concat):
                at = index[node.op.axis]
                found[node.op.axis] |= {at, at + static_shape(operand)[node.op.axis]}
            if (operand, index) not in seen and is_inline(operand):
                seen.add((operand, index))
                waiting.append((operand, index))
    return tuple(tuple(sorted(each)) for each in found) if is_cut else None


def _inner(node: Node, start: tuple[int, ...]) -> Iterable[tuple[Node, tuple[int, ...]]]:
    """What a function or a Concat reads at its own index, shifted or not, and its place there."""
    if isinstance(node.op, Elementwise | Concat):
        for operand, access in zip(node.operands, accesses_of(node), strict=True):
            offsets = shift_of(access, len(node.shape))
            if offsets is not None:
                yield operand, tuple(map(int.__sub__, start, offsets))


def together(all_cuts: Iterable[SplitPoints]) -> SplitPoints:
    """The pieces of fused nests of one shape."""
    return tuple(tuple(sorted(set().union(*each))) for each in zip(*all_cuts, strict=True))


def count(found: SplitPoints) -> int:
    """The number of pieces."""
    return prod(len(places) - 1 for places in found)


def are_few(found: SplitPoints, alone: float = 0.0) -> bool:
    """Whether there are few pieces, and few elements in pieces too narrow for vectors.

    Each of those takes `alone` nanoseconds where functions with long code follow in the nest; to
    copy the Concat must take longer.
    """
    widths = [end - start for start, end in pairwise(found[-1])] if found else []
    narrow = sum(width for width in widths if width < _WIDE)
    rows = prod(places[-1] for places in found[:-1])
    copied = _NEST_NS + rows * sum(widths) * (costs.READ + costs.WRITTEN)
    is_narrow = narrow * _NARROW_PART > sum(widths) or narrow * rows * alone > copied
    return 0 < count(found) <= _MOST_PIECES and not is_narrow
