"""Operators between two loops, row by row: they become a loop of their own.

    for i: y[i] = h = f(h, x[i])               for i: y[i] = h = f(h, x[i])
    r = relu(y @ w) + x                  =     for i: r[i] = relu(y[i] @ w) + x[i]
    for i: z[i] = k = g(k, r[i])               for i: z[i] = k = g(k, r[i])

Each loop then needs only rows that the one before has made, so they can become one loop
(stacked_loops.py) or run at the same time (pipelines.py). Operators that the second loop does not
need are computed after it. Only loops with matrix products are changed: others may have a strategy
that wants them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Concat,
    Elementwise,
    Kernel,
    Loop,
    MatMul,
    Node,
    Number,
    Reduce,
    Reshape,
    Result,
    ScanSlice,
    Shape,
    Stack,
    View,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, new_axes, write_loop
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes, reads_of, stack_of, with_inside, yielded
from treadle.jit.schedule.stacked_loops import counts_are_equal

_MOVABLE = (Concat, Elementwise, MatMul, Reduce, Reshape, Result, View)
"""Operations that may be computed later: they cannot fail, and call nothing."""


@fixpoint_pass
def with_row_loops(kernel: Kernel) -> Rules | None:
    """The kernel with such loops; itself if it needs none, or counts what its loops do."""
    if kernel.counts_loops:
        return None
    found = next(_found(kernel), None)
    if found is None:
        return None
    writer = _RowLoop(found)
    rules = {type(node.op): writer.between for node in (*found.rows, *found.later)}
    return {**rules, Loop: writer.loop}


@dataclass(frozen=True, eq=False, slots=True)
class _Between:
    """The operators between two loops: those of rows that the second needs, and the others.

    `rows` has the extent of axis 0 of one row: 1, or more where the rows' axis and those after it
    are one axis. `stacked` are those of the rows that other nodes read too.
    """

    first: Node
    second: Node
    rows: Mapping[Node, int]
    later: tuple[Node, ...]
    stacked: tuple[Node, ...]

    @property
    def extent(self) -> Number:
        """The number of rows, one for each iteration."""
        extent = op_of(self.first, Loop).extent
        assert extent is not None
        return extent


def _found(kernel: Kernel) -> Iterator[_Between]:
    for first in all_nodes(kernel.main):
        second = _next_loop(first)
        if second is not None and counts_are_equal(first, second):
            between = _between(kernel, first, second)
            if between is not None and between.rows:
                yield between


def _next_loop(first: Node) -> Node | None:
    """The next loop of a block, if it and this one have products and this one stacks rows."""
    if not isinstance(first.op, Loop) or not first.op.stacks or not _has_product(first.op):
        return None
    after = first.home.nodes[first.home.nodes.index(first) + 1 :]
    second = next((node for node in after if isinstance(node.op, Loop)), None)
    is_alike = second is not None and isinstance(second.op, Loop) and _has_product(second.op)
    return second if is_alike else None


def _has_product(loop: Loop) -> bool:
    return any(isinstance(node.op, MatMul) for node in loop.body.nodes)


def _between(kernel: Kernel, first: Node, second: Node) -> _Between | None:
    """The operators between both; None if the second needs one that is not of rows."""
    block = first.home.nodes
    late: set[Node] = {first}
    rows: dict[Node, int] = {}
    between = block[block.index(first) + 1 : block.index(second)]
    for node in between:
        if reads_of(with_inside(node)).isdisjoint(late):
            continue
        if not isinstance(node.op, _MOVABLE):
            return None
        late.add(node)
        extent = op_of(first, Loop).extent
        row = 1 if _is_stacked(node, first) else _row_extent(node, rows, late, extent)
        if row:
            rows[node] = row
    needed = reads_of(with_inside(second)) & late
    for node in reversed(between):
        if node in needed:
            needed |= reads_of(with_inside(node)) & late
    needed.discard(first)
    if not needed <= rows.keys() or not all(_is_sliced(node, second) for node in needed):
        return None
    made = [node for node in between if not isinstance(node.op, Result)]
    own = {node: rows[node] for node in made if node in needed}
    readers = (node for node in all_nodes(kernel.main) if node not in own)
    read = {
        *kernel.results,
        *(each for node in readers for each in (*node.operands, *yielded(node))),
    }
    stacked = tuple(node for node in own if node in read)
    if any(own[node] != 1 for node in stacked):
        return None
    return _Between(first, second, own, tuple(n for n in made if n in late - needed), stacked)


def _is_stacked(node: Node, first: Node) -> bool:
    """Whether it is a stacked output of the loop, one row for each iteration in order."""
    stack = stack_of(node) if node.operands[:1] == (first,) else None
    return stack is not None and stack.axis == 0 and not stack.reverse


def _is_sliced(node: Node, second: Node) -> bool:
    """Whether the second loop reads a value, if it does, only in slices of its rows, in order."""
    readers = [n for n in op_of(second, Loop).body.nodes if node in n.operands]
    forward = ScanSlice(0, reverse=False)
    return node not in second.operands and all(reader.op == forward for reader in readers)


def _row_extent(
    node: Node, rows: Mapping[Node, int], late: set[Node], extent: Number | None
) -> int:
    """The extent of axis 0 of a row, if each is computed from the same rows of others; else 0."""
    read = [each for each in node.operands if each in late]
    row = rows.get(read[0], 0) if read else 0
    if not row or not node.shape or extent == 1 or any(rows.get(each) != row for each in read):
        return 0
    if isinstance(node.op, Reshape):
        return _reshaped(node, extent)
    is_kept = node.shape[0] == read[0].shape[0]
    return row if is_kept and _keeps_rows(node, rows, late) else 0


def _reshaped(node: Node, extent: Number | None) -> int:
    """The extent of axis 0 of a row: 1, or that of all axes but the last if they are one axis."""
    (operand,) = node.operands
    if node.shape[0] == extent:
        return 1
    inner = operand.shape[1:-1]
    is_flat = len(node.shape) == 2 and node.shape[1] == operand.shape[-1]
    if not is_flat or operand.shape[0] != extent:
        return 0
    row = prod(each if isinstance(each, int) else 0 for each in inner)
    return row if row > 1 else 0


def _keeps_rows(node: Node, rows: Mapping[Node, int], late: set[Node]) -> bool:
    match node.op:
        case Elementwise():
            return all(_is_row_operand(each, node, rows, late) for each in node.operands)
        case MatMul():
            left, right = node.operands
            return left in rows and right not in late and len(right.shape) == 2
        case Reduce(axes=axes):
            return 0 not in axes
        case View(axes=axes):
            inner = (term for axis in axes[1:] for term in axis.terms)
            return axes[0] == Axis(0, ((0, 1),)) and all(k != 0 for k, _ in inner)
    return False


def _is_row_operand(operand: Node, node: Node, rows: Mapping[Node, int], late: set[Node]) -> bool:
    """Whether an operand has the rows of the node, or the same elements for each of them."""
    if operand in late:
        return len(operand.shape) == len(node.shape)
    if len(operand.shape) < len(node.shape) or operand.shape[0] == 1:
        return True
    row = next(rows[each] for each in node.operands if each in rows)
    return row == 1 and operand.shape[0] == node.shape[0]


@dataclass(frozen=True, eq=False, slots=True)
class _RowLoop:
    """The rules that write the operators between two loops as a loop, before the second."""

    between_loops: _Between
    items: dict[Node, Node] = field(default_factory=dict)

    def between(self, rebuild: Rebuild, node: Node) -> Node:
        """Nothing in place of operators between the loops; other nodes are copied."""
        found = self.between_loops
        if node in found.rows or node in found.later:
            return node
        return copied(rebuild, node)

    def loop(self, rebuild: Rebuild, node: Node) -> Node:
        """A loop; before the second the rows, after it what it does not need."""
        op = op_of(node, Loop)
        if node is not self.between_loops.second:
            return write_loop(rebuild, node, op)
        self._write_rows(rebuild)
        made = write_loop(rebuild, node, op)
        for each in self.between_loops.later:
            rebuild.nodes[each] = copied(rebuild, each)
        return made

    def _write_rows(self, rebuild: Rebuild) -> None:
        """A loop that computes a row of every operator in each iteration."""
        builder, found = rebuild.builder, self.between_loops
        body = Block("rows", builder.block, is_loop=True)
        with builder.inside(body):
            for node in found.rows:
                self.items[node] = self._item(rebuild, node)
            stacks = tuple(
                Stack(builder.reshape(self.items[node], rebuild.shape(node)[1:]), 0, reverse=False)
                for node in found.stacked
            )
        extent = rebuild.number(found.extent)
        op = Loop(body, False, False, extent, (), (), None, stacks, extent)
        made = builder.add(op, found.first.dtype, ())
        for number, node in enumerate(found.stacked):
            result = builder.add(Result(number), node.dtype, rebuild.shape(node), made)
            rebuild.nodes[node] = result

    def _item(self, rebuild: Rebuild, node: Node) -> Node:
        """The row of a node in this iteration, with an axis of its own in place of the rows'."""
        builder = rebuild.builder
        shape = (self.between_loops.rows[node], *rebuild.shape(node)[1:])
        match node.op:
            case View(axes=axes):
                row = self._row(rebuild, node.operands[0])
                return builder.view(row, shape, new_axes(rebuild, axes))
            case Reshape():
                return builder.reshape(self._row(rebuild, node.operands[0]), shape)
            case MatMul():
                return self._product(rebuild, node, shape)
        operands = [self._row(rebuild, each, len(node.shape)) for each in node.operands]
        return builder.add(node.op, node.dtype, shape, *operands)

    def _product(self, rebuild: Rebuild, node: Node, shape: Shape) -> Node:
        """The row of a product: a product of matrices, as products for many iterations need."""
        builder, (left, right) = rebuild.builder, node.operands
        row = self._row(rebuild, left)
        inner, columns = row.shape[-1], shape[-1]
        count = builder.product(row.shape[:-1])
        flat = builder.reshape(row, (count, inner))
        made = builder.add(node.op, node.dtype, (count, columns), flat, rebuild.nodes[right])
        return builder.reshape(made, shape)

    def _row(self, rebuild: Rebuild, operand: Node, rank: int = 0) -> Node:
        """An operand's row of this iteration; an operand that is the same for all rows itself.

        That is one of a lower rank than the result, or with one row.
        """
        if operand in self.items:
            return self.items[operand]
        if len(operand.shape) < rank or operand.shape[:1] != (self.between_loops.extent,):
            return rebuild.nodes[operand]
        made = rebuild.builder.item(rebuild.nodes[operand])
        self.items[operand] = rebuild.builder.reshape(made, (1, *made.shape))
        return self.items[operand]
