"""Extents that a guard compares: the nodes behind it have one of them.

    %n as e1: int64[] = ...            %n as e1: int64[] = ...
    %m as e2: int64[] = ...            %m: int64[] = ...
    %x: float32[e2] = ...              %same: bool[] = equal %n, %m
    %same: bool[] = equal %n, %m       %1: bool[] = guard of shapes %same
    %1: bool[] = guard of shapes %same %x: float32[e1] = ...

Each slice of a program has an extent of its own; nodes of equal extents are computed together. An
extent that must be a number is that number: registers and panels need it. The guard stands where
both extents are known first: nothing is computed before it that could need more room than it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treadle.jit.kernel.ir import (
    Constant,
    Elementwise,
    Guard,
    Kernel,
    Node,
    Number,
    SymbolicDim,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied
from treadle.jit.kernel.rewrite import Rules, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, dims_of


@dataclass(frozen=True, eq=False, slots=True)
class _Pair:
    """A guard of two equal extents, the comparison, and the extent that is known first."""

    guard: Node
    comparison: Node
    first: Number


@rewrite_pass
def with_equal_extents(kernel: Kernel) -> Rules | None:
    """The kernel with one extent for those that are equal; itself if it has none."""
    nodes = all_nodes(kernel.main)
    dims = {dim.source: dim for node in nodes for dim in dims_of(node) if dim.source is not None}
    place = {node: number for number, node in enumerate(nodes)}
    pairs: dict[Node, _Pair] = {}
    for guard in nodes:
        if isinstance(guard.op, Guard) and guard.operands[0].op == Elementwise("equal"):
            first, second = sorted(guard.operands[0].operands, key=lambda each: place[each])
            is_here = second.home is guard.home and isinstance(second.op, Elementwise)
            known = dims.get(first) or _number(first)
            if is_here and second not in pairs and known is not None and second in dims:
                pairs[second] = _Pair(guard, guard.operands[0], known)
    if not pairs:
        return None
    waiting: dict[Node, list[Node]] = {}
    for second in pairs:
        for operand in second.operands:
            waiting.setdefault(operand, []).append(second)
    found = {source: dim for source, dim in dims.items() if source in pairs}
    writer = _Writer(pairs, found, waiting)
    return {Elementwise: writer.elementwise, Guard: writer.guard}


def _number(node: Node) -> int | None:
    """The number that an extent must be; None if it is none."""
    is_number = isinstance(node.op, Constant) and not node.shape
    return max(int(op_of(node, Constant).array.item()), 0) if is_number else None


@dataclass(frozen=True, eq=False, slots=True)
class _Writer:
    """The rules; `pairs` and `dims` are found by the node that holds the second extent.

    `waiting` are those nodes, by their operands.
    """

    pairs: Mapping[Node, _Pair]
    dims: Mapping[Node, SymbolicDim]
    waiting: Mapping[Node, Sequence[Node]]

    def elementwise(self, rebuild: Rebuild, node: Node) -> Node:
        """A function, and behind one that holds a second extent the guard of it."""
        if node in rebuild.nodes:
            return rebuild.nodes[node]
        made = rebuild.nodes[node] = copied(rebuild, node)
        pair = self.pairs.get(node)
        if pair is not None:
            compared = copied(rebuild, pair.comparison)
            guard = pair.guard
            rebuild.nodes[pair.comparison] = compared
            rebuild.nodes[guard] = rebuild.builder.add(guard.op, guard.dtype, (), compared)
            rebuild.dims[self.dims[node]] = rebuild.number(pair.first)
        for second in self.waiting.get(node, ()):
            if second.home is node.home and self._is_ready(rebuild, second):
                self.elementwise(rebuild, second)
        return made

    def _is_ready(self, rebuild: Rebuild, second: Node) -> bool:
        """Whether all is written that an extent and its guard read."""
        compared = self.pairs[second].comparison.operands
        return all(
            each in rebuild.nodes or each is second for each in (*second.operands, *compared)
        )

    def guard(self, rebuild: Rebuild, node: Node) -> Node:
        """A guard, unless it is written."""
        return rebuild.nodes[node] if node in rebuild.nodes else copied(rebuild, node)
