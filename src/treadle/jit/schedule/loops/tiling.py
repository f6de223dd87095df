"""Loop tiling: an elementwise body runs all iterations for one tile before the next tile.

    for part in parts of the elements:            as many as fit into the L1 cache
        for i in range(trips):
            the body, for the elements of the part

Lawful where each element depends on elements at its own index only; worth it where the data do not
fit into the cache anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from treadle.jit.kernel.costs import L1_BYTES
from treadle.jit.kernel.ir import (
    CarriedArg,
    Elementwise,
    InductionVar,
    Node,
    ScanSlice,
    Shape,
    static_shape,
)
from treadle.jit.kernel.traversal import word_of
from treadle.jit.schedule.loops.facts import LoopFacts
from treadle.jit.schedule.storage import Storage

_MIN_ELEMENTS = 64
_EMITTED = InductionVar | CarriedArg | ScanSlice | Elementwise


@dataclass(frozen=True, slots=True)
class Tiling:
    """The tiles: `count` of the `extent` items of `axis`, of `inner` elements each."""

    axis: int
    extent: int
    count: int
    inner: int

    @property
    def parts(self) -> int:
        """The number of tiles."""
        return self.extent // self.count

    def __str__(self) -> str:
        return f"tiles of {self.count} of {self.extent} along axis {self.axis}"


def tiling_of(facts: LoopFacts) -> Tiling | str:
    """The tiles of a loop, or why it has none."""
    op = facts.op
    shapes = {state.shape for state in op.states if not facts.is_in_registers(state)}
    if len(shapes) != 1 or not all(state.is_static for state in op.states):
        return "its arrays have no common static shape"
    if op.stacks or op.next_condition is not None:
        return "it stacks, or has a condition"
    if op.has_condition and facts.kernel.limits_iterations:
        return "iterations are limited"
    state = next(state for state in op.states if not facts.is_in_registers(state))
    return _obstacle(facts, state.shape) or _tiles(facts, static_shape(state))


def _obstacle(facts: LoopFacts, shape: Shape) -> str:
    """What keeps the loop from being tiled; "" if nothing does."""
    for node in facts.op.body.nodes:
        is_large = not facts.is_in_registers(node)
        if not isinstance(node.op, _EMITTED):
            if is_large or not all(map(facts.is_in_registers, node.operands)):
                return f"{word_of(node)} is not elementwise"
        elif is_large and node.shape != shape:
            return f"{word_of(node)} has another shape"
        elif any(_is_elsewhere(facts, operand, shape) for operand in node.operands):
            return f"{word_of(node)} reads elements at other indices"
    pairs = enumerate(zip(facts.op.states, facts.op.nexts, strict=True))
    found = (_obstacle_of_carried(facts, number, *pair) for number, pair in pairs)
    return next(filter(None, found), "")


def _is_elsewhere(facts: LoopFacts, operand: Node, shape: Shape) -> bool:
    is_inside = operand.home is facts.op.body and not facts.is_in_registers(operand)
    return is_inside and operand.shape != shape


def _obstacle_of_carried(facts: LoopFacts, number: int, state: Node, after: Node) -> str:
    if facts.is_in_registers(state):
        return "" if facts.is_in_registers(after) else f"carried {number} is made of arrays"
    if not facts.dependence.is_parallel(number):
        return f"carried {number} is read at other indices"
    is_computed = facts.storage.storage_of[after] is Storage.NEST and after.home is state.home
    return "" if after is state or is_computed else f"carried {number} is not computed in a nest"


def _tiles(facts: LoopFacts, shape: tuple[int, ...]) -> Tiling | str:
    axis = next(k for k, extent in enumerate(shape) if extent > 1)
    extent, inner = shape[axis], prod(shape[axis + 1 :])
    most = max(L1_BYTES * extent // _bytes(facts), -(-_MIN_ELEMENTS // inner))
    count = next(n for n in range(min(most, extent), 0, -1) if extent % n == 0)
    if count == extent:
        return "its data fit into the cache"
    if count * inner < _MIN_ELEMENTS:
        return "no division into tiles of 64 elements"
    return Tiling(axis, extent, count, inner)


def _bytes(facts: LoopFacts) -> int:
    """The number of bytes that an iteration accesses."""
    op = facts.op
    read = {o for node in op.body.nodes for o in node.operands if o.home is not op.body}
    large = [n for n in (*op.states, *read) if n.is_static and not facts.is_in_registers(n)]
    return sum(node.size * node.dtype.numpy.itemsize for node in large)
