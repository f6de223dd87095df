"""Comparisons of whole numbers whose ranges decide them.

    hot = (i == k) or (i + n == k)      =       hot = i == k            where 0 <= i, k < n

OneHot compares with negative indices, too, and an ArgMax has none.
"""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.ir import Elementwise, Kernel, Node
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.integers.value_ranges import Ranges, ranges_of

_OPPOSITE = {"not_equal": "equal", "greater_equal": "less", "less_equal": "greater"}


@rewrite_pass
def with_known_comparisons(kernel: Kernel) -> Rules | None:
    """The kernel with such comparisons of arrays in a loop as constants; itself if it has none."""
    found = [node for node in all_nodes(kernel.main) if _is_compared(node)]
    ranges = (ranges_of(kernel.main) if found else None) or {}
    known = {node: truth for node in found if (truth := _truth(node, ranges)) is not None}
    return replacing(known, _constant)


def _is_compared(node: Node) -> bool:
    if not isinstance(node.op, Elementwise) or node.is_single or not node.home.is_loop:
        return False
    is_whole = bool(node.operands) and node.operands[0].dtype.numpy.kind in "iu"
    return is_whole and node.op.function in (*_OPPOSITE, *_OPPOSITE.values())


def _truth(node: Node, ranges: Ranges) -> bool | None:
    """What a comparison gives for all numbers of the ranges; None if that differs."""
    assert isinstance(node.op, Elementwise)
    first, second = map(ranges.get, node.operands)
    if first is None or second is None:
        return None
    function = node.op.function
    if function in _OPPOSITE:
        opposite = _decided(_OPPOSITE[function], first, second)
        return None if opposite is None else not opposite
    return _decided(function, first, second)


def _decided(function: str, first: tuple[int, int], second: tuple[int, int]) -> bool | None:
    if function == "greater":
        return _decided("less", second, first)
    (low, high), (least, most) = first, second
    if function == "less":
        return True if high < least else False if low >= most else None
    is_apart = high < least or most < low
    return False if is_apart else True if low == high == least == most else None


def _constant(rebuild: Rebuild, node: Node, truth: bool) -> Node:
    builder = rebuild.builder
    return builder.expand(builder.scalar(truth, DType.BOOL), rebuild.shape(node))
