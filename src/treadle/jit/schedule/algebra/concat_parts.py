"""The parts of which a value consists along an axis, through Concats and slices of them.

concat(s[1:], x)[0:8]  of s and x of 8 and 1 elements:      7 elements of s from 1, 1 of x
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from treadle.jit.kernel.ir import Axis, Concat, Node, View, static_shape

_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Part:
    """The items of a value from `first` on."""

    source: Node
    first: int
    count: int

    def cut(self, first: int, end: int) -> Part:
        """Those of its items that lie in a range, which is counted from the part's first one."""
        first, end = max(first, 0), min(end, self.count)
        return Part(self.source, self.first + first, max(end - first, 0))


def parts_of(
    node: Node, axis: int, places: Mapping[Node, Part], deepest: int = _DEEPEST
) -> list[Part]:
    """The parts of a static value in order; `places` are values that are parts of others."""
    count = static_shape(node)[axis]
    if node in places:
        return [places[node]]
    if deepest and isinstance(node.op, Concat) and node.op.axis == axis and _are_static(node):
        return merged(
            part for each in node.operands for part in parts_of(each, axis, places, deepest - 1)
        )
    first = _first(node, axis) if deepest else None
    if first is None:
        return [Part(node, 0, count)]
    found, at = list[Part](), 0
    for part in parts_of(node.operands[0], axis, places, deepest - 1):
        found.append(part.cut(first - at, first + count - at))
        at += part.count
    return merged(found)


def _are_static(node: Node) -> bool:
    return all(each.is_static for each in node.operands)


def _first(node: Node, axis: int) -> int | None:
    """The place of a slice along an axis; None if a node is none."""
    if not isinstance(node.op, View) or not node.operands[0].is_static:
        return None
    if len(node.shape) != len(node.op.axes):
        return None
    offset = node.op.axes[axis].offset
    wanted = tuple(Axis(offset if k == axis else 0, ((k, 1),)) for k in range(len(node.shape)))
    return offset if isinstance(offset, int) and node.op.axes == wanted else None


def merged(parts: Iterable[Part]) -> list[Part]:
    """The parts without empty ones; those that follow each other in one value are one."""
    found = list[Part]()
    for part in parts:
        last = found[-1] if found else None
        if last is not None and (last.source, last.first + last.count) == (part.source, part.first):
            found[-1] = Part(last.source, last.first, last.count + part.count)
        elif part.count:
            found.append(part)
    return found
