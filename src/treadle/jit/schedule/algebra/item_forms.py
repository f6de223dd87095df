"""Items and stacked outputs as they lie in memory: slices of views are views of slices.

    item of a reversed tensor, from the last      the item of the tensor
    item of a tensor with axes of extent 1        the item without them
    stacked from the last, and reversed           stacked
    items of one element and an axis              scalars

Programs reverse the data of a loop, and its outputs, or put axes around them. Loop strategies look
for items in the order of memory, and for scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from treadle.jit.kernel.ir import (
    Axis,
    Constant,
    DimOf,
    Elementwise,
    InputDim,
    Kernel,
    Loop,
    Node,
    Number,
    Result,
    ScanSlice,
    Stack,
    SymbolicDim,
    View,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, loop_with
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes, reads_of, stack_of
from treadle.jit.kernel.view_bounds import keeps_order

_Output = tuple[Node, int]
"""A loop and the number of its result."""


@fixpoint_pass
def with_plain_items(kernel: Kernel) -> Rules | None:
    """The kernel with such items and stacked outputs; itself if they are so."""
    nodes = all_nodes(kernel.main)
    slices = {node for node in nodes if isinstance(node.op, ScanSlice) and _is_in_the_way(node)}
    turned, narrow = _reversed_outputs(kernel, nodes), _single_outputs(nodes)
    if not slices and not turned and not narrow:
        return None
    return _Items(slices, turned, narrow).rules


def _is_in_the_way(node: Node) -> bool:
    """Whether an item is seen through a view, or is one element with an axis."""
    return _through(node) is not None or (node.is_single and bool(node.shape))


def _through(node: Node) -> tuple[int, bool, tuple[Axis, ...]] | None:
    """Through the view that a node slices: the axis of its operand, the order, and the rest."""
    (source,) = node.operands
    op, axis = op_of(node, ScanSlice), op_of(node, ScanSlice).axis
    if not isinstance(source.op, View):
        return None
    (base,), axes = source.operands, source.op.axes
    found = [k for k, at in enumerate(axes) if any(number == axis for number, _ in at.terms)]
    if len(found) != 1 or base.shape[found[0]] != source.shape[axis]:
        return None
    at = axes[found[0]]
    is_reversed = _is_reversed(at, axis, source.shape[axis])
    is_wider = len(source.shape) > len(base.shape) and keeps_order(source)
    if not is_reversed and (at != Axis(0, ((axis, 1),)) or not is_wider):
        return None
    rest = (
        Axis(each.offset, tuple((n - (n > axis), step) for n, step in each.terms))
        for k, each in enumerate(axes) if k != found[0]
    )  # fmt: skip
    return found[0], op.reverse != is_reversed, tuple(rest)


def _is_reversed(at: Axis, axis: int, extent: Number) -> bool:
    """Whether a view reads all places along an axis, from the last."""
    if at.terms != ((axis, -1),):
        return False
    if isinstance(extent, int):
        return at.offset == extent - 1
    source = at.offset.source if isinstance(at.offset, SymbolicDim) else None
    if source is None or source.op != Elementwise("sub"):
        return False
    whole, one = source.operands
    is_whole = whole is extent.source or _holds(whole, extent)
    return is_whole and isinstance(one.op, Constant) and bool(one.op.array == 1)


def _holds(node: Node, extent: SymbolicDim) -> bool:
    return isinstance(node.op, InputDim) and node.op.extent is extent


def _reversed_outputs(kernel: Kernel, nodes: Sequence[Node]) -> set[_Output]:
    """The stacked outputs, from the last, that are only read from the last."""
    found, others = set[_Output](), set[Node]()
    for node in nodes:
        others |= reads_of([node]) if not _turns_output(node) else set()
    others.update(kernel.results)
    for node in nodes:
        stack = stack_of(node)
        if stack is not None and stack.reverse and node not in others:
            found.add((node.operands[0], op_of(node, Result).number))
    return found


def _turns_output(node: Node) -> bool:
    """Whether a view reverses a stacked output."""
    stack = stack_of(node.operands[0]) if isinstance(node.op, View) else None
    if stack is None or not isinstance(node.op, View):
        return False
    return node.shape == node.operands[0].shape and all(
        _is_reversed(at, k, node.shape[k]) if k == stack.axis else at == Axis(0, ((k, 1),))
        for k, at in enumerate(node.op.axes)
    )


def _single_outputs(nodes: Sequence[Node]) -> set[_Output]:
    """The stacked outputs of single elements with axes, of loops of a known extent."""
    read = {(n.operands[0], n.op.number) for n in nodes if isinstance(n.op, DimOf) and n.operands}
    return {
        (node, len(node.op.states) + k)
        for node in nodes if isinstance(node.op, Loop) and node.op.extent is not None
        for k, stack in enumerate(node.op.stacks)
        if stack.element.shape and stack.element.is_single
        and (node, len(node.op.states) + k) not in read
    }  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class _Items:
    """The rules; `turned` are stacked in the other order, `narrow` are stacked as scalars."""

    slices: set[Node]
    turned: set[_Output]
    narrow: set[_Output]

    @property
    def rules(self) -> Rules:
        """The rules by operation."""
        return {ScanSlice: self._item, Loop: self._loop, Result: self._result, View: self._view}

    def _item(self, rebuild: Rebuild, node: Node) -> Node:
        if node not in self.slices:
            return copied(rebuild, node)
        builder, op, shape = rebuild.builder, op_of(node, ScanSlice), rebuild.shape(node)
        found, (source,) = _through(node), node.operands
        if found is None:
            flat = builder.reshape(rebuild.nodes[source], (rebuild.shape(source)[op.axis],))
            return builder.reshape(builder.item(flat, 0, reverse=op.reverse), shape)
        axis, reverse, rest = found
        axes = [Axis(rebuild.number(at.offset), at.terms) for at in rest]
        base = rebuild.nodes[source.operands[0]]
        return builder.view(builder.item(base, axis, reverse=reverse), shape, axes)

    def _loop(self, rebuild: Rebuild, node: Node) -> Node:
        op, builder, stacks = op_of(node, Loop), rebuild.builder, list[Stack]()
        plain = loop_with(rebuild, op, rebuild.write_inside(op.body))
        with builder.inside(plain.body):
            for number, made in enumerate(plain.stacks, start=len(op.states)):
                if (node, number) in self.narrow:
                    made = replace(made, element=builder.reshape(made.element, ()), axis=0)
                is_turned = (node, number) in self.turned
                stacks.append(replace(made, reverse=made.reverse != is_turned))
        loop = replace(plain, stacks=tuple(stacks))
        return builder.add(loop, node.dtype, (), *rebuild.operands(node))

    def _result(self, rebuild: Rebuild, node: Node) -> Node:
        stack, builder = stack_of(node), rebuild.builder
        if stack is None or (node.operands[0], op_of(node, Result).number) not in self.narrow:
            return copied(rebuild, node)
        shape = rebuild.shape(node)
        made = builder.add(node.op, node.dtype, (shape[stack.axis],), *rebuild.operands(node))
        return builder.reshape(made, shape)

    def _view(self, rebuild: Rebuild, node: Node) -> Node:
        (source,) = node.operands
        output = (source.operands[0], source.op.number) if isinstance(source.op, Result) else None
        if output in self.turned and _turns_output(node):
            return rebuild.nodes[source]
        return copied(rebuild, node)
