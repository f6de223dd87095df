"""Reductions along the rows of functions of a matrix that no iteration changes: along its columns.

    for i: y = max over (1) of x + w          t = transpose(w)
                                              for i: y = max over (0) of transpose(x) + t

where x is a row or a column. The maxima of rows end across a vector, those of columns are vectors.
Viterbi with 64 states, whose matrix leads from columns to rows, takes 0.4 of the time. Declines
where anything else reads a function, where a function reads a matrix that an iteration computes,
and for few rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treadle.jit.kernel.ir import Elementwise, Kernel, Loop, Node, Reduce, op_of, static_shape
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, readers_of
from treadle.jit.schedule.algebra.turned_updates import swapped, turned

_MIN_ROWS, _MIN_ELEMENTS, _MIN_ITERATIONS = 8, 64, 8
_MOST_COLUMNS = 8
"""The columns for each row up to which vectors lie along the rows' axis."""


@rewrite_pass
def with_turned_reductions(kernel: Kernel) -> Rules | None:
    """The kernel with such reductions along columns; itself if it has none."""
    nodes = all_nodes(kernel.main)
    if kernel.counts_loops or not any(isinstance(node.op, Reduce) for node in nodes):
        return None
    readers = readers_of(nodes)
    loops = [node.op for node in nodes if isinstance(node.op, Loop)]
    found = {node: True for op in loops for node in _turned_nodes(op, readers)}
    return replacing(found, _written)


@dataclass(frozen=True, eq=False, slots=True)
class _Matrix:
    """The functions that a reduction reads, and the matrices that they read."""

    reduction: Node
    functions: frozenset[Node]
    given: frozenset[Node]


def _turned_nodes(op: Loop, readers: Mapping[Node, Sequence[Node]]) -> set[Node]:
    """The reductions of a body along rows, and the functions that only they read."""
    if isinstance(op.extent, int) and op.extent < _MIN_ITERATIONS:
        return set()
    found = [_matrix(node) for node in op.body.nodes if _reduces_rows(node)]
    found = [each for each in found if each.given and not _changes(each, op)]
    count = 0
    while len(found) != count:
        count = len(found)
        known = {node for each in found for node in (each.reduction, *each.functions)}
        ends = {*op.nexts, *(stack.element for stack in op.stacks)}
        found = [
            each
            for each in found
            if each.functions.isdisjoint(ends)
            and all(known.issuperset(readers[node]) for node in each.functions)
        ]
    return {node for each in found for node in (each.reduction, *each.functions)}


def _reduces_rows(node: Node) -> bool:
    """Whether it reduces the rows of functions of many rows that are not too long."""
    if not isinstance(node.op, Reduce) or not isinstance(node.operands[0].op, Elementwise):
        return False
    (source,) = node.operands
    if not source.is_static or node.op.axes != (len(source.shape) - 1,) or len(source.shape) < 2:
        return False
    *_, rows, columns = static_shape(source)
    is_wide = rows >= _MIN_ROWS and 1 < columns <= _MOST_COLUMNS * rows
    return is_wide and source.size >= _MIN_ELEMENTS and source.home is node.home


def _matrix(reduction: Node) -> _Matrix:
    functions, given, waiting = set[Node](), set[Node](), [*reduction.operands]
    shape = reduction.operands[0].shape
    while waiting:
        node = waiting.pop()
        is_function = isinstance(node.op, Elementwise) and node.home is reduction.home
        if is_function and node.shape == shape and node not in functions:
            functions.add(node)
            waiting += node.operands
        elif node not in functions and 1 not in node.shape[-2:] and len(node.shape) > 1:
            given.add(node)
    return _Matrix(reduction, frozenset(functions), frozenset(given))


def _changes(found: _Matrix, op: Loop) -> bool:
    """Whether an iteration computes one of the matrices, or carries it."""
    return any(node.home is op.body for node in found.given)


def _written(rebuild: Rebuild, node: Node, _: bool) -> Node:
    if isinstance(node.op, Elementwise):
        return turned(rebuild, node)
    builder, (source,) = rebuild.builder, rebuild.operands(node)
    rank = len(source.shape)
    op = Reduce(op_of(node, Reduce).function, (rank - 2,))
    made = builder.add(op, node.dtype, source.shape[:-1], swapped(builder, source, rank))
    return builder.reshape(made, rebuild.shape(node))
