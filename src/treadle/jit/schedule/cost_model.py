"""The cost model: nanoseconds for an element in a vectorized loop on one thread.

    a function              0.006; 0.12 if it is a series; 1 if that is summed in float64
    an array                0.012 for an element read, 0.02 for one written
    a product of matrices   0.018 for each product, 0.03 for a number of the right one, which four
                            rows share

for elements of four bytes; eight bytes cost twice as much, and a series in float64 sixteen times.
Measured on 2 cores of Zen 5; decisions do not change within 10 %, but would within a factor of 10.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from treadle.ir import DType
from treadle.jit.kernel.ir import Concat, Elementwise, Node, Reduce
from treadle.jit.kernel.scalar_functions import FUNCTIONS, Cost
from treadle.jit.schedule.nest_size import INTERLEAVED_ELEMENTS, interleaves
from treadle.jit.schedule.short_reductions import written_out_terms
from treadle.jit.schedule.storage import Storage, StorageMap

_PLAIN, _SERIES, _WIDE_SERIES = 0.006, 0.12, 1.0
_READ, _WRITTEN = 0.012, 0.02
_PRODUCT, _FACTOR, _ROWS = 0.018, 0.03, 4
_MIN_INTERLEAVED_NS = 0.1
"""The cost of an element from which several are computed independently."""
COPIED, ADDED = _READ + _WRITTEN, _PLAIN
"""The cost of copying an element, and of adding one."""


def per_product(dtype: DType, rows: object) -> float:
    """The cost of one product in a matrix product with this number of rows, and of adding it."""
    together = min(max(rows, 1), _ROWS) if isinstance(rows, int) else _ROWS
    return (_PRODUCT + _FACTOR / together) * _words(dtype)


def per_element(places: StorageMap, loaded: Container[Node], nodes: Iterable[Node]) -> float:
    """The cost of computing and writing one element of each node; `loaded` are nodes in memory."""
    own = list(nodes)
    return _read(places, loaded, own, set(own)) + sum(_WRITTEN * _words(node.dtype) for node in own)


def per_read(places: StorageMap, loaded: Container[Node], node: Node) -> float:
    """The cost of reading one element, or computing it if it is not in memory."""
    return _read(places, loaded, [node], set())


def interleave_hint(cost: float, length: object) -> Sequence[str]:
    """Loop hints to interleave the computation of elements that take `cost` each.

    A chain of dependent functions exceeds the processor's out-of-order window, so several elements
    are computed independently. In a chain of ten `tanh` over 262,144 elements each takes 0.85
    nanoseconds one element at a time, 0.51 with two, 0.30 with four, 0.29 with eight.
    """
    is_worth_it = cost >= _MIN_INTERLEAVED_NS and interleaves(length)
    return ("unroll.disable", f"interleave.count={INTERLEAVED_ELEMENTS}") if is_worth_it else ()


def _read(
    places: StorageMap, loaded: Container[Node], nodes: list[Node], computed: set[Node]
) -> float:
    total, seen, waiting = 0.0, set[Node](), [(node, 1) for node in nodes]
    while waiting:
        node, times = waiting.pop()
        if node in seen or node.is_single:
            continue
        seen.add(node)
        is_inline = places.storage_of[node] is Storage.INLINE and node not in loaded
        if not (is_inline or node in computed):
            total += times * _READ * _words(node.dtype)
            continue
        times *= max(written_out_terms(node), 1)
        total += times * _function(node)
        waiting += ((operand, times) for operand in _read_by(node))
    return total


def _read_by(node: Node) -> Sequence[Node]:
    """The operands that an element is computed from.

    For a Concat one of them, usually the largest.
    """
    if not isinstance(node.op, Concat):
        return node.operands
    return [max(node.operands, key=lambda each: each.size)]


def _function(node: Node) -> float:
    if isinstance(node.op, Reduce):
        return ADDED * _words(node.dtype)
    if not isinstance(node.op, Elementwise):
        return 0.0
    function = FUNCTIONS[node.op.function]
    if not function.is_expensive:
        return _PLAIN * _words(node.dtype)
    if node.dtype is DType.FLOAT64:
        return _SERIES * 16
    return _SERIES if function.cost is Cost.SERIES else _WIDE_SERIES


def _words(dtype: DType) -> float:
    return max(dtype.numpy.itemsize, 4) / 4
