"""Turns a branch with few scalar functions on both sides into selects.

    if c: y = f(x)
    else: y = g(x)              =        y = f(x) if c else g(x)

A loop whose If acts as a Where then has a single block, as loop strategies require. Long functions
are computed for both sides only where no later iteration waits for them: iterations compute them in
vectors then. Elements of arrays are read for both sides where both indices are surely in range.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import (
    Branch,
    CarriedArg,
    Elementwise,
    Gather,
    InductionVar,
    Kernel,
    Loop,
    Node,
    Result,
    ScanSlice,
    Take,
    View,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, write_branch
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.kernel.traversal import all_nodes, computed_from, loops_by_body
from treadle.jit.schedule.algebra.index_checks import is_proven
from treadle.jit.schedule.algebra.integers.value_ranges import ranges_of

_MAX_NODES, _MAX_LONG = 8, 4
"""The number of functions on both sides together, and of long ones; and of results."""
_MAX_WIDE, _MAX_DEPTH = 16, 4
"""The number of functions on both sides of a wide branch, and those on its longest path.

A mispredicted branch takes about as long: a machine of four states, chosen by the data, takes 0.67
of the time with selects (Emerald Rapids).
"""


@fixpoint_pass
def with_selects(kernel: Kernel) -> Rules | None:
    """The kernel with selects for its small branches; itself if it has none."""
    nodes = all_nodes(kernel.main)
    bodies = loops_by_body(nodes)
    branches = [node for node in nodes if isinstance(node.op, Branch)]
    small = {node for node in branches if _is_small(node, bodies.get(node.home))}
    reading = {node for node in small if any(_read(node))}
    ranges = (ranges_of(kernel.main) if reading else None) or {}
    small -= {node for node in reading if not all(is_proven(each, ranges) for each in _read(node))}
    if not small:
        return None
    writer = _Selects(small)
    return {Branch: writer.branch, Result: writer.result}


def _is_small(node: Node, loop: Node | None) -> bool:
    """Whether both sides may be computed; `loop` is the one whose body the branch is in."""
    op = op_of(node, Branch)
    if not 0 < len(op.then_results) <= _MAX_NODES:
        return False
    inside = [*op.then.nodes, *op.otherwise.nodes]
    functions = [FUNCTIONS[each.op.function] for each in inside if isinstance(each.op, Elementwise)]
    long = sum(function.is_expensive for function in functions)
    results = zip(op.then_results, op.otherwise_results, strict=True)
    return (
        (len(functions) <= _MAX_NODES or _is_wide(inside))
        and all(map(_is_plain, inside))
        and all(one.is_single and one.shape == other.shape for one, other in results)
        and (long == 0 or (long <= _MAX_LONG and loop is not None and _may_wait(node, loop)))
    )


def _is_wide(inside: Sequence[Node]) -> bool:
    """Whether a branch with more functions is wide: its longest path has few of them."""
    depths: dict[Node, int] = {}
    for node in inside:
        before = max((depths.get(operand, 0) for operand in node.operands), default=0)
        depths[node] = before + isinstance(node.op, Elementwise)
    count = sum(isinstance(node.op, Elementwise) for node in inside)
    return count <= _MAX_WIDE and max(depths.values(), default=0) <= _MAX_DEPTH


def _read(node: Node) -> Iterator[Node]:
    """The elements at computed indices that the sides of a branch read."""
    op = op_of(node, Branch)
    inside = (*op.then.nodes, *op.otherwise.nodes)
    return (each for each in inside if isinstance(each.op, Take | Gather))


def _is_plain(node: Node) -> bool:
    """Whether a node is one function, select or element of scalars; only elements can fail."""
    if not node.is_single:
        return False
    if isinstance(node.op, Take | Gather):
        return all(index.is_single for index in node.operands[1:])
    if isinstance(node.op, Elementwise):
        function = FUNCTIONS[node.op.function]
        has_vectors = is_float(node.dtype) and function.has_long_code(node.dtype)
        return has_vectors or not function.is_expensive
    return isinstance(node.op, View)


def _may_wait(branch: Node, loop: Node) -> bool:
    """Whether iterations of numbers compute a branch, and none waits for it."""
    op = op_of(loop, Loop)
    plain = (CarriedArg, InductionVar, ScanSlice, Elementwise, View, Branch, Result)
    is_plain = all(isinstance(each.op, plain) and each.is_single for each in op.body.nodes)
    return is_plain and op.is_counted and branch not in computed_from(op.body, op.nexts)


@dataclass(frozen=True, eq=False, slots=True)
class _Selects:
    """The rules; `chosen` are the results of the `small` branches, which became selects."""

    small: Collection[Node]
    chosen: dict[Node, tuple[Node, ...]] = field(default_factory=dict)

    def branch(self, rebuild: Rebuild, node: Node) -> Node:
        """The nodes of both sides, and the selects; unchanged if it is large."""
        if node not in self.small:
            return write_branch(rebuild, node)
        op, (condition,) = op_of(node, Branch), rebuild.operands(node)
        rebuild.write(op.then)
        rebuild.write(op.otherwise)
        builder = rebuild.builder
        chosen = builder.reshape(condition, ())
        self.chosen[node] = tuple(
            builder.map("where", chosen, rebuild.nodes[one], rebuild.nodes[other])
            for one, other in zip(op.then_results, op.otherwise_results, strict=True)
        )
        return condition

    def result(self, rebuild: Rebuild, node: Node) -> Node:
        """The value of a select; another result unchanged."""
        op, (source,) = op_of(node, Result), node.operands
        if source in self.chosen:
            return self.chosen[source][op.number]
        return rebuild.builder.add(op, node.dtype, rebuild.shape(node), rebuild.nodes[source])
