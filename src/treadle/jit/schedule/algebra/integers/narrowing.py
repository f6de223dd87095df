"""Whole numbers of 64 and 32 bits in a narrow range are computed in 32, 16 or 8: vectors hold more.

    c = cast(m, int64) + cast(n, int64)         c = cast(m, int8) + cast(n, int8)
    hit = c == 2                          =     hit = c == 2

Only arrays, and only where the range of a value and of each of its operands is known
(value_ranges.py), so that nothing wraps around. What reads a value in all its bits reads a cast of
it. A group of values that read each other has one type, and stays as it is where such casts would
cost more than is gained. Numbers of 64 bits come first, then those of 32. Floats that are whole
numbers, as counts of truths by a convolution, are computed in integers in the same way; a product
with 1 and a sum with 0 are what they are made of then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from treadle.ir import DType
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
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, Rule, copied, loop_with
from treadle.jit.kernel.rewrite import rewritten_once
from treadle.jit.kernel.traversal import all_nodes, yielded
from treadle.jit.schedule.algebra.integers.bounds import Range, bounds_of, is_within
from treadle.jit.schedule.algebra.integers.value_ranges import (
    FUNCTIONS,
    Ranges,
    ranges_of,
)

_NARROW: Mapping[DType, tuple[DType, ...]] = {
    DType.INT64: (DType.INT8, DType.INT16, DType.INT32),
    DType.INT32: (DType.INT8, DType.INT16),
    DType.FLOAT64: (DType.INT8, DType.INT16, DType.INT32),
    DType.FLOAT32: (DType.INT8, DType.INT16),
}
"""The types that numbers of a wide type are computed in."""
_ASSUMED_SIZE = 1024
"""The elements of a value of open extents."""
_MIN_SIZE = 64
"""The elements from which narrow numbers take less time."""
_COMPARISONS = frozenset(
    ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "cast")
)  # fmt: skip
_SOURCES = frozenset(("cast", "and", "mod"))
"""Functions whose results have few bits though their operands have more."""
_WITHOUT_BYTES = frozenset(("mul", "div", "mod"))
"""Functions that vectors of numbers of 8 bits do not have."""
_CAST = Elementwise("cast")
_READERS = (View, Reshape, Concat, ScanSlice, Take, Gather)
_OPS = (Elementwise, Reduce, CarriedArg, Result, Scatter, *_READERS)
_TENSORS: Mapping[type, int] = {Take: 1, Gather: 1, Scatter: 2}
"""How many operands of those that read or write by index come before the indices."""
_PER_ITERATION = 100
"""How much oftener a value in a loop is computed than one outside."""
_GAIN = 2
"""How many functions must be computed in narrow numbers for each cast between the two."""


def with_narrow_numbers(kernel: Kernel) -> Kernel:
    """The kernel with such values in fewer bits; itself if it has none, or counts what loops do."""
    for wide in () if kernel.counts_loops else _NARROW:
        kernel = _narrowed(kernel, wide)
    return kernel


def _narrowed(kernel: Kernel, wide: DType) -> Kernel:
    """The kernel with values of a wide type in fewer bits."""
    nodes = all_nodes(kernel.main)
    if not any(_is_worth_a_look(node, wide) for node in nodes):
        return kernel
    ranges = ranges_of(kernel.main)
    if ranges is None:
        return kernel
    fits = _Fits(wide, ranges, _carried_by(nodes))
    found = fits.found(nodes)
    groups = _profitable(kernel, wide, found, fits.compared(nodes, found))
    types = {
        node: dtype for group in groups for dtype in [_type(group, wide, ranges)] for node in group
    }
    if not types:
        return kernel
    made = rewritten_once(kernel, _Writer(wide, types, ranges).rules)
    return replace(made, narrowed=kernel.narrowed + len(types))


def _is_worth_a_look(node: Node, wide: DType) -> bool:
    """Whether a node computes an array of a wide type."""
    return node.dtype is wide and isinstance(node.op, Elementwise | Reduce) and _is_long(node)


def _is_long(node: Node) -> bool:
    return not node.is_static or node.size >= _MIN_SIZE


def _carried_by(nodes: list[Node]) -> Mapping[Node, tuple[Node, Node]]:
    """The first and the next value of each carried one."""
    return {
        state: (node.operands[node.op.heads + number], after)
        for node in nodes
        if isinstance(node.op, Loop)
        for number, (state, after) in enumerate(zip(node.op.states, node.op.nexts, strict=True))
    }


def _fits(values: Range, dtype: DType) -> bool:
    bounds = bounds_of(dtype)
    return bounds is not None and is_within(values, bounds)


def _type(group: Collection[Node], wide: DType, ranges: Ranges) -> DType:
    """The narrowest type for the nodes of a group and what they read."""
    read = {each for node in group for each in (node, *_operands(node)) if each.dtype is wide}
    computed = [node for node in group if _same(node, ranges) is None]
    functions = {node.op.function for node in computed if isinstance(node.op, Elementwise)}
    types = _NARROW[wide][not _WITHOUT_BYTES.isdisjoint(functions) :]
    return next(t for t in types if all(_fits(ranges[each], t) for each in read))


def _same(node: Node, ranges: Ranges) -> Node | None:
    """The operand that a sum with 0 or a product with 1 is, or a 0 that a product is."""
    neutral = {"add": (0, 0), "mul": (1, 1)}
    function = node.op.function if isinstance(node.op, Elementwise) else ""
    for one, other in (node.operands, node.operands[::-1]) if function in neutral else ():
        if ranges.get(one) == neutral[function] and other.shape == node.shape:
            return other
        is_like = one.is_single or one.shape == node.shape
        if function == "mul" and ranges.get(one) == (0, 0) and is_like:
            return one
    return None


def _operands(node: Node) -> tuple[Node, ...]:
    """The operands of the type of a node: all but the indices."""
    if isinstance(node.op, Result):
        return ()
    return node.operands[: _TENSORS.get(type(node.op))]


@dataclass(frozen=True, eq=False, slots=True)
class _Fits:
    """Which nodes can be computed in fewer bits; `carried` has what a loop carries on."""

    wide: DType
    ranges: Ranges
    carried: Mapping[Node, tuple[Node, Node]]

    def found(self, nodes: list[Node]) -> set[Node]:
        """Those whose operands fit too: fewer and fewer, until none is left that has others."""
        readers = ((node, _TENSORS.get(type(node.op))) for node in nodes)
        indices = {each for node, count in readers if count for each in node.operands[count:]}
        found = {node for node in nodes if node not in indices and self._is_candidate(node)}
        count = None
        while count != len(found):
            count = len(found)
            for node in nodes:
                if node in found and not self._has_narrow_operands(node, found):
                    found.remove(node)
        return found

    def fits(self, node: Node) -> bool:
        """Whether every element of a node is a number of the largest narrow type."""
        return node in self.ranges and _fits(self.ranges[node], _NARROW[self.wide][-1])

    def _is_candidate(self, node: Node) -> bool:
        is_known = node.dtype is self.wide and isinstance(node.op, _OPS) and self.fits(node)
        if not is_known or (isinstance(node.op, Elementwise) and node.op.function not in FUNCTIONS):
            return False
        if isinstance(node.op, Scatter) and node.op.function:
            return False
        return not node.is_single or isinstance(node.op, (Reduce, Result, *_READERS))

    def _has_narrow_operands(self, node: Node, found: Collection[Node]) -> bool:
        op = node.op
        if isinstance(op, CarriedArg):
            first, after = self.carried[node]
            return after in found and self.fits(first)
        if isinstance(op, Result):
            return any(state in found for state in _state_of(node))
        return all(self._is_narrow(each, found) for each in _operands(node))

    def _is_narrow(self, node: Node, found: Collection[Node]) -> bool:
        """Whether an operand is narrow already, or can be cast before it is read."""
        if node in found or node.dtype is not self.wide:
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
    kernel: Kernel, wide: DType, found: Collection[Node], compared: Collection[Node]
) -> list[list[Node]]:
    """Nodes that read each other in few bits: the groups that gain more than their casts cost."""
    groups = {node: [node] for node in (*found, *compared)}
    gains = dict.fromkeys(groups, 0)
    for node in all_nodes(kernel.main):
        if node in groups:
            _join(groups, [node, *(each for each in _tied(node) if each in found)])
        for state, after in _carried(node):
            if state in found:
                _join(groups, [state, after])
        for each, gain in _gains(node, wide, found, compared):
            gains[each] += gain
    for node in kernel.results:
        if node in found:
            gains[node] -= _GAIN * _work(node)
    apart = {id(group): group for group in groups.values()}.values()
    return [group for group in apart if sum(gains[node] for node in group) > 0]


def _join(groups: dict[Node, list[Node]], tied: list[Node]) -> None:
    """Make one group of the groups of some nodes."""
    for each in tied[1:]:
        short, long = sorted((groups[each], groups[tied[0]]), key=len)
        if short is not long:
            long += short
            groups |= dict.fromkeys(short, long)


def _tied(node: Node) -> tuple[Node, ...]:
    """The values that have the type of a node."""
    return _state_of(node) if isinstance(node.op, Result) else _operands(node)


def _carried(node: Node) -> Iterator[tuple[Node, Node]]:
    if isinstance(node.op, Loop):
        yield from zip(node.op.states, node.op.nexts, strict=True)


def _gains(
    node: Node, wide: DType, found: Collection[Node], compared: Collection[Node]
) -> Iterator[tuple[Node, int]]:
    """What a node adds to the gain of those that it reads, or to its own."""
    if node in found and isinstance(node.op, Elementwise | Reduce) and node.op != _CAST:
        yield node, _work(*node.operands, node) * _is_long(max(node.operands, key=_size))
    elif node in compared:
        read = max((each for each in node.operands if each in found), key=_size)
        yield node, _work(read) * _is_long(read)
    if node in found:
        others = (each for each in node.operands if each.dtype is wide and each not in found)
        costs = [_work(each) for each in others if not isinstance(each.op, Constant)]
        yield node, -_GAIN * sum(costs)
    elif node not in compared:
        yield from ((each, -_GAIN * _work(each)) for each in _read(node, found) if each in found)


def _read(node: Node, found: Collection[Node]) -> Iterator[Node]:
    """What a node reads in all its bits if it is there, again and again."""
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
    """The rules; `types` are those of values and of what comparisons read, `made` new values."""

    wide: DType
    types: Mapping[Node, DType]
    ranges: Ranges
    made: dict[Node, Node] = field(default_factory=dict)

    @property
    def rules(self) -> Mapping[type, Rule]:
        """The rules by operation."""
        return {**dict.fromkeys(_OPS, self._value), Loop: self._loop}

    def _value(self, rebuild: Rebuild, node: Node) -> Node:
        """A narrow value, cast for those that read all bits; others over operands as they are."""
        dtype = self.types.get(node)
        if dtype is None:
            return copied(rebuild, node)
        if node.dtype is not self.wide:
            return self._copied(rebuild, node, dtype)
        if (same := _same(node, self.ranges)) is not None:
            made = rebuild.builder.expand(self._operand(rebuild, same, dtype), rebuild.shape(node))
        elif node.op == _CAST:
            made = rebuild.builder.cast(self._operand(rebuild, node.operands[0], dtype), dtype)
        else:
            made = self._copied(rebuild, replace(node, dtype=dtype), dtype)
        self.made[node] = made
        return rebuild.builder.cast(made, self.wide)

    def _copied(self, rebuild: Rebuild, node: Node, dtype: DType) -> Node:
        """The node over operands of a type."""
        kept = {each: rebuild.nodes[each] for each in _operands(node)}
        rebuild.nodes.update({each: self._operand(rebuild, each, dtype) for each in kept})
        made = copied(rebuild, node)
        rebuild.nodes.update(kept)
        return made

    def _operand(self, rebuild: Rebuild, node: Node, dtype: DType) -> Node:
        """A wide value in a narrower type; others as they are."""
        if node.dtype is not self.wide:
            return rebuild.nodes[node]
        if isinstance(node.op, Constant):
            return rebuild.builder.constant(node.op.array.astype(dtype.numpy))
        return rebuild.builder.cast(self.made.get(node) or rebuild.nodes[node], dtype)

    def _loop(self, rebuild: Rebuild, node: Node) -> Node:
        """A loop that carries narrow values; others are copied."""
        op = op_of(node, Loop)
        if not any(state in self.types for state in op.states):
            return copied(rebuild, node)
        heads = op.heads
        body = rebuild.write_inside(op.body)
        given = list(rebuild.operands(node))
        states, nexts = ([rebuild.nodes[each] for each in ends] for ends in (op.states, op.nexts))
        for number, (state, after) in enumerate(zip(op.states, op.nexts, strict=True)):
            if (dtype := self.types.get(state)) is not None:
                states[number], nexts[number] = self.made[state], self.made[after]
                first = node.operands[heads + number]
                given[heads + number] = self._operand(rebuild, first, dtype)
        made = loop_with(rebuild, op, body, states, nexts)
        return rebuild.builder.add(made, node.dtype, (), *given)
