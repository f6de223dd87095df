"""Register tiles: all iterations for a few elements, whose carried values stay in vector registers.

    for part in parts of the elements:            as many as a few registers hold
        h = start[part]
        for i in range(trips):
            h = f(h, x[i, part])

Lawful where each element depends on elements at its own index only. An iteration then waits for
arithmetic, not for memory: 2,000 iterations of `s, old = x[i] + w * s - old, s` over 32 elements
take 47 us with the states in memory, and 12 us in registers. Arrays that the L1 cache does not hold
are read and written once, not in every iteration: 400 of `s = s * c + x` over 65,536 elements take
0.4 of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod

from treadle.ir import DType
from treadle.jit.kernel.costs import L1_BYTES
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS
from treadle.jit.kernel.ir import (
    CarriedArg,
    Constant,
    Elementwise,
    InductionVar,
    Input,
    Loop,
    Node,
    Reshape,
    ScanSlice,
    View,
    op_of,
    static_shape,
)
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.kernel.traversal import word_of
from treadle.jit.schedule.loops.facts import LoopFacts, grows, has_vector_form
from treadle.jit.schedule.nest_size import is_expensive
from treadle.jit.schedule.storage import Storage

_MAX_ELEMENTS = 256
"""The elements of larger arrays do not wait for each other: in nests they take less time, from 512
on 0.5 to 0.9 of it, as long as the cache holds them."""
_MAX_VECTORS, _STATE_REGISTERS = 4, 12
"""The vector registers of a value in a tile, and of all carried values."""
_MAX_VECTORS_OF_LARGE = 8
"""The same of arrays that the cache does not hold."""
_TEMPORARIES = 2
"""The vectors beside the carried ones that LLVM keeps in registers for each vector of a tile."""
_MIN_LANES = 32
"""The elements of a tile from which its arithmetic keeps the processor busy."""
_MAX_TILES_WITH_NUMBERS = 2
"""The tiles, where each computes what the loop carries in single numbers."""
_MIN_BROADCAST_LANES = 16
"""The elements of a tile, where rows of an array meet a row that is the same for all."""
_MAX_NODES = 64


@dataclass(frozen=True, eq=False, slots=True)
class RegisterTiling:
    """The loop, the elements of a tile, and the shape of `arrays`: the carried ones, by number."""

    node: Node
    lanes: int
    shape: tuple[int, ...]
    arrays: frozenset[int]

    def __str__(self) -> str:
        return f"register tiles of {self.lanes} of {self.size} elements"

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def op(self) -> Loop:
        """The loop's operation."""
        return op_of(self.node, Loop)


def register_tiling_of(facts: LoopFacts) -> RegisterTiling | str:
    """The register tiles of a loop, or why it has none."""
    op = facts.op
    if not op.is_counted:
        return "it has a condition"
    arrays = [k for k, state in enumerate(op.states) if not state.is_single]
    shapes = {op.states[k].shape for k in arrays}
    if len(shapes) != 1 or not op.states[arrays[0]].is_static:
        return "its arrays have no common static shape"
    shape = static_shape(op.states[arrays[0]])
    if prod(shape) < _MIN_LANES:
        return f"its arrays have fewer than {_MIN_LANES} elements"
    if prod(shape) > _MAX_ELEMENTS and _bytes(facts) <= L1_BYTES:
        return f"its arrays have more than {_MAX_ELEMENTS} elements, and fit into the cache"
    if facts.kernel.limits_memory or facts.kernel.is_recorded or facts.kernel.is_profiled:
        return "its iterations are observed"
    return _obstacle(facts, shape) or _tiles(facts, shape, arrays)


def _bytes(facts: LoopFacts) -> int:
    """The bytes of arrays that every iteration reads or writes."""
    op = facts.op
    read = {each for node in op.body.nodes for each in node.operands if each.home is not op.body}
    found = [each for each in (*op.states, *read) if each.is_static and not each.is_single]
    items = {node.operands[0] for node in op.body.nodes if isinstance(node.op, ScanSlice)}
    return sum(each.size * each.dtype.numpy.itemsize for each in found if each not in items)


def _obstacle(facts: LoopFacts, shape: tuple[int, ...]) -> str:
    """What keeps the loop from being computed tile by tile; "" if nothing does."""
    nodes = facts.op.body.nodes
    if len(nodes) > _MAX_NODES:
        return "its body is long"
    for number, (state, after) in enumerate(zip(facts.op.states, facts.op.nexts, strict=True)):
        if not facts.is_plain(number) or state.is_single is not after.is_single:
            return f"carried {number} is not an array of its own or a number"
    for stack, part in facts.read_stacks():
        is_known = not grows(part)
        is_row = stack.axis == 0 and stack.element.shape in (shape, ())
        if not (is_known and is_row and _has_lanes(stack.element.dtype)):
            return "a stacked output is not contiguous"
    made = {*facts.op.nexts, *(stack.element for stack, _ in facts.read_stacks())}
    if not all(_is_read(facts, each, shape) for each in made if each.home is not facts.op.body):
        return "a value from outside has another shape, or is not in memory"
    found = (_obstacle_at(facts, node, shape) for node in nodes)
    return next(filter(None, found), "")


def _obstacle_at(facts: LoopFacts, node: Node, shape: tuple[int, ...]) -> str:
    """What keeps a node from being computed for the lanes of a tile."""
    if not node.is_single and not period(node, shape):
        return f"{word_of(node)} has another shape"
    match node.op:
        case CarriedArg():
            return "" if _has_lanes(node.dtype) else f"{node.dtype} values are not carried in lanes"
        case ScanSlice(axis, _):
            is_straight = node.is_single or (axis == 0 and _is_stored(facts, node.operands[0]))
            return "" if is_straight and _has_lanes(node.dtype) else "an item is not contiguous"
        case Elementwise():
            if not has_vector_form(node):
                return f"{word_of(node)} has no vector form"
            outer = [each for each in node.operands if each.home is not facts.op.body]
            is_known = all(_is_read(facts, each, shape) for each in outer)
            return "" if is_known else "an operand has another shape, or is not in memory"
        case InductionVar():
            return ""
        case View() | Reshape() if node.is_single and node.operands[0].is_single:
            return ""
    return f"{word_of(node)} is not elementwise"


def _has_lanes(dtype: DType) -> bool:
    return dtype not in SIXTEEN_BIT_FLOATS


def _is_read(facts: LoopFacts, operand: Node, shape: tuple[int, ...]) -> bool:
    """Whether an operand from outside the loop is one number, or an array to load lanes of."""
    if operand.is_single:
        return True
    is_repeated = bool(period(operand, shape))
    return is_repeated and _has_lanes(operand.dtype) and _is_stored(facts, operand)


def period(node: Node, shape: tuple[int, ...]) -> int:
    """The number of elements after which a value that broadcasts to the shape repeats itself.

    0: it does not broadcast along the first axes only.
    """
    own = list(node.shape)
    while own and own[0] == 1:
        del own[0]
    is_suffix = bool(own) and tuple(own) == shape[len(shape) - len(own) :]
    return prod(extent for extent in own if isinstance(extent, int)) if is_suffix else 0


def _is_stored(facts: LoopFacts, operand: Node) -> bool:
    """Whether an array from outside the loop, or an item of it, is in memory in row-major order."""
    place = facts.storage.storage_of[operand]
    match operand.op:
        case _ if operand.home is facts.op.body:
            return False
        case Input() | Constant():
            return True
        case CarriedArg():
            return facts.is_array_around(operand)
        case ScanSlice(0, _) if place is Storage.INLINE:
            return _is_stored(facts, operand.operands[0])
    return place is Storage.BUFFER and not isinstance(operand.op, ScanSlice)


def _tiles(facts: LoopFacts, shape: tuple[int, ...], arrays: list[int]) -> RegisterTiling | str:
    """The tiles; wide ones, whose arithmetic is in flight at the same time."""
    states, size = facts.op.states, prod(shape)
    is_large = size > _MAX_ELEMENTS
    widest = max(states[k].dtype.numpy.itemsize for k in arrays)
    vector = facts.target.vector_bytes // widest
    vectors = min(_MAX_VECTORS, _STATE_REGISTERS // len(arrays))
    if is_large:
        held = facts.target.registers // (len(arrays) + _TEMPORARIES)
        vectors = min(_MAX_VECTORS_OF_LARGE, held)
    vectors = max(1, vectors)
    lanes = min(size, vector * (1 << vectors.bit_length() - 1 if is_large else vectors))
    repeated = _repeated(facts, shape)
    while is_large and repeated % lanes:  # LLVM has vectors of other lengths by single elements
        lanes //= 2
    if repeated < size:
        lanes = next(n for n in range(min(lanes, repeated), 0, -1) if repeated % n == 0)
        if lanes < _MIN_BROADCAST_LANES:
            return "no division into tiles along which nothing is broadcast"
    if lanes < size and any(map(is_expensive, facts.op.body.nodes)):
        return "functions with long code take less time in nests than in several tiles"
    if lanes.bit_count() > 1 and any(map(_is_wide, facts.op.body.nodes)):
        return "functions in float64 take less time in nests than in vectors of such a length"
    has_numbers = len(arrays) < len(states)
    if has_numbers and not is_large and -(-size // lanes) > _MAX_TILES_WITH_NUMBERS:
        return "each tile would compute its carried numbers again"
    return RegisterTiling(facts.node, lanes, shape, frozenset(arrays))


def _is_wide(node: Node) -> bool:
    """Whether it is a function in float64, which LLVM divides into single elements."""
    return isinstance(node.op, Elementwise) and FUNCTIONS[node.op.function].cost.is_wide


def _repeated(facts: LoopFacts, shape: tuple[int, ...]) -> int:
    """The greatest number of elements that divides the period of every array."""
    nodes = facts.op.body.nodes
    read = {each for node in nodes for each in (node, *node.operands) if not each.is_single}
    items = {node.operands[0] for node in nodes if isinstance(node.op, ScanSlice)}
    return gcd(*(period(node, shape) for node in read - items))
