"""Groups of whole numbers that are computed in fewer bits together, and whether that pays.

Vectors of narrow numbers hold more of them; each cast between the two widths costs as much as a few
functions. Values that read each other have one width.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Block,
    Constant,
    Elementwise,
    Gather,
    Input,
    Kernel,
    Loop,
    Node,
    Reduce,
    Result,
    Scatter,
    Take,
    op_of,
)
from treadle.jit.kernel.traversal import all_nodes, yielded

_ASSUMED_SIZE = 1024
"""The elements of a value of open extents."""
_MIN_SIZE = 64
"""The elements from which narrow numbers take less time."""
_TENSORS: Mapping[type, int] = {Take: 1, Gather: 1, Scatter: 2}
"""How many operands of those that read or write by index come before the indices."""
_CAST = Elementwise("cast")
_PER_ITERATION = 100
"""How much oftener a value in a loop is computed than one outside."""
_GAIN = 2
"""How many functions must be computed in narrow numbers for each cast between the two."""


def is_long(node: Node) -> bool:
    """Whether narrow elements of a value take less time: it has enough of them."""
    return not node.is_static or node.size >= _MIN_SIZE


def operands_of(node: Node) -> tuple[Node, ...]:
    """The operands of the type of a node: all but the indices."""
    if isinstance(node.op, Result):
        return ()
    return node.operands[: _TENSORS.get(type(node.op))]


def indices_of(node: Node) -> tuple[Node, ...]:
    """The operands of a node that are indices."""
    count = _TENSORS.get(type(node.op))
    return () if count is None else node.operands[count:]


def source_of(node: Node) -> tuple[Node, ...]:
    """The carried value that a result of a loop is the last one of, or the element it stacks."""
    number, loop = op_of(node, Result).number, node.operands[0].op
    if not isinstance(loop, Loop):
        return ()
    return (*loop.states, *(stack.element for stack in loop.stacks))[number : number + 1]


def stacked_by(nodes: Collection[Node]) -> set[tuple[Node, int]]:
    """The loops and the numbers of those of the nodes that are stacked results."""
    found = set()
    for node in nodes:
        loop = node.operands[0] if isinstance(node.op, Result) else node
        if isinstance(node.op, Result) and isinstance(loop.op, Loop):
            found |= {(loop, node.op.number)} if node.op.number >= len(loop.op.states) else set()
    return found


def grid_bodies(nodes: Collection[Node]) -> set[Block]:
    """The bodies of loops along the rows of a grid, which the loop around them carries.

    Such loops may run as wavefronts (schedule/loops/wavefront.py), in vectors of many rows.
    """
    found = set()
    for node in nodes:
        if isinstance(node.op, Loop):
            after = {each.operands[0] for each in node.op.nexts if isinstance(each.op, Result)}
            loops = (each.op for each in after if each.home is node.op.body)
            found |= {op.body for op in loops if isinstance(op, Loop) and _is_row(op, node.op)}
    return found


def _is_row(inner: Loop, around: Loop) -> bool:
    """Whether a loop in another stacks numbers, and slices a value that the other carries."""
    elements = [stack.element for stack in inner.stacks]
    read = {operand for each in inner.body.nodes for operand in each.operands}
    is_plain = all(each.is_single for each in (*inner.states, *elements))
    return bool(elements) and is_plain and not read.isdisjoint(around.states)


@dataclass(frozen=True, eq=False, slots=True)
class Gains:
    """What is gained in a kernel if the `found` nodes of a wide type are narrow.

    `compared` read them as they are. Single numbers in `grids` are computed in vectors. `stacked`
    has the loops and the numbers of stacked results that are narrow.
    """

    wide: DType
    found: Collection[Node]
    compared: Collection[Node]
    grids: Collection[Block]
    stacked: Collection[tuple[Node, int]]

    def groups(self, kernel: Kernel) -> list[list[Node]]:
        """Nodes that read each other: the groups that gain more than their casts cost."""
        groups = {node: [node] for node in (*self.found, *self.compared)}
        gains = dict.fromkeys(groups, 0)
        for node in all_nodes(kernel.main):
            if node in groups:
                _join(groups, [node, *(each for each in _tied(node) if each in self.found)])
            for state, after in _carried(node):
                if state in self.found:
                    _join(groups, [state, after])
            for each, gain in self._of(node):
                gains[each] += gain
        for node in kernel.results:
            if node in self.found:
                gains[node] -= _GAIN * self._work(node)
        apart = {id(group): group for group in groups.values()}.values()
        return [group for group in apart if sum(gains[node] for node in group) > 0]

    def _of(self, node: Node) -> Iterator[tuple[Node, int]]:
        """What a node adds to the gain of those that it reads, or to its own."""
        found = self.found
        if node in found and isinstance(node.op, Elementwise | Reduce) and node.op != _CAST:
            longest = max(node.operands, key=_size)
            yield node, self._work(*node.operands, node) * self._is_long(node, longest)
        elif node in self.compared:
            read = max((each for each in node.operands if each in found), key=_size)
            place = node if node.home in self.grids else read
            yield node, self._work(read, place) * self._is_long(node, read)
        if node in found:
            others = (each for each in node.operands if each.dtype is self.wide)
            costs = [
                self._work(each)
                for each in others
                if each not in found and not isinstance(each.op, Constant)
            ]
            cast = self._work(node) if isinstance(node.op, Input) else 0
            yield node, -_GAIN * (sum(costs) + cast)
        elif node not in self.compared:
            read_all = (each for each in self._read(node) if each in found)
            yield from ((each, -_GAIN * self._work(each)) for each in read_all)

    def _read(self, node: Node) -> Iterator[Node]:
        """What a node reads in all its bits if it is there, again and again."""
        if isinstance(node.op, Loop):
            yield from (after for state, after in _carried(node) if state not in self.found)
            numbered = enumerate(node.op.stacks, len(node.op.states))
            yield from (each.element for k, each in numbered if (node, k) not in self.stacked)
        else:
            yield from (*node.operands, *yielded(node))

    def _is_long(self, node: Node, read: Node) -> bool:
        return node.home in self.grids or is_long(read)

    def _work(self, *nodes: Node) -> int:
        """The elements of the largest node, in all iterations of the last one's loops."""
        node, home = max(nodes, key=_size), nodes[-1].home
        count = int(home in self.grids) if node.is_single else _size(node)
        times: int = _PER_ITERATION**home.depth
        return count * times


def _join(groups: dict[Node, list[Node]], tied: list[Node]) -> None:
    """Make one group of the groups of some nodes."""
    for each in tied[1:]:
        short, long = sorted((groups[each], groups[tied[0]]), key=len)
        if short is not long:
            long += short
            groups |= dict.fromkeys(short, long)


def _tied(node: Node) -> tuple[Node, ...]:
    """The values that have the type of a node."""
    return source_of(node) if isinstance(node.op, Result) else operands_of(node)


def _carried(node: Node) -> Iterator[tuple[Node, Node]]:
    if isinstance(node.op, Loop):
        yield from zip(node.op.states, node.op.nexts, strict=True)


def _size(node: Node) -> int:
    return node.size if node.is_static else _ASSUMED_SIZE
