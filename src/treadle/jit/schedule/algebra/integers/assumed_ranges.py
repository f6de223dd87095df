"""Whole numbers of 64 bits that fewer bits hold in most runs: a guard expects so of the inputs.

    row, by = inputs, int64             guard: every |row| < 2 ** 30, 0 <= by < 1024, n <= 2 ** 18
    loop of n                           loop of n
      row = min(row, other) + by          row = min(row, other) + by, in int32

Models count, and compute distances and scores, in int64, since the standard's operators on shapes
and indices do. A run in which the guard fails is repeated by a kernel that assumes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    CarriedArg,
    Guard,
    InductionVar,
    Input,
    Kernel,
    Loop,
    Node,
    Reduce,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, Rule
from treadle.jit.kernel.rewrite import rewritten_once
from treadle.jit.kernel.traversal import all_nodes, reads_of
from treadle.jit.schedule.algebra.integers.bounds import Range
from treadle.jit.schedule.algebra.integers.narrowing import (
    NarrowWriter,
    has_long_numbers,
    narrow_types,
)
from treadle.jit.schedule.algebra.integers.value_ranges import ranges_of

_ELEMENTS, _NUMBERS, _MOST_ITERATIONS = (1 - 2**30, 2**30 - 1), (0, 1023), 2**18
"""The ranges of elements of arrays and of single numbers, which are costs, and the most iterations.

A value that grows by such a number in each iteration has 32 bits then.
"""


def with_assumed_ranges(kernel: Kernel, *, may_assume: bool) -> Kernel:
    """The kernel with values in 32 bits, and guards that expect small inputs and few iterations.

    Itself if no assumption is allowed, or none makes a value narrow.
    """
    wide = DType.INT64
    if not may_assume or kernel.counts_loops or not has_long_numbers(kernel, wide):
        return kernel
    nodes = all_nodes(kernel.main)
    counts = {n.operands[0] for n in nodes if isinstance(n.op, Loop) and n.op.has_trip}
    inputs = {node for node in nodes if isinstance(node.op, Input) and node.dtype is wide} - counts
    arrays = {node for node in inputs if not node.is_single}
    expected = {node: _range(node) for node in inputs}
    ranges = ranges_of(kernel.main, expected, _MOST_ITERATIONS)
    types = {} if ranges is None else narrow_types(kernel, wide, ranges, arrays)
    if not types or ranges is None:
        return kernel
    sources = _sources(types, nodes)
    loops = {node for node in sources if isinstance(node.op, Loop)}
    guards = _Guards(NarrowWriter(wide, types, ranges), inputs & sources, loops)
    made = rewritten_once(kernel, guards.rules)
    return replace(made, narrowed=kernel.narrowed + len(types), assumes=True)


def _range(node: Node) -> Range:
    return _NUMBERS if node.is_single else _ELEMENTS


def _sources(found: Iterable[Node], nodes: Iterable[Node]) -> set[Node]:
    """All that some nodes of a kernel are computed from, and the nodes."""
    loops = {node.op.body: node for node in nodes if isinstance(node.op, Loop)}
    sources, left = set[Node](), list(found)
    while left:
        node = left.pop()
        if node in sources:
            continue
        sources.add(node)
        left += reads_of([node])
        if isinstance(node.op, CarriedArg | InductionVar):
            left.append(loops[node.home])
    return sources


@dataclass(frozen=True, eq=False, slots=True)
class _Guards:
    """Rules that write narrow values, and guards of inputs and of loops of open extents."""

    writer: NarrowWriter
    inputs: Collection[Node]
    loops: Collection[Node]

    @property
    def rules(self) -> Mapping[type, Rule]:
        """The rules by operation."""
        return {**self.writer.rules, Input: self._input, Loop: self._loop}

    def _input(self, rebuild: Rebuild, node: Node) -> Node:
        made = self.writer.rules[Input](rebuild, node)
        if node in self.inputs:
            builder, unsigned, (least, most) = rebuild.builder, DType.UINT64, _range(node)
            moved = builder.map("sub", made, builder.scalar(least, node.dtype))
            greatest = builder.cast(moved, unsigned)
            if node.shape:
                axes = tuple(range(len(node.shape)))
                greatest = builder.add(Reduce("max", axes), unsigned, (), greatest)
            _expect_at_most(rebuild, greatest, most - least)
        return made

    def _loop(self, rebuild: Rebuild, node: Node) -> Node:
        op = op_of(node, Loop)
        extent = op.extent if op.length is None else op.length
        if node in self.loops and not isinstance(extent, int):
            builder = rebuild.builder
            trips = None
            if extent is not None:
                trips = builder.dim(rebuild.number(extent))
            elif op.has_trip:
                trips = builder.reshape(rebuild.nodes[node.operands[0]], ())
                trips = builder.map("max", trips, builder.scalar(0, trips.dtype))
            if trips is not None:
                _expect_at_most(rebuild, builder.cast(trips, DType.UINT64), _MOST_ITERATIONS)
        return self.writer.rules[Loop](rebuild, node)


def _expect_at_most(rebuild: Rebuild, number: Node, most: int) -> None:
    """Fail unless a number of uint64 is at most another."""
    builder = rebuild.builder
    holds = builder.map("less_equal", number, builder.scalar(most, DType.UINT64))
    builder.add(Guard(True), DType.BOOL, (), holds)
