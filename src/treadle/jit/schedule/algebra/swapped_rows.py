"""Rows that change places: they are written, and the others stay where they are.

    at = where(position == j, i, where(position == i, j, position))
    y = x[at]                       =       y = scatter(scatter(x, x[j], at i), x[i], at j)

Elimination with a pivot writes so, which copies the matrix in every step. Declines where ranges do
not say that rows and places are in range.
"""

from __future__ import annotations

from dataclasses import dataclass

from treadle.ir import DType
from treadle.jit.kernel.ir import Axis, Elementwise, IndexTuple, Kernel, Node, Scatter, Take
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.integers.value_ranges import Ranges, ranges_of
from treadle.jit.schedule.steps.changed_elements import positions_of

_MOST_ROWS = 4
_MIN_ELEMENTS = 256


@rewrite_pass
def with_swapped_rows(kernel: Kernel) -> Rules | None:
    """The kernel with such rows written; itself if it has none."""
    found = {node: rows for node in all_nodes(kernel.main) if (rows := _rows(node))}
    ranges = (ranges_of(kernel.main) if found else None) or {}
    return replacing(
        {node: rows for node, rows in found.items() if _are_in_range(node, rows, ranges)}, _written
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Row:
    """A row of the array, and its new place; both are numbers."""

    row: Node
    place: Node


def _rows(node: Node) -> tuple[_Row, ...]:
    """The rows of which a node is an array with a few in other places, the first moved first."""
    if not isinstance(node.op, Take) or node.op.axis or not node.home.is_loop:
        return ()
    data, at = node.operands
    is_large = data.is_static and len(data.shape) > 1 and data.size >= _MIN_ELEMENTS
    if not is_large or at.shape != data.shape[:1]:
        return ()
    found: list[_Row] = []
    while at.op == Elementwise("where"):
        condition, row, at = at.operands
        if condition.op != Elementwise("equal") or not row.is_single or at.shape != node.shape[:1]:
            return ()
        one, other = condition.operands
        place, positions = (one, other) if one.is_single else (other, one)
        if not place.is_single or positions_of(positions, 1) != (0, 0):
            return ()
        found.insert(0, _Row(row, place))
    is_rest = positions_of(at, 1) == (0, 0)
    return tuple(found) if is_rest and len(found) <= _MOST_ROWS else ()


def _are_in_range(node: Node, rows: tuple[_Row, ...], ranges: Ranges) -> bool:
    extent = node.operands[0].shape[0]
    assert isinstance(extent, int)
    bounds = [ranges.get(each) for moved in rows for each in (moved.row, moved.place)]
    return all(each is not None and each[0] >= 0 and each[1] < extent for each in bounds)


def _written(rebuild: Rebuild, node: Node, rows: tuple[_Row, ...]) -> Node:
    """The array with each row written to its new place; all are read before."""
    builder, (data, _) = rebuild.builder, rebuild.operands(node)
    rank = len(data.shape) - 1
    axes: IndexTuple = (0, *(Axis(0, ((axis, 1),)) for axis in range(rank)))
    one = (1,) * rank
    moved = [
        builder.add(
            Take(0, is_in_range=True),
            data.dtype,
            data.shape[1:],
            data,
            _number(rebuild, each.row),
        )
        for each in rows
    ]
    made = data
    for each, row in zip(rows, moved, strict=True):
        place = builder.reshape(_number(rebuild, each.place), one)
        made = builder.add(
            Scatter("", axes, is_in_range=True), made.dtype, made.shape, made, row, place
        )
    return made


def _number(rebuild: Rebuild, node: Node) -> Node:
    return rebuild.builder.reshape(rebuild.builder.cast(rebuild.nodes[node], DType.INT64), ())
