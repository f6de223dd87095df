"""Reductions of several axes in two steps: rows are combined with each other, then within the rest.

    count = add over (0, 1) of cast(m, int32) of [64,64]
          = add over (0) of cast(add over (0) of cast(m, int8), int32)

Rows are added in whole vectors, where the sum of each row would combine the lanes of a vector at
its end: the maxima of 12 matrices of 12 x 12 take a third of the time. The sums of a few rows of
bits or other numbers in a narrow range fit fewer bits: as many rows are added in these as may be,
and the numbers of 64 lanes become wider once. Whole numbers, and the maximum and minimum of any;
floats only where a few short rows are added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from treadle.ir import DType
from treadle.jit.kernel.ir import Axis, Elementwise, Kernel, Node, Reduce, op_of, static_shape
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.integers.bounds import Range
from treadle.jit.schedule.algebra.integers.value_ranges import ranges_of

_FUNCTIONS = ("add", "max", "min")
_MIN_ROW, _MIN_ROWS, _MIN_ELEMENTS = 32, 8, 1024
_SHORT, _MOST_FLOATS = range(4, 65), 64
"""The lengths of short rows, and the number of rows of floats that are added."""
_NARROW = (DType.INT8, DType.INT16, DType.INT32)


@rewrite_pass
def with_row_reductions(kernel: Kernel) -> Rules | None:
    """The kernel with such reductions in two steps; itself if it has none."""
    found = [node for node in all_nodes(kernel.main) if _is_split(node)]
    ranges = (ranges_of(kernel.main) if any(map(_is_sum, found)) else None) or {}
    return replacing({node: _rows(node, ranges) for node in found}, _reduction)


def _is_split(node: Node) -> bool:
    """Whether it reduces rows and another axis, of numbers that may come in any order."""
    op = node.op
    if not isinstance(op, Reduce) or op.function not in _FUNCTIONS or not node.home.is_loop:
        return False
    (source,) = node.operands
    if not source.is_static or len(source.shape) - 1 not in op.axes or len(op.axes) == 1:
        return False
    *others, row = [static_shape(source)[axis] for axis in sorted(op.axes)]
    count = prod(others)
    if not node.is_single and row in _SHORT and others[-1] in _SHORT:
        return count <= _MOST_FLOATS or not _is_sum_of_floats(node)
    is_large = row >= _MIN_ROW and others[-1] >= _MIN_ROWS and count * row >= _MIN_ELEMENTS
    return is_large and not _is_sum_of_floats(node)


def _is_sum_of_floats(node: Node) -> bool:
    return _is_sum(node) and node.dtype.numpy.kind not in "iu"


def _is_sum(node: Node) -> bool:
    return op_of(node, Reduce).function == "add"


@dataclass(frozen=True, slots=True)
class _Rows:
    """The type in which rows are combined, and how many of the last axis before the rows' own."""

    dtype: DType
    count: int


def _rows(node: Node, ranges: Mapping[Node, Range]) -> _Rows:
    """The narrowest type that the sums of some rows fit, and how many."""
    (source,) = node.operands
    axis = sorted(op_of(node, Reduce).axes)[-2]
    rows = static_shape(source)[axis]
    given = _wide(source)
    bounds = ranges.get(given)
    if not _is_sum(node) or bounds is None:
        return _Rows(node.dtype, rows)
    most = max(bounds[1], -bounds[0], 1)
    for dtype in _NARROW:
        if dtype.bits >= node.dtype.bits:
            break
        fitting = ((1 << (dtype.bits - 1)) - 1) // most
        count = next((n for n in range(min(rows, fitting), _MIN_ROWS - 1, -1) if rows % n == 0), 0)
        if count:
            return _Rows(dtype, count)
    return _Rows(node.dtype, rows)


def _wide(source: Node) -> Node:
    """The numbers of which the source is a cast to a wider type, or the source."""
    if source.op == Elementwise("cast") and source.operands[0].dtype.numpy.kind in "iub":
        return source.operands[0]
    return source


def _reduction(rebuild: Rebuild, node: Node, rows: _Rows) -> Node:
    """The reduction of rows, and that of the row of the results."""
    builder, op = rebuild.builder, op_of(node, Reduce)
    source = rebuild.nodes[_wide(node.operands[0])]
    source = builder.cast(source, rows.dtype)
    *others, axis, _ = sorted(op.axes)
    shape = static_shape(source)
    parts = shape[axis] // rows.count
    split = (*shape[:axis], parts, rows.count, *shape[axis + 1 :])
    axes = [Axis(0, ((k + (k > axis), 1),)) for k in range(len(shape))]
    axes[axis] = Axis(0, ((axis, rows.count), (axis + 1, 1)))
    if parts > 1:
        source = builder.view(source, split, axes)
        over: tuple[int, ...] = (axis + 1,)
    else:
        over = (axis,)
    kept = tuple(e for k, e in enumerate(source.shape) if k not in over)
    summed = builder.add(Reduce(op.function, over), rows.dtype, kept, source)
    rest = (*others, *([axis] if parts > 1 else []), len(kept) - 1)
    wide = builder.cast(summed, node.dtype)
    out = tuple(e for k, e in enumerate(kept) if k not in rest)
    total = builder.add(Reduce(op.function, rest), node.dtype, out, wide)
    return builder.reshape(total, node.shape)
