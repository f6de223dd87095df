"""Loop bounds: iterations from a number on that change nothing are not run.

    for i in range(n): if i < m: s = f(s)       =       for i in range(min(n, m)): s = f(s)

Programs mask the steps behind the length of a sequence so, by an If or by a Where. The body without
the choice is the one that strategies look for. Declines where a run counts what its loops do, and
where anything is stacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from treadle.jit.kernel.dce import may_fail
from treadle.jit.kernel.ir import (
    Branch,
    DimOf,
    Elementwise,
    Kernel,
    Loop,
    Node,
    Number,
    Reshape,
    Result,
    View,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, loop_with, write_loop
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes, with_inside
from treadle.jit.schedule.algebra.counter_comparisons import Less, comparisons, number_of

_FAR, _NO_LIMIT = 2**31, 2**62
"""More than what is added to a number, and more iterations than a loop runs."""


@fixpoint_pass
def with_tight_bounds(kernel: Kernel) -> Rules | None:
    """The kernel without such iterations; itself if it has none."""
    for node in all_nodes(kernel.main) if not kernel.counts_loops else ():
        found = _bounded(node, node.op) if isinstance(node.op, Loop) else None
        if found is not None:
            writer = _Writer(found)
            return {
                Loop: writer.loop, Branch: writer.branch, Result: writer.result,
                Elementwise: writer.choice, DimOf: writer.extent,
            }  # fmt: skip
    return None


@dataclass(frozen=True, eq=False, slots=True)
class _Bounded:
    """A loop, and the comparisons of which its condition to change anything consists."""

    loop: Node
    condition: Node
    limits: Sequence[Less]


def _bounded(node: Node, op: Loop) -> _Bounded | None:
    """The condition under which an iteration changes anything, if it only ends; else None."""
    is_plain = op.has_trip and op.is_counted and op.length is None and op.extent is not None
    if not is_plain or op.stacks or not op.states:
        return None
    pairs = zip(op.states, op.nexts, strict=True)
    changed = [(state, after) for state, after in pairs if after is not state]
    conditions = {_condition(after) for _, after in changed}
    condition = conditions.pop() if len(conditions) == 1 else None
    if condition is None or not all(_keeps(after, state) for state, after in changed):
        return None
    limits = comparisons(condition, op, {})
    if not limits or not all(map(ends, limits)):
        return None
    is_pure = not any(map(may_fail, _outside(op, condition)))
    return _Bounded(node, condition, limits) if is_pure else None


def least_bound(rebuild: Rebuild, extent: Number, limits: Sequence[Less]) -> Number:
    """The iterations of a loop in which comparisons hold that end; `extent`: all iterations."""
    builder = rebuild.builder
    for limit in limits:
        end = builder.least(number_of(rebuild, limit.high), _NO_LIMIT)
        end = builder.minus(builder.most(end, limit.low.offset), limit.low.offset)
        extent = builder.least(extent, end)
    return extent


def ends(limit: Less) -> bool:
    """Whether a comparison of the iteration number with a limit holds until it does not.

    The number is moved by so little that it does not wrap around.
    """
    low = limit.low
    is_near = low.base is None and abs(low.offset) < _FAR
    return is_near and low.step == 1 and limit.high.step == 0


def _condition(after: Node) -> Node | None:
    """What decides on the next value of a state."""
    chosen = after.operands[0] if isinstance(after.op, Result) else after
    is_choice = isinstance(chosen.op, Branch) or chosen.op == Elementwise("where")
    return _scalar(chosen.operands[0]) if is_choice and chosen.operands[0].is_single else None


def _scalar(node: Node) -> Node:
    """A truth out of the shape it is seen in."""
    while isinstance(node.op, View | Reshape) and node.operands[0].is_single:
        (node,) = node.operands
    return node


def _keeps(after: Node, state: Node) -> bool:
    """Whether the next value is the state where the condition is false."""
    if isinstance(after.op, Result) and isinstance(after.operands[0].op, Branch):
        return after.operands[0].op.otherwise_results[after.op.number] is state
    return after.op == Elementwise("where") and after.operands[2] is state


def _outside(op: Loop, condition: Node) -> list[Node]:
    """The nodes that iterations run in which the condition is false."""
    found = list[Node]()
    for node in op.body.nodes:
        if isinstance(node.op, Branch) and _scalar(node.operands[0]) is condition:
            found += [each for inner in node.op.otherwise.nodes for each in with_inside(inner)]
        else:
            found += with_inside(node)
    return found


@dataclass(frozen=True, eq=False, slots=True)
class _Writer:
    """The rules: the condition holds in each iteration that is left."""

    found: _Bounded

    def loop(self, rebuild: Rebuild, node: Node) -> Node:
        """The loop of fewer iterations; others are copied."""
        op, builder = op_of(node, Loop), rebuild.builder
        if node is not self.found.loop:
            return write_loop(rebuild, node, op)
        extent = least_bound(rebuild, rebuild.number(op.extent), self.found.limits)
        made = replace(loop_with(rebuild, op, rebuild.write_inside(op.body)), extent=extent)
        rest = rebuild.operands(node)[1:]
        return builder.add(made, node.dtype, (), builder.dim(extent), *rest)

    def branch(self, rebuild: Rebuild, node: Node) -> Node:
        """The side that is taken, in place of a branch."""
        if not self._decides(node):
            return copied(rebuild, node)
        rebuild.write(op_of(node, Branch).then)
        return rebuild.nodes[node.operands[0]]

    def result(self, rebuild: Rebuild, node: Node) -> Node:
        """A result of that side; others are copied."""
        (source,) = node.operands
        if not self._decides(source):
            return copied(rebuild, node)
        made = rebuild.nodes[op_of(source, Branch).then_results[op_of(node, Result).number]]
        return rebuild.builder.reshape(made, rebuild.shape(node))

    def extent(self, rebuild: Rebuild, node: Node) -> Node:
        """An extent of a result of that side; others are copied."""
        if not node.operands or not self._decides(node.operands[0]):
            return copied(rebuild, node)
        op, side = op_of(node, DimOf), op_of(node.operands[0], Branch).then_results
        return rebuild.builder.dim(rebuild.nodes[side[op.number]].shape[op.axis])

    def choice(self, rebuild: Rebuild, node: Node) -> Node:
        """What is chosen; other functions are copied."""
        if node.op != Elementwise("where") or not self._decides(node):
            return copied(rebuild, node)
        return rebuild.builder.expand(rebuild.nodes[node.operands[1]], rebuild.shape(node))

    def _decides(self, node: Node) -> bool:
        """Whether the condition decides on a node of the body."""
        is_choice = isinstance(node.op, Branch) or node.op == Elementwise("where")
        if not is_choice or node.home is not op_of(self.found.loop, Loop).body:
            return False
        return node.operands[0].is_single and _scalar(node.operands[0]) is self.found.condition
