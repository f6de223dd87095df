"""About how long an element takes where loops are made vectors: nanoseconds, of one thread.

    a product           0.01 in a product of matrices
    a function          0.03, one with a series 0.4, eight times that in float64
    an array            0.05 for each element read or written

of four bytes; of eight twice as much. Measured on Zen 5 with 512 bits; others are slower, not
faster.
"""

from __future__ import annotations

from collections.abc import Iterable

from treadle.ir import DType
from treadle.jit.emit.place import LONG, Place, Places
from treadle.jit.kernel_ir import Constant, Map, Node

_PRODUCT = 0.01
_PLAIN, _SERIES, _WIDE, _ARRAY = 0.03, 0.4, 8.0, 0.05
COPIED = 2 * _ARRAY
"""Of copying an element."""


def product_cost(dtype: DType) -> float:
    """Of one product in a matrix product, and of adding it."""
    return _PRODUCT * dtype.numpy.itemsize / 4


def per_element(nodes: Iterable[Node], places: Places) -> float:
    """Of computing one element of all these nodes and writing it."""
    seen: set[Node] = set()
    return sum(_found(node, places, seen) + _array(node) for node in nodes)


def _found(node: Node, places: Places, seen: set[Node]) -> float:
    """Of an element of the node and what it is computed of, but for what was seen."""
    if node in seen or node.is_single:
        return 0.0
    seen.add(node)
    if not _is_computed(node, places):
        return _array(node)
    own = _function(node) if isinstance(node.op, Map) else 0.0
    return own + sum(_found(operand, places, seen) for operand in node.operands)


def _is_computed(node: Node, places: Places) -> bool:
    place = places.place[node]
    return not isinstance(node.op, Constant) and place in (Place.NEST, Place.INLINE)


def _function(node: Node) -> float:
    assert isinstance(node.op, Map)
    cost = _SERIES if node.op.function in LONG else _PLAIN
    if node.op.function in LONG and node.dtype is DType.FLOAT64:
        cost *= _WIDE
    return cost * _words(node)


def _array(node: Node) -> float:
    return _ARRAY * _words(node)


def _words(node: Node) -> float:
    return max(node.dtype.numpy.itemsize, 4) / 4
