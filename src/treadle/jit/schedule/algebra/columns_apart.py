"""Columns of narrow arrays, computed one by one where a loop puts them together itself.

    d = concat(x1, -x0) of [b,2]        x0' = x0 + 0.1 * x1
    x = x + 0.1 * d                     x1' = x1 + 0.1 * -x0

Programs stack the derivatives of a few quantities behind a long axis of samples. In memory the
quantities alternate: to put them together and to pick one moves each element alone, and no vector
holds numbers of one kind. A Concat of columns moves behind the functions that read it, and carried
values are carried column by column. Declines where
anything but functions, single columns, sums along the columns and stacked outputs reads such an
array, since that would be put together in each iteration.
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
_SUMS = ("add", "mul", "max", "min")


@rewrite_pass
def with_columns_apart(kernel: Kernel) -> Rules | None:
    """The kernel with such arrays in columns; itself if it has none."""
    nodes = all_nodes(kernel.main)
    readers = readers_of(nodes)
    apart = {
        node for loop in nodes if isinstance(loop.op, Loop) for node in _apart(loop.op, readers)
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
        builder, shape = rebuild.builder, (*node.shape[:-1], 1)
        given = [_columns(builder, each, node) for each in rebuild.operands(node)]
        columns = (
            builder.add(node.op, node.dtype, shape, *each) for each in zip(*given, strict=True)
        )
        return _together(builder, columns, node)

    def sum(self, rebuild: Rebuild, node: Node) -> Node:
        """A reduction along the columns: a function of all of them."""
        if node.operands[0] not in self.apart:
            return copied(rebuild, node)
        builder, function = rebuild.builder, op_of(node, Reduce).function
        (given,) = rebuild.operands(node)
        columns = _columns(builder, given, given)
        total = reduce(lambda left, right: builder.map(function, left, right), columns)
        return builder.reshape(total, node.shape)


def _columns(builder: KernelBuilder, operand: Node, like: Node) -> Iterator[Node]:
    """The operand of each column of a function."""
    count, last = like.shape[-1], len(operand.shape) - 1
    assert isinstance(count, int)
    for column in range(count):
        if last < 0 or operand.shape[last] == 1:
            yield operand
        else:
            axes = [Axis(0, ((axis, 1),)) for axis in range(last)]
            yield builder.view(operand, (*operand.shape[:-1], 1), [*axes, Axis(column)])


def _together(builder: KernelBuilder, columns: Iterator[Node], like: Node) -> Node:
    return builder.add(Concat(len(like.shape) - 1), like.dtype, like.shape, *columns)
