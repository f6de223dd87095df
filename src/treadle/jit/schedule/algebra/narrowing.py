"""Whole numbers of 64 bits whose range fits 32 are computed in 32: vectors hold twice as many.

    c = cast(m, int64) + cast(n, int64)         c = cast(m, int32) + cast(n, int32)
    hit = c == 2                          =     hit = c == 2

Only arrays, and only where the range of a value and of each of its operands is known
(value_ranges.py), so that nothing wraps around. What reads a value in 64 bits reads a cast of it. A
group of values that read each other stays as it is where such casts would cost more than is gained.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from treadle.ir import DType
from treadle.jit.kernel.dce import remove_dead_nodes
from treadle.jit.kernel.ir import (
    CarriedArg,
    Concat,
    Constant,
    Elementwise,
    Gather,
    Kernel,
    Loop,
    Node,
    Reduce,
    Reshape,
    Result,
    ScanSlice,
    Scatter,
    Take,
    View,
)
from treadle.jit.kernel.rebuild import Rebuild, Rule, copied, loop_with, rebuilt
from treadle.jit.kernel.traversal import all_nodes, yielded
from treadle.jit.schedule.algebra.value_ranges import (
    FUNCTIONS,
    TooLong,
    ValueRanges,
    bounds_of,
    is_within,
)

_WIDE, _NARROW = DType.INT64, DType.INT32
_ASSUMED_SIZE = 1024
"""The elements of a value of open extents."""
_MIN_SIZE = 64
"""The elements from which numbers of 32 bits take less time."""
_COMPARISONS = frozenset(
    ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "cast")
)  # fmt: skip
_SOURCES = frozenset(("cast", "and", "mod"))
"""Functions whose results have few bits though their operands have more."""
_CAST = Elementwise("cast")
_READERS = (View, Reshape, Concat, ScanSlice, Take, Gather)
_OPS = (Elementwise, Reduce, CarriedArg, Result, *_READERS)
_PER_ITERATION = 100
"""How much oftener a value in a loop is computed than one outside."""
_GAIN = 2
"""How many functions must be computed in 32 bits for each cast between the two."""


def with_narrow_numbers(kernel: Kernel) -> Kernel:
    """The kernel with such values in 32 bits; itself if it has none, or counts what loops do."""
    nodes = all_nodes(kernel.main)
    if kernel.counts_loops or not any(map(_is_worth_a_look, nodes)):
        return kernel
    ranges = ValueRanges()
    try:
        ranges.write(kernel.main)
    except TooLong:
        return kernel
    fits = _Fits(ranges, _carried_by(nodes))
    found = fits.found(nodes)
    narrow = _profitable(kernel, nodes, found, fits.compared(nodes, found))
    if not narrow:
        return kernel
    writer = _Writer(narrow, fits.compared(nodes, narrow))
    return replace(remove_dead_nodes(rebuilt(kernel, writer.rules)), narrowed=len(narrow))


def _is_worth_a_look(node: Node) -> bool:
    """Whether a node computes an array of 64 bits."""
    return node.dtype is _WIDE and isinstance(node.op, Elementwise | Reduce) and _is_long(node)


def _is_long(node: Node) -> bool:
    return not node.is_static or node.size >= _MIN_SIZE


def _carried_by(nodes: list[Node]) -> Mapping[Node, tuple[Node, Node]]:
    """The first and the next value of each carried one."""
    return {
        state: (node.operands[node.op.has_trip + node.op.has_condition + number], after)
        for node in nodes
        if isinstance(node.op, Loop)
        for number, (state, after) in enumerate(zip(node.op.states, node.op.nexts, strict=True))
    }


@dataclass(frozen=True, eq=False, slots=True)
class _Fits:
    """Which nodes can be computed in 32 bits; `carried` has the values that a loop carries on."""

    ranges: ValueRanges
    carried: Mapping[Node, tuple[Node, Node]]

    def found(self, nodes: list[Node]) -> set[Node]:
        """Those whose operands fit too: fewer and fewer, until none is left that has others."""
        readers = (node for node in nodes if isinstance(node.op, Take | Gather | Scatter))
        indices = {each for node in readers for each in node.operands[1:]}
        found = {node for node in nodes if node not in indices and self._is_candidate(node)}
        count = None
        while count != len(found):
            count = len(found)
            for node in nodes:
                if node in found and not self._has_narrow_operands(node, found):
                    found.remove(node)
        return found

    def fits(self, node: Node) -> bool:
        """Whether every element of a node is a number of 32 bits."""
        bounds = bounds_of(_NARROW)
        assert bounds is not None
        return node in self.ranges.known and is_within(self.ranges.known[node], bounds)

    def _is_candidate(self, node: Node) -> bool:
        is_known = node.dtype is _WIDE and isinstance(node.op, _OPS) and self.fits(node)
        if not is_known or (isinstance(node.op, Elementwise) and node.op.function not in FUNCTIONS):
            return False
        return not node.is_single or isinstance(node.op, (Reduce, Result, *_READERS))

    def _has_narrow_operands(self, node: Node, found: Collection[Node]) -> bool:
        op = node.op
        if isinstance(op, CarriedArg):
            first, after = self.carried[node]
            return after in found and self.fits(first)
        if isinstance(op, Result):
            return any(state in found for state in _state_of(node))
        read = node.operands[:1] if isinstance(op, Take | Gather) else node.operands
        return all(self._is_narrow(each, found) for each in read)

    def _is_narrow(self, node: Node, found: Collection[Node]) -> bool:
        """Whether an operand is in 32 bits already, or can be cast before it is read."""
        if node in found or node.dtype is not _WIDE:
            return True
        is_source = isinstance(node.op, Elementwise) and node.op.function in _SOURCES
        return (is_source or node.is_single or isinstance(node.op, Constant)) and self.fits(node)

    def compared(self, nodes: list[Node], found: Collection[Node]) -> set[Node]:
        """The comparisons and casts that can read the found ones as they are."""
        return {
            node
            for node in nodes
            if node not in found
            and isinstance(node.op, Elementwise)
            and node.op.function in _COMPARISONS
            and any(each in found for each in node.operands)
            and all(self._is_narrow(each, found) for each in node.operands)
        }


def _state_of(node: Node) -> tuple[Node, ...]:
    """The carried value that a result is the last one of, if it is a loop's."""
    number, loop = getattr(node.op, "number", 0), node.operands[0].op
    return loop.states[number : number + 1] if isinstance(loop, Loop) else ()


def _profitable(
    kernel: Kernel, nodes: list[Node], found: Collection[Node], compared: Collection[Node]
) -> set[Node]:
    """The nodes of those groups that gain more than their casts cost."""
    groups = {node: [node] for node in found}
    gains = dict.fromkeys(found, 0)
    for node in nodes:
        _join(groups, [each for each in (node, *_tied(node, compared)) if each in found])
        for state, after in _carried(node):
            _join(groups, [each for each in (state, after) if each in found])
        for each, gain in _gains(node, found, compared):
            gains[each] += gain
    for node in kernel.results:
        if node in found:
            gains[node] -= _GAIN * _work(node)
    apart = {id(group): group for group in groups.values()}.values()
    gaining = (group for group in apart if sum(gains[node] for node in group) > 0)
    return {node for group in gaining for node in group}


def _join(groups: dict[Node, list[Node]], tied: list[Node]) -> None:
    """Make one group of the groups of some nodes."""
    for each in tied[1:]:
        short, long = sorted((groups[each], groups[tied[0]]), key=len)
        if short is not long:
            long += short
            groups |= dict.fromkeys(short, long)


def _tied(node: Node, compared: Collection[Node]) -> Iterator[Node]:
    """The values that are in 32 bits if a node is."""
    if isinstance(node.op, Result):
        yield from _state_of(node)
    elif isinstance(node.op, _OPS) or node in compared:
        yield from node.operands


def _carried(node: Node) -> Iterator[tuple[Node, Node]]:
    if isinstance(node.op, Loop):
        yield from zip(node.op.states, node.op.nexts, strict=True)


def _gains(
    node: Node, found: Collection[Node], compared: Collection[Node]
) -> Iterator[tuple[Node, int]]:
    """What a node adds to the gain of those that it reads, or to its own."""
    if node in found and isinstance(node.op, Elementwise | Reduce) and node.op != _CAST:
        yield node, _work(*node.operands, node) * _is_long(max(node.operands, key=_size))
    elif node in compared:
        read = max((each for each in node.operands if each in found), key=_size)
        yield read, _work(read) * _is_long(read)
    if node in found:
        others = (each for each in node.operands if each.dtype is _WIDE and each not in found)
        costs = [_work(each) for each in others if not isinstance(each.op, Constant)]
        yield node, -_GAIN * sum(costs)
    elif node not in compared:
        yield from ((each, -_GAIN * _work(each)) for each in _read(node, found) if each in found)


def _read(node: Node, found: Collection[Node]) -> Iterator[Node]:
    """What a node reads in 64 bits if it is there, again and again."""
    if isinstance(node.op, Loop):
        yield from (after for state, after in _carried(node) if state not in found)
        yield from (stack.element for stack in node.op.stacks)
    else:
        yield from (*node.operands, *yielded(node))


def _size(node: Node) -> int:
    return node.size if node.is_static else _ASSUMED_SIZE


def _work(*nodes: Node) -> int:
    """The elements of the largest node, in all iterations."""
    node = max(nodes, key=_size)
    return 0 if node.is_single else _size(node) * _PER_ITERATION ** nodes[-1].home.depth


@dataclass(frozen=True, eq=False, slots=True)
class _Writer:
    """The rules; `narrow` are the values in 32 bits, `made` the new ones."""

    narrow: Collection[Node]
    compared: Collection[Node]
    made: dict[Node, Node] = field(default_factory=dict)

    @property
    def rules(self) -> Mapping[type, Rule]:
        """The rules by operation."""
        return {**dict.fromkeys(_OPS, self._value), Loop: self._loop}

    def _value(self, rebuild: Rebuild, node: Node) -> Node:
        """A value of 32 bits, cast for those that read 64; others over operands as they are."""
        if node in self.compared:
            return self._copied(rebuild, node, node.operands)
        if node not in self.narrow:
            return copied(rebuild, node)
        reads = node.operands[:1] if isinstance(node.op, Take | Gather) else node.operands
        if isinstance(node.op, Result):
            made = self._copied(rebuild, replace(node, dtype=_NARROW), ())
        elif node.op == _CAST:
            made = rebuild.builder.cast(self._operand(rebuild, node.operands[0]), _NARROW)
        else:
            made = self._copied(rebuild, replace(node, dtype=_NARROW), reads)
        self.made[node] = made
        return rebuild.builder.cast(made, _WIDE)

    def _copied(self, rebuild: Rebuild, node: Node, reads: tuple[Node, ...]) -> Node:
        """The node, which reads these operands in 32 bits."""
        kept = {each: rebuild.nodes[each] for each in reads}
        rebuild.nodes.update({each: self._operand(rebuild, each) for each in reads})
        made = copied(rebuild, node)
        rebuild.nodes.update(kept)
        return made

    def _operand(self, rebuild: Rebuild, node: Node) -> Node:
        """A value of 64 bits in 32; others as they are."""
        if node.dtype is not _WIDE:
            return rebuild.nodes[node]
        if isinstance(node.op, Constant):
            return rebuild.builder.constant(node.op.array.astype(_NARROW.numpy))
        return self.made.get(node) or rebuild.builder.cast(rebuild.nodes[node], _NARROW)

    def _loop(self, rebuild: Rebuild, node: Node) -> Node:
        """A loop that carries narrow values; others are copied."""
        op = node.op
        assert isinstance(op, Loop)
        if not any(state in self.narrow for state in op.states):
            return copied(rebuild, node)
        heads = op.has_trip + op.has_condition
        body = rebuild.write_inside(op.body)
        given = list(rebuild.operands(node))
        states, nexts = ([rebuild.nodes[each] for each in ends] for ends in (op.states, op.nexts))
        for number, (state, after) in enumerate(zip(op.states, op.nexts, strict=True)):
            if state in self.narrow:
                states[number], nexts[number] = self.made[state], self.made[after]
                given[heads + number] = self._operand(rebuild, node.operands[heads + number])
        made = loop_with(rebuild, op, body, tuple(states), tuple(nexts))
        return rebuild.builder.add(made, node.dtype, (), *given)
