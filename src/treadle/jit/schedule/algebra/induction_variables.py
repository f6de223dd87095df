"""Induction variables: values that only count are computed from the iteration number.

    next = state + step                    state is initial + step * i, and not carried
    goes on while start + step * i < n     a trip count

Programs converted from while loops carry their counter and compare it. As a function of the
iteration number it addresses rows that are slices, and with a trip count outputs have a known
extent, and iterations are vectors. Declines where a comparison is not of a counter and a number
from outside the loop, and leaves a counter that is read after a loop of unknown length. Where a run
limits iterations, a loop whose condition counts ends at the limit, before memory for all is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from treadle.jit.kernel.ir import DimOf, Kernel, Loop, Node, Number, Result, op_of
from treadle.jit.kernel.rebuild import Rebuild, Rule, copied, loop_with, write_loop
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes, yielded
from treadle.jit.schedule.algebra.counter_comparisons import Less, comparisons, number_of
from treadle.jit.schedule.algebra.counters import Counter, carried_counters
from treadle.jit.schedule.carried_rewrite import CarriedForm, CarriedRewrite

_NO_LIMIT = 2**62
"""A trip count that no loop reaches."""
_LARGEST = (1 << 63) - 1


@fixpoint_pass
def with_induction_variables(kernel: Kernel) -> Rules | None:
    """The kernel with trip counts for conditions that count, and without carried counters."""
    loops = [node for node in all_nodes(kernel.main) if isinstance(node.op, Loop)]
    bounds = {node: bound for node in loops if (bound := _bound(node)) is not None}
    if bounds and not kernel.limits_iterations:
        return _Counted(bounds).rules
    forms = dict(_counting(kernel, loops))
    return CarriedRewrite(forms).rules if forms else None


def _counting(kernel: Kernel, loops: list[Node]) -> Iterator[tuple[Node, CarriedForm]]:
    """The carried values that only count, with what they are."""
    if not loops:
        return
    read = {each for node in all_nodes(kernel.main) for each in (*node.operands, *yielded(node))}
    read.update(kernel.results)
    for node in loops:
        op = op_of(node, Loop)
        lasts = {
            each.op.number for each in read
            if isinstance(each.op, Result) and each.operands[0] is node
        }  # fmt: skip
        for state, counter in _counters(node).items():
            if op.extent is not None or op.states.index(state) not in lasts:
                yield state, CarriedForm((), counter=counter)


def _counters(node: Node) -> dict[Node, Counter]:
    op = op_of(node, Loop)
    return carried_counters(op, node.operands[op.heads :])


def _bound(node: Node) -> tuple[Less, ...] | None:
    """The comparisons that all hold while a loop goes on; None if it ends otherwise."""
    op = op_of(node, Loop)
    if op.next_condition is None or op.length is not None:
        return None
    found = comparisons(op.next_condition, op, _counters(node))
    if found is None or any(each.low.step <= each.high.step for each in found):
        return None
    return tuple(found)


@dataclass(frozen=True, eq=False, slots=True)
class _Counted:
    """Rules that give loops a trip count; `bounds` are the conditions by the old loop."""

    bounds: Mapping[Node, tuple[Less, ...]]
    extents: dict[Node, Number] = field(default_factory=dict)

    @property
    def rules(self) -> Mapping[type, Rule]:
        """The rules by operation."""
        return {Loop: self._loop, DimOf: self._dim}

    def _loop(self, rebuild: Rebuild, node: Node) -> Node:
        op = op_of(node, Loop)
        if node not in self.bounds:
            return write_loop(rebuild, node, op)
        given, builder = rebuild.operands(node), rebuild.builder
        self.extents[node] = count = self._count(rebuild, node)
        plain = replace(op, has_trip=True, has_condition=False, next_condition=None)
        made = loop_with(rebuild, plain, rebuild.write_inside(op.body))
        made = replace(made, extent=count)
        return builder.add(made, node.dtype, (), builder.dim(count), *given[op.heads :])

    def _count(self, rebuild: Rebuild, node: Node) -> Number:
        """How many iterations a loop has."""
        op, builder, heads = op_of(node, Loop), rebuild.builder, rebuild.operands(node)
        bounds = self.bounds[node]
        first = node.operands[op.has_trip] if op.has_condition else None
        begins = [] if first is None else comparisons(first, op, {})
        is_next = first is not None and begins == [each.at(-1) for each in bounds]
        counts = [_reached(rebuild, each.at(-int(is_next)), each) for each in bounds]
        found = counts[0]
        for each in counts[1:]:
            found = builder.least(found, each)
        found = found if is_next else builder.plus(found, 1)
        if op.has_trip:
            trip = builder.most(builder.number(heads[0]), 0)
            if not isinstance(trip, int) or trip < _NO_LIMIT:
                found = builder.least(trip, found)
        if first is not None and not is_next:
            chosen = builder.map(
                "where", builder.resolved(heads[op.has_trip]), builder.dim(found), builder.dim(0)
            )
            found = builder.number(chosen)
        return found

    def _dim(self, rebuild: Rebuild, node: Node) -> Node:
        """The extent of a stacked output along its axis."""
        loop, number, axis = next(iter(node.operands), None), *_place(node)
        if loop in self.extents:
            op = op_of(loop, Loop)
            stacks = op.stacks[number - len(op.states) :] if number >= len(op.states) else ()
            if stacks and stacks[0].axis == axis:
                return rebuild.builder.dim(self.extents[loop])
        return copied(rebuild, node)


def _place(node: Node) -> tuple[int, int]:
    op = op_of(node, DimOf)
    return op.number, op.axis


def _reached(rebuild: Rebuild, bound: Less, steps: Less) -> Number:
    """The first iteration at which low < high does not hold."""
    builder = rebuild.builder
    low, high = (number_of(rebuild, each.at(0)) for each in (bound.low, bound.high))
    gap = builder.minus(builder.most(high, low), low)
    step = steps.low.step - steps.high.step
    if isinstance(gap, int):
        return -(-gap // step)
    most = _LARGEST - step
    is_more = builder.map("less", builder.dim(gap), builder.dim(0))  # than 63 bits hold
    capped = builder.dim(builder.least(gap, most))
    gap = builder.number(builder.map("where", is_more, builder.dim(most), capped))
    if step == 1:
        return gap
    more = builder.dim(builder.plus(gap, step - 1))
    return builder.number(builder.map("div", more, builder.dim(step)))
