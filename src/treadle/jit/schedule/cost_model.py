"""The cost model: how many nanoseconds nodes and nests take, from the numbers of `kernel/costs.py`.

Two estimates: of an element in a vectorized loop on one thread, for what decides on speed; and a
bound, as if elements were computed one at a time, for what must happen in time (safepoints) or is
worth being timed. Elements of eight bytes cost twice as much as those of four.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod

from treadle.ir import DType
from treadle.jit.kernel import costs
from treadle.jit.kernel.ir import (
    ArgTopK,
    Block,
    Branch,
    CarriedArg,
    Concat,
    Cumulative,
    Elementwise,
    Gather,
    HostCall,
    Loop,
    MatMul,
    Node,
    Reduce,
    Scatter,
    Shape,
    op_of,
)
from treadle.jit.kernel.scalar_functions import FUNCTIONS, INSTRUCTIONS
from treadle.jit.schedule.nest_size import is_expensive
from treadle.jit.schedule.short_reductions import written_out_terms
from treadle.jit.schedule.storage import Storage, StorageMap

_WORD, _MIN_NARROW = 4, 4
"""The bytes of most elements, and how many functions of such elements there are to a wider one."""
COPIED, ADDED = costs.READ + costs.WRITTEN, INSTRUCTIONS.vectorized
"""The cost of copying an element, and of adding one."""
EIGHTHS = 8
"""The unit of bounds: a multiplication of a matrix product counts as an eighth of a nanosecond."""
LONG = 2**28
"""The eighths of a nanosecond from which a nest runs in chunks: for a product at least 10 ms."""
_LEAST = round(EIGHTHS * INSTRUCTIONS.alone)
"""The least time of an element of a long nest: memory allows no less."""
ASSUMED_EXTENT = 100
"""The assumed value of a dynamic extent in a bound."""
_OTHER_NODE = 0.2
_BOUNDS: Mapping[type, int] = {
    MatMul: 1,
    **dict.fromkeys((Reduce, Cumulative), round(EIGHTHS * costs.SUMMED)),
    **dict.fromkeys((Concat, Gather, HostCall, Scatter), 8),
    ArgTopK: 64,
}
"""The eighths of a nanosecond that an element takes at most."""


def per_product(dtype: DType, rows: object) -> float:
    """The cost of one product in a matrix product with this number of rows, and of adding it."""
    most = costs.ROWS_TOGETHER
    together = min(max(rows, 1), most) if isinstance(rows, int) else most
    return (costs.PRODUCT + costs.FACTOR / together) * _words(dtype)


def per_element(places: StorageMap, nodes: Sequence[Node]) -> float:
    """The cost of computing and writing one element of each node."""
    written = sum(costs.WRITTEN * _words(node.dtype) for node in nodes)
    return _read(places, nodes, set(nodes)) + written


def per_read(places: StorageMap, node: Node) -> float:
    """The cost of reading one element, or computing it if it is not in memory."""
    return _read(places, [node], set())


def per_result(places: StorageMap, node: Node) -> float:
    """The cost of one element of a reduction's result."""
    operand = node.operands[0]
    over = [operand.shape[axis] for axis in op_of(node, Reduce).axes]
    count = prod(extent if isinstance(extent, int) else costs.ASSUMED_TERMS for extent in over)
    return count * (per_read(places, operand) + ADDED)


def vector_lanes(nodes: Sequence[Node], vector_bytes: int) -> int:
    """The elements in a vector of a nest; 0: as many as its widest element allows.

    More where few functions have operands of eight bytes, as where positions are compared: of 1,000
    boxes 16 at a time take 0.8 of the time of 8.
    """
    functions = [node for node in nodes if isinstance(node.op, Elementwise)]
    wide = [node for node in functions if widest((node,)) > _WORD]
    if not wide or len(wide) * _MIN_NARROW > len(functions) or any(map(is_expensive, wide)):
        return 0
    return vector_bytes // _WORD


def widest(nodes: Sequence[Node]) -> int:
    """The bytes of an element of the widest array that nodes compute or read."""
    found = (each for node in nodes for each in (node, *node.operands) if not each.is_single)
    return max((each.dtype.numpy.itemsize for each in found), default=0)


def _read(places: StorageMap, nodes: Sequence[Node], computed: set[Node]) -> float:
    total, seen, waiting = 0.0, set[Node](), [(node, 1) for node in nodes]
    while waiting:
        node, times = waiting.pop()
        if node in seen or node.is_single:
            continue
        seen.add(node)
        if not (places.storage_of[node] is Storage.INLINE or node in computed):
            total += times * costs.READ * _words(node.dtype)
            continue
        times *= max(written_out_terms(node), 1)
        total += times * _function(node)
        waiting += ((operand, times) for operand in _read_by(node))
    return total


def _read_by(node: Node) -> Sequence[Node]:
    """The operands that an element is computed from.

    For a Concat one of them, usually the largest: the last of those whose extents are computed.
    """
    if not isinstance(node.op, Concat):
        return node.operands
    open_ones = [each for each in node.operands if not each.is_static]
    return open_ones[-1:] or [max(node.operands, key=lambda each: each.size)]


def _function(node: Node) -> float:
    if isinstance(node.op, Reduce):
        return ADDED * _words(node.dtype)
    if not isinstance(node.op, Elementwise):
        return 0.0
    cost = FUNCTIONS[node.op.function].cost
    return cost.float64 if node.dtype is DType.FLOAT64 else cost.vectorized * _words(node.dtype)


def _words(dtype: DType) -> float:
    return max(dtype.numpy.itemsize, 4) / 4


def per_stage(node: Node) -> float:
    """The cost of a node in a loop of a pipeline: a product of known extents, or its elements."""
    if isinstance(node.op, MatMul):
        left = node.operands[0]
        inner = left.shape[-1]
        assert isinstance(inner, int)
        return node.size * inner * per_product(node.dtype, left.shape[-2])
    is_computed = isinstance(node.op, Elementwise | Reduce)
    return node.size * (_function(node) + costs.WRITTEN) if is_computed else 0.0


def eighths_of(nanoseconds: float) -> int:
    """The time of an element of a long nest, in eighths of a nanosecond."""
    return max(_LEAST, round(EIGHTHS * nanoseconds))


def is_long(extents: Sequence[object]) -> bool:
    """Whether the product of the extents is known, and takes long to run through."""
    known = [extent for extent in extents if isinstance(extent, int)]
    return len(known) == len(extents) and prod(known) >= LONG


def assumed_size(shape: Shape) -> int:
    """The number of elements, with an assumed value for dynamic extents."""
    return prod(extent if isinstance(extent, int) else ASSUMED_EXTENT for extent in shape)


def work_of(node: Node) -> tuple[Shape, int]:
    """The extents that a node runs through, and a bound of each element's time, in eighths of ns.

    ((), 0) if its time does not depend on extents.
    """
    match node.op:
        case Elementwise(function):
            return node.shape, round(EIGHTHS * FUNCTIONS[function].cost.alone)
        case MatMul():
            extents: Shape = (*node.shape, node.operands[0].shape[-1])
        case Scatter() if isinstance(node.operands[0].op, CarriedArg):
            extents = node.operands[1].shape  # in place: only what is written counts
        case ArgTopK() | Reduce() | Cumulative() | Scatter():
            extents = node.operands[0].shape
        case HostCall():
            extents = max((node.shape, *(each.shape for each in node.operands)), key=len)
        case _:
            extents = node.shape
    eighths = _BOUNDS.get(type(node.op), 0)
    return (extents, eighths) if eighths else ((), 0)


def node_bound(node: Node) -> float:
    """The nanoseconds that a node other than a loop takes at most."""
    extents, eighths = work_of(node)
    called = costs.CALL if isinstance(node.op, HostCall) else _OTHER_NODE
    return called + assumed_size(extents) * eighths / EIGHTHS


def iteration_bound(block: Block) -> int:
    """The nanoseconds that one run of a block takes at most, without its inner loops."""
    nodes = (node for node in block.nodes if not isinstance(node.op, Loop))
    return int(costs.ITERATION + sum(map(node_bound, nodes)))


def loop_bound(loop: Node) -> float:
    """The nanoseconds that a loop takes at most; infinite where the kernel's text does not tell."""
    op = op_of(loop, Loop)
    trips = [number for number in (op.length, op.extent) if isinstance(number, int)]
    nodes = op.body.nodes
    if not trips or any(isinstance(n.op, Branch | HostCall) or not n.is_static for n in nodes):
        return inf
    inner = sum(loop_bound(node) for node in nodes if isinstance(node.op, Loop))
    return min(trips) * (iteration_bound(op.body) + inner)
