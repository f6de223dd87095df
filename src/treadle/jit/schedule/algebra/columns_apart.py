"""Columns of narrow arrays, computed one by one where a loop puts them together itself.

    d = concat(x1, -x0) of [b,2]        x0' = x0 + 0.1 * x1
    x = x + 0.1 * d                     x1' = x1 + 0.1 * -x0

Programs stack the derivatives of a few quantities behind a long axis of samples. In memory the
quantities alternate: to put them together and to pick one moves each element alone, and no vector
holds numbers of one kind. A Concat of columns moves behind the functions that read it, and carried
values are carried column by column. Declines where anything but functions, single columns, sums
along the columns and stacked outputs reads such an array, since that would be put together in each
iteration.

    d = x[:, None] - x      of [n,n,3]     d0 = x0[:, None] - x0 ...
    r = sum(d * d, 2)                      r = d0 * d0 + d1 * d1 + d2 * d2

So are functions of narrow arrays that are not carried, as of pairs of bodies, where a column, or
the sum of all, is read of them: their vectors are as long as the axis before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from math import prod

from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Branch,
    CarriedArg,
    Concat,
    Elementwise,
    Kernel,
    Loop,
    Node,
    Reduce,
    View,
    op_of,
    static_shape,
)
from treadle.jit.kernel.rebuild import Rebuild, copied
from treadle.jit.kernel.rewrite import Rules, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, readers_of, yielded
from treadle.jit.kernel.view_bounds import axis_bounds
from treadle.jit.schedule.carried_rewrite import CarriedForm, CarriedRewrite

_MOST_COLUMNS, _FEWEST_ROWS = 8, 8
_MOST_NARROW, _FEWEST_LONG = 4, 64
"""The columns, and the elements of each, of functions that a loop does not carry."""
_SUMS = ("add", "mul", "max", "min")


@rewrite_pass
def with_columns_apart(kernel: Kernel) -> Rules | None:
    """The kernel with such arrays in columns; itself if it has none."""
    nodes = all_nodes(kernel.main)
    readers = readers_of(nodes)
    loops = [node.op for node in nodes if isinstance(node.op, Loop)]
    apart = {node for op in loops for node in _apart(op, readers)}
    apart |= {
        node for op in loops for block in _straight(op.body) for node in _inner(op, block, readers)
    }
    if not apart:
        return None
    forms = {node: _in_columns(node) for node in apart if isinstance(node.op, CarriedArg)}
    writer = _Writer(apart)
    rules = {Elementwise: writer.function, Reduce: writer.sum}
    return {**CarriedRewrite(forms).rules, **rules}


def _in_columns(state: Node) -> CarriedForm:
    """The form of a carried value that is carried column by column."""
    *rows, columns = static_shape(state)
    return CarriedForm(((*rows, 1),) * columns, len(rows))


def _apart(op: Loop, readers: Mapping[Node, list[Node]]) -> set[Node]:
    """The arrays of a body to compute in columns; none unless a carried value is among them."""
    found = {node for node in op.body.nodes if _is_of_columns(node)}
    count = 0
    while found and len(found) != count:
        count = len(found)
        after = zip(op.states, op.nexts, strict=True)
        found |= {state for state, each in after if each in found and state.shape == each.shape}
        found |= {node for node in op.body.nodes if _follows(node, found)}
    if found.isdisjoint(op.states):
        return set()
    stacked = {stack.element for stack in op.stacks}
    ends = {after for state, after in zip(op.states, op.nexts, strict=True) if state in found}
    are_plain = all(
        _reads_columns(reader, node, found, node in ends or node in stacked)
        for node in found
        for reader in readers.get(node, ())
    )
    others = {state for state, each in zip(op.states, op.nexts, strict=True) if each in found}
    return found if are_plain and others <= found else set()


def _is_of_columns(node: Node) -> bool:
    """Whether a node puts a few long columns together."""
    if not isinstance(node.op, Concat) or not node.is_static or len(node.shape) < 2:
        return False
    last = len(node.shape) - 1
    *rows, columns = static_shape(node)
    is_narrow = len(node.operands) == columns <= _MOST_COLUMNS
    return node.op.axis == last and is_narrow and prod(rows) >= _FEWEST_ROWS


def _straight(block: Block) -> Iterator[Block]:
    """A block, and the sides of its branches."""
    yield block
    for node in block.nodes:
        if isinstance(node.op, Branch):
            yield from _straight(node.op.then)
            yield from _straight(node.op.otherwise)


def _inner(op: Loop, block: Block, readers: Mapping[Node, list[Node]]) -> set[Node]:
    """The functions of narrow arrays, of which a block reads single columns, or adds them up."""
    found = {node for node in block.nodes if _is_narrow(node)}
    count = 0
    while len(found) != count:
        count = len(found)
        found = {
            node
            for node in found
            if all(_takes_columns(each, node, found) for each in readers.get(node, ()))
            and all(_gives_columns(each, node, found, op.body) for each in node.operands)
        }
    return {each for node in found for each in _are_worth(node, found, readers)}


def _is_narrow(node: Node) -> bool:
    if not isinstance(node.op, Elementwise) or len(node.shape) < 2:
        return False
    columns = node.shape[-1]
    if not isinstance(columns, int) or not 1 < columns <= _MOST_NARROW:
        return False
    return not node.is_static or node.size >= _FEWEST_LONG * columns


def _takes_columns(reader: Node, node: Node, found: set[Node]) -> bool:
    """Whether a reader takes single columns, or makes something small of each of them."""
    if reader.home is not node.home:
        return False
    if isinstance(reader.op, Reduce) and not _is_sum_of_columns(reader):
        return _is_smaller(reader, node) and len(node.shape) - 1 not in reader.op.axes
    if isinstance(reader.op, Elementwise) and reader.shape[-1] != node.shape[-1]:
        return False
    return _reads_columns(reader, node, found, is_end=False)


def _is_smaller(other: Node, node: Node) -> bool:
    """Whether another value has far fewer elements; of open extents, it is one row."""
    if not other.is_static:
        return False
    return other.size * _FEWEST_ROWS <= node.size if node.is_static else _is_row(other)


def _is_row(node: Node) -> bool:
    return bool(node.shape) and node.size == node.shape[-1]


def _gives_columns(operand: Node, node: Node, found: set[Node], body: Block) -> bool:
    """Whether the columns of an operand are computed, or copied for many readers."""
    if operand in found or not operand.shape or operand.shape[-1] == 1:
        return True
    return _is_smaller(operand, node) or operand.home.depth < body.depth


def _are_worth(start: Node, found: set[Node], readers: Mapping[Node, list[Node]]) -> set[Node]:
    """The functions that depend on each other; none if nothing reads a column, or a sum of all."""
    together, waiting, is_read = {start}, [start], False
    while waiting:
        node = waiting.pop()
        following = readers.get(node, ())
        is_read |= any(isinstance(each.op, View) or _is_of_all_columns(each) for each in following)
        new = found.intersection((*node.operands, *following)) - together
        together |= new
        waiting += new
    return together if is_read else set()


def _is_of_all_columns(reader: Node) -> bool:
    return isinstance(reader.op, Reduce) and _is_sum_of_columns(reader)


def _follows(node: Node, found: set[Node]) -> bool:
    """Whether a function has an operand in columns and no other shape."""
    if not isinstance(node.op, Elementwise):
        return False
    return any(each in found and each.shape == node.shape for each in node.operands)


def _reads_columns(reader: Node, node: Node, found: set[Node], is_end: bool) -> bool:
    """Whether a reader needs no array in memory: a function, one column, or a sum of columns."""
    match reader.op:
        case Elementwise():
            return reader in found
        case View(axes=axes):
            bounds = axis_bounds(axes[-1], reader.shape)
            return bounds is not None and bounds[0] == bounds[1]
        case Reduce():
            return _is_sum_of_columns(reader)
        case Loop():
            return is_end and node in yielded(reader)
    return False


def _is_sum_of_columns(node: Node) -> bool:
    op, given = op_of(node, Reduce), node.operands[0]
    is_plain = op.function in _SUMS and node.dtype == given.dtype
    return is_plain and op.axes == (len(given.shape) - 1,) and node.dtype not in SIXTEEN_BIT_FLOATS


@dataclass(frozen=True, eq=False, slots=True)
class _Writer:
    """The rules; `apart` are the arrays to write in columns."""

    apart: set[Node]

    def function(self, rebuild: Rebuild, node: Node) -> Node:
        """A function of each column, put together."""
        if node not in self.apart:
            return copied(rebuild, node)
        builder, shape = rebuild.builder, rebuild.shape(node)[:-1]
        given = [_columns(builder, each, node) for each in rebuild.operands(node)]
        columns = (
            builder.add(node.op, node.dtype, shape, *each) for each in zip(*given, strict=True)
        )
        return _together(rebuild, columns, node)

    def sum(self, rebuild: Rebuild, node: Node) -> Node:
        """A reduction: a function of all columns, or of each by itself."""
        if node.operands[0] not in self.apart:
            return copied(rebuild, node)
        builder, op = rebuild.builder, op_of(node, Reduce)
        function = op.function
        (given,) = rebuild.operands(node)
        columns = _columns(builder, given, given)
        if op.axes != (len(given.shape) - 1,):
            shape = rebuild.shape(node)[:-1]
            sums = (builder.add(op, node.dtype, shape, each) for each in columns)
            return _together(rebuild, sums, node)
        total = reduce(lambda left, right: builder.map(function, left, right), columns)
        return builder.reshape(total, rebuild.shape(node))


def _columns(builder: KernelBuilder, operand: Node, like: Node) -> Iterator[Node]:
    """The operand of each column of a function, without the last axis."""
    count, last = like.shape[-1], len(operand.shape) - 1
    assert isinstance(count, int)
    for column in range(count):
        if last < 0:
            yield operand
        else:
            axes = [Axis(0, ((axis, 1),)) for axis in range(last)]
            own = 0 if operand.shape[last] == 1 else column
            yield builder.view(operand, operand.shape[:-1], [*axes, Axis(own)])


def _together(rebuild: Rebuild, columns: Iterator[Node], node: Node) -> Node:
    builder, shape = rebuild.builder, rebuild.shape(node)
    each = (builder.reshape(column, (*shape[:-1], 1)) for column in columns)
    return builder.add(Concat(len(shape) - 1), node.dtype, shape, *each)
