"""Reductions over a few elements, computed element by element in the nest of their result.

    for i in range(4096):                            a nest over the axes that are kept,
        s[i] = sqrt(x[i,0]**2 + x[i,1]**2 + ...)     vectorized along the last of them

The terms are written out, so neither they nor the reduction's operand need memory, and the vectors
run along an axis that is longer than the reduced one.
"""

from __future__ import annotations

from math import prod

from treadle.jit.kernel.ir import Node, Reduce

_MOST_TERMS = 16
"""The terms that are written out where neighbouring results read neighbouring elements."""
_MOST_NEIGHBOURS = 8
"""The same where the terms of one result are neighbours: vectors of results have to be shuffled."""


def written_out_terms(node: Node) -> int:
    """The number of terms of a reduction whose terms are written out; 0 if it is another node."""
    op = node.op
    if not isinstance(op, Reduce):
        return 0
    (source,) = node.operands
    extents = [source.shape[axis] for axis in op.axes]
    known = [extent for extent in extents if isinstance(extent, int)]
    if len(known) < len(extents):
        return 0
    is_last = any(source.shape[axis] != 1 for axis in op.axes if axis == _last_axis(source))
    most = _MOST_NEIGHBOURS if is_last else _MOST_TERMS
    return prod(known) if 0 < prod(known) <= most else 0


def _last_axis(source: Node) -> int:
    """The last axis that is not of extent 1."""
    long = [axis for axis, extent in enumerate(source.shape) if extent != 1]
    return long[-1] if long else -1
