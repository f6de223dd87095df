"""Arrays that are updated on a condition: the update is chosen, not the array.

    s = where(c, scatter(s, u, at), s)      =       s = scatter(s, where(c, u, s[at]), at)

Steps that are masked by a length write so. The choice of an array copies it in every iteration; a
table of 4,096 rows takes 1,300 times as long. Declines for sums of floats: 0 more is not the same
where a number is -0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treadle.jit.kernel.ir import Elementwise, Gather, Kernel, Node, Scatter, op_of
from treadle.jit.kernel.rebuild import Rebuild, copied
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes, readers_of


@fixpoint_pass
def with_conditional_scatters(kernel: Kernel) -> Rules | None:
    """The kernel with such updates; itself if it has none."""
    nodes = all_nodes(kernel.main)
    readers = readers_of(nodes)
    found = {
        node: made
        for node in nodes
        if (made := _update(node)) is not None and readers[made] == [node]
        if made not in kernel.results and made.home is node.home
    }
    if not found:
        return None
    writer = _Writer(found, frozenset(found.values()))
    return {Elementwise: writer.choice, Scatter: writer.update}


def _update(node: Node) -> Node | None:
    """The update that a choice makes or not, of an array that it otherwise returns."""
    if node.op != Elementwise("where") or not node.operands[0].is_single:
        return None
    for made, old in (node.operands[1:], node.operands[:0:-1]):
        if not isinstance(made.op, Scatter) or made.operands[0] is not old:
            continue
        is_sum = made.op.function == "add" and made.dtype.numpy.kind in "iu"
        if node.shape == made.shape and (is_sum or not made.op.function):
            return made
    return None


@dataclass(frozen=True, eq=False, slots=True)
class _Writer:
    """The rules; `choices` are the updates by the choice, `updates` all of them."""

    choices: Mapping[Node, Node]
    updates: frozenset[Node]

    def update(self, rebuild: Rebuild, node: Node) -> Node:
        """An update; one that is chosen is written where it is."""
        return node if node in self.updates else copied(rebuild, node)

    def choice(self, rebuild: Rebuild, node: Node) -> Node:
        """The update of what is chosen; other functions are copied."""
        made = self.choices.get(node)
        if made is None:
            return copied(rebuild, node)
        builder, op = rebuild.builder, op_of(made, Scatter)
        whole, new, *indices = rebuild.operands(made)
        condition = builder.reshape(rebuild.nodes[node.operands[0]], ())
        if op.function:
            kept = builder.scalar(0, new.dtype)
        else:
            at = Gather(op.axes, op.is_in_range)
            kept = builder.add(at, whole.dtype, new.shape, whole, *indices)
        sides = (new, kept) if node.operands[1] is made else (kept, new)
        chosen = builder.map("where", condition, *sides)
        return builder.add(op, made.dtype, rebuild.shape(made), whole, chosen, *indices)
