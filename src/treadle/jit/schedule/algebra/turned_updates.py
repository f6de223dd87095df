"""Carried matrices that products read transposed: they are updated transposed, too.

    y = k @ transpose(s); s = s + d * k     =     y = k @ t; t = t + transpose(d * k)

where t = transpose(s): `turned_states.py` then carries t. Few rows times a transposed matrix are
dot products along its rows, whose sums end across a vector; rows times t are sums of its rows.
A layer of DeltaNet with heads of 48 takes 0.66 of the time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.ir import (
    Axis,
    Elementwise,
    Kernel,
    Loop,
    MatMul,
    Node,
    View,
    op_of,
    static_shape,
)
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, readers_of
from treadle.jit.schedule.layouts.product_tiles import NO_VECTOR_ROWS

_MAX_ROWS, _MIN_EXTENT, _MIN_ITERATIONS = 3, 16, 8


@rewrite_pass
def with_turned_updates(kernel: Kernel) -> Rules | None:
    """The kernel with such updates transposed; itself if it has none."""
    nodes = all_nodes(kernel.main)
    loops = [node.op for node in nodes if isinstance(node.op, Loop)]
    if kernel.counts_loops or not any(isinstance(node.op, MatMul) for node in nodes):
        return None
    readers = readers_of(nodes)
    found = {
        node: True
        for op in loops
        for state, after in zip(op.states, op.nexts, strict=True)
        for node in _update(op, state, after, readers)
    }
    return replacing(found, _turned)


def _update(
    op: Loop, state: Node, after: Node, readers: Mapping[Node, Sequence[Node]]
) -> Collection[Node]:
    """The functions that make the next value, of the state and others; () if they stay."""
    if not state.is_static or len(state.shape) < 2 or state.dtype in NO_VECTOR_ROWS:
        return ()
    if min(static_shape(state)[-2:]) < _MIN_EXTENT or not isinstance(after.op, Elementwise):
        return ()
    if isinstance(op.extent, int) and op.extent < _MIN_ITERATIONS:
        return ()  # the first value is transposed, and the last one back
    if any(stack.element is after for stack in op.stacks) or op.nexts.count(after) > 1:
        return ()
    functions = _functions(op, state, after, readers)
    others = [
        reader
        for node in (state, *functions)
        for reader in readers.get(node, ())
        if reader not in functions and reader.op is not op
    ]
    is_read = state in {operand for each in functions for operand in each.operands}
    are_turned = bool(others) and all(_is_turned_matrix(each, readers) for each in others)
    return functions if is_read and are_turned else ()


def _functions(
    op: Loop, state: Node, after: Node, readers: Mapping[Node, Sequence[Node]]
) -> Collection[Node]:
    """The functions of elements that only the next value is made of, with it."""
    found = {after}
    for node in reversed(op.body.nodes):
        if isinstance(node.op, Elementwise) and node.shape == state.shape:
            of_it = [each for each in readers.get(node, ()) if not isinstance(each.op, View)]
            if of_it and found.issuperset(of_it):
                found.add(node)
    return found


def _is_turned_matrix(node: Node, readers: Mapping[Node, Sequence[Node]]) -> bool:
    """Whether it transposes a matrix for products of few rows."""
    if not isinstance(node.op, View) or node.op.axes != _swapped(len(node.shape)):
        return False
    products = readers.get(node, ())
    return bool(products) and all(
        isinstance(each.op, MatMul)
        and each.operands[1] is node
        and isinstance(each.shape[-2], int)
        and each.shape[-2] <= _MAX_ROWS
        for each in products
    )


def _swapped(rank: int) -> tuple[Axis, ...]:
    """The axes of a view that exchanges the last two."""
    order = (*range(rank - 2), rank - 1, rank - 2)
    return tuple(Axis(0, ((axis, 1),)) for axis in order)


def _turned(rebuild: Rebuild, node: Node, _: bool) -> Node:
    """The function of the transposed operands, transposed back."""
    builder, rank = rebuild.builder, len(node.shape)
    operands = [_swap(builder, each, rank) for each in rebuild.operands(node)]
    *batch, rows, columns = rebuild.shape(node)
    made = builder.add(op_of(node, Elementwise), node.dtype, (*batch, columns, rows), *operands)
    return _swap(builder, made, rank)


def _swap(builder: KernelBuilder, node: Node, rank: int) -> Node:
    """A value with its last two axes exchanged, as an operand of this rank."""
    if not node.shape:
        return node
    whole = builder.reshape(node, ((1,) * (rank - len(node.shape)) + node.shape)[-max(rank, 2) :])
    *batch, rows, columns = whole.shape
    return builder.view(whole, (*batch, columns, rows), _swapped(len(whole.shape)))
