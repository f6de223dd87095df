"""Guards of counters are checked once, before the loop: in its first and its last iteration.

A Slice between computed bounds has a guard in every iteration: the item must be there. It would
keep iterations from running side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

from treadle.jit.kernel.ir import Guard, Kernel, Loop, Node, Number, op_of
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass, replacing
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.counter_comparisons import Less, comparisons, number_of
from treadle.jit.schedule.algebra.counters import Counter


@dataclass(frozen=True, slots=True)
class _Checks:
    """What a guard wants in each iteration of a loop."""

    loop: Loop
    wanted: tuple[Less, ...]


@fixpoint_pass
def with_hoisted_guards(kernel: Kernel) -> Rules | None:
    """The kernel with such guards before their loops; itself if it has none."""
    nodes = all_nodes(kernel.main)
    loops = {node.op.body: node.op for node in nodes if isinstance(node.op, Loop)}
    found = dict[Node, _Checks]()
    for node in nodes:
        loop = loops.get(node.home) if isinstance(node.op, Guard) else None
        if loop is not None and loop.extent is not None:
            wanted = comparisons(node.operands[0], loop, {})
            if wanted is not None:
                found[node] = _Checks(loop, tuple(wanted))
    return replacing(found, _hoisted)


def _hoisted(rebuild: Rebuild, node: Node, checks: _Checks) -> Node:
    """Check before the loop what a guard checks in every iteration."""
    builder = rebuild.builder
    outside = builder.block.parent
    assert outside is not None
    with builder.inside(outside):
        trips = rebuild.number(checks.loop.extent)
        for each in checks.wanted if trips != 0 else ():
            low = _most(rebuild, each.low, trips, 1)
            high = _most(rebuild, each.high, trips, -1)
            builder.expect(
                builder.compare("greater_equal", builder.plus(high, -1), low),
                is_of_shapes=op_of(node, Guard).is_of_shapes,
            )
    return builder.scalar(True, node.dtype)


def _most(rebuild: Rebuild, counter: Counter, trips: Number, sign: int) -> Number:
    """The greatest number that a counter reaches, or with sign -1 the least."""
    first = number_of(rebuild, counter.at(0))
    if counter.step * sign <= 0:
        return first
    builder = rebuild.builder
    last = builder.plus(builder.times(counter.step, trips), -counter.step)
    return builder.plus(first, last)
