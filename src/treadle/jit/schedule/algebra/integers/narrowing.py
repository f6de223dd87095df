"""Whole numbers of 64 and 32 bits in a narrow range are computed in 32, 16 or 8: vectors hold more.

    c = cast(m, int64) + cast(n, int64)         c = cast(m, int8) + cast(n, int8)
    hit = c == 2                          =     hit = c == 2

Only arrays, and the cells of grids, which wavefronts compute in vectors; and only where the range
of a value and of each of its operands is known (value_ranges.py), so that nothing wraps around.
What reads a value in all its bits reads a cast of it. A group of values that read each other has
one type, and stays as it is where such casts would cost more than is gained. Numbers of 64 bits
come first, then those of 32. Floats that are whole numbers, as counts of truths by a convolution,
are computed in integers in the same way; a product with 1 and a sum with 0 are what they are made
of then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    Concat,
    Constant,
    Elementwise,
    Gather,
    Input,
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
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.integers.bounds import Range, bounds_of, is_within
from treadle.jit.schedule.algebra.integers.narrowing_gains import (
    Gains,
    grid_bodies,
    indices_of,
    is_long,
    operands_of,
    source_of,
    stacked_by,
)
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


def with_narrow_numbers(kernel: Kernel) -> Kernel:
    """The kernel with such values in fewer bits; itself if it has none, or counts what loops do."""
    for wide in () if kernel.counts_loops else _NARROW:
        kernel = _narrowed(kernel, wide)
    return kernel


def _narrowed(kernel: Kernel, wide: DType) -> Kernel:
    """The kernel with values of a wide type in fewer bits."""
    ranges = ranges_of(kernel.main) if has_long_numbers(kernel, wide) else None
    types = {} if ranges is None else narrow_types(kernel, wide, ranges)
    if not types or ranges is None:
        return kernel
    made = rewritten_once(kernel, NarrowWriter(wide, types, ranges).rules)
    return replace(made, narrowed=kernel.narrowed + len(types))


def has_long_numbers(kernel: Kernel, wide: DType) -> bool:
    """Whether the kernel computes vectors of a wide type."""
    nodes = all_nodes(kernel.main)
    grids = grid_bodies(nodes)
    return any(
        node.dtype is wide
        and isinstance(node.op, Elementwise | Reduce)
        and (is_long(node) or node.home in grids)
        for node in nodes
    )


def narrow_types(
    kernel: Kernel, wide: DType, ranges: Ranges, inputs: Collection[Node] = ()
) -> Mapping[Node, DType]:
    """The types of values of a wide type that fewer bits hold, and of what compares them.

    `inputs` are arrays whose ranges are assumed: they are cast once.
    """
    nodes = all_nodes(kernel.main)
    grids = grid_bodies(nodes)
    fits = _Fits(wide, ranges, _carried_by(nodes), grids, inputs)
    found = fits.found(nodes)
    gains = Gains(wide, found, fits.compared(nodes, found), grids, stacked_by(found))
    return {
        node: dtype
        for group in gains.groups(kernel)
        for dtype in [_type(group, wide, ranges)]
        for node in group
    }


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
    read = {each for node in group for each in (node, *operands_of(node)) if each.dtype is wide}
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


@dataclass(frozen=True, eq=False, slots=True)
class _Fits:
    """Which nodes can be computed in fewer bits; `carried` has what a loop carries on.

    Single numbers are candidates in the bodies of `grids`, arrays of `inputs` everywhere.
    """

    wide: DType
    ranges: Ranges
    carried: Mapping[Node, tuple[Node, Node]]
    grids: Collection[Block]
    inputs: Collection[Node]

    def found(self, nodes: list[Node]) -> set[Node]:
        """Those whose operands fit too: fewer and fewer, until none is left that has others."""
        indices = {each for node in nodes for each in indices_of(node)}
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
        is_known = isinstance(node.op, _OPS) or node in self.inputs
        is_known = is_known and node.dtype is self.wide and self.fits(node)
        if not is_known or (isinstance(node.op, Elementwise) and node.op.function not in FUNCTIONS):
            return False
        if isinstance(node.op, Scatter) and node.op.function:
            return False
        is_vector = not node.is_single or node.home in self.grids
        return is_vector or isinstance(node.op, (Reduce, Result, *_READERS))

    def _has_narrow_operands(self, node: Node, found: Collection[Node]) -> bool:
        op = node.op
        if isinstance(op, CarriedArg):
            first, after = self.carried[node]
            return after in found and self.fits(first)
        if isinstance(op, Result):
            return any(source in found for source in source_of(node)) and self._is_carried(node)
        return all(self._is_narrow(each, found) for each in operands_of(node))

    def _is_carried(self, node: Node) -> bool:
        """Whether a result is a carried value, a row of a grid, or all its rows."""
        loop = node.operands[0].op
        if not isinstance(loop, Loop):
            return False
        is_of_grid = loop.body in self.grids or loop.body in {each.parent for each in self.grids}
        return is_of_grid or op_of(node, Result).number < len(loop.states)

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


@dataclass(frozen=True, eq=False, slots=True)
class NarrowWriter:
    """The rules; `types` are those of values and of what comparisons read, `made` new values."""

    wide: DType
    types: Mapping[Node, DType]
    ranges: Ranges
    made: dict[Node, Node] = field(default_factory=dict)

    @property
    def rules(self) -> Mapping[type, Rule]:
        """The rules by operation."""
        return {**dict.fromkeys((*_OPS, Input), self._value), Loop: self._loop}

    def _value(self, rebuild: Rebuild, node: Node) -> Node:
        """A narrow value, cast for those that read all bits; others over operands as they are."""
        dtype = self.types.get(node) or self._of_state(node)
        if dtype is None:
            return copied(rebuild, node)
        if node.dtype is not self.wide:
            return self._copied(rebuild, node, dtype)
        if isinstance(node.op, Input):
            whole = copied(rebuild, node)
            self.made[node] = rebuild.builder.cast(whole, dtype)
            return whole
        if (same := _same(node, self.ranges)) is not None:
            made = rebuild.builder.expand(self._operand(rebuild, same, dtype), rebuild.shape(node))
        elif node.op == _CAST:
            made = rebuild.builder.cast(self._operand(rebuild, node.operands[0], dtype), dtype)
        else:
            made = self._copied(rebuild, replace(node, dtype=dtype), dtype)
        self.made[node] = made
        return rebuild.builder.cast(made, self.wide)

    def _of_state(self, node: Node) -> DType | None:
        """The type of a result that is the last value of a narrow carried one, and an index."""
        if not isinstance(node.op, Result) or not isinstance(node.operands[0].op, Loop):
            return None
        states = node.operands[0].op.states
        return self.types.get(states[node.op.number]) if node.op.number < len(states) else None

    def _copied(self, rebuild: Rebuild, node: Node, dtype: DType) -> Node:
        """The node over operands of a type."""
        kept = {each: rebuild.nodes[each] for each in operands_of(node)}
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
        stacked = stacked_by(self.types)
        numbers = [k for k in range(len(op.stacks)) if (node, len(op.states) + k) in stacked]
        if not numbers and not any(state in self.types for state in op.states):
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
        stacks = list(made.stacks)
        for k in numbers:
            stacks[k] = replace(stacks[k], element=self.made[op.stacks[k].element])
        return rebuild.builder.add(replace(made, stacks=tuple(stacks)), node.dtype, (), *given)
