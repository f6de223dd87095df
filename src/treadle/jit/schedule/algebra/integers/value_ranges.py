"""Ranges of whole numbers: the least and the greatest number that an element of a node can be.

Interval analysis. Inputs may be any number of their type; comparisons, casts from narrow types,
masks, remainders and positions have narrower bounds. A carried value's bounds are assumed, and
widened until no iteration leaves them.

Floats have a range where they are whole numbers that the type has exactly, and 0 is never -0, as in
sums of truths that were cast: the same functions of whole numbers give the same numbers then.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    Concat,
    Constant,
    Elementwise,
    Gather,
    InductionVar,
    Input,
    Iota,
    Loop,
    Node,
    Number,
    Reduce,
    Reshape,
    Result,
    ScanSlice,
    Scatter,
    Take,
    View,
    op_of,
)
from treadle.jit.kernel.traversal import inner_blocks
from treadle.jit.schedule.algebra.integers.bounds import Range, bounds_of, is_within
from treadle.jit.schedule.algebra.integers.packed_keys import POSITION_BITS, position_of_extreme
from treadle.jit.schedule.algebra.integers.steady_growth import SteadyGrowth, steady_growth

Ranges = Mapping[Node, Range]
"""Those of nodes of whole numbers."""
_MAX_CONSTANT = 2**16
"""The most elements of a constant that are looked at."""
_MAX_VISITS = 4000
"""The most nodes that are looked at, of loops in loops many times."""
_MOST_FACTORS = 64
"""The most iterations of a loop whose products are bounded."""
_WHOLE: Mapping[DType, int] = {DType.FLOAT32: 1 << 24, DType.FLOAT64: 1 << 53}
"""The number up to which a type of floats has all whole numbers."""
_OF_FLOATS = frozenset(("abs", "add", "cast", "max", "min", "mul", "sub", "where"))
"""Functions that give whole floats of whole floats."""
_MOST_ELEMENTS, _MOST_ITERATIONS = 2**47, 2**62
"""More elements than an array has, and more iterations than a loop runs."""
_UNIONS, _ROUNDS = 2, 8
"""How often bounds grow by what an iteration adds, and how often in all."""


class _TooLong(Exception):
    """The kernel has too many nodes."""


def ranges_of(
    block: Block, assumed: Ranges | None = None, most_iterations: int = _MOST_ITERATIONS
) -> Ranges | None:
    """The range of each node of whole numbers in a block; None if there are too many nodes.

    `assumed` has the ranges of inputs; a loop of open extent runs `most_iterations` at most.
    """
    found = _Analysis(assumed or {}, most_iterations)
    try:
        found.write(block)
    except _TooLong:
        return None
    return found.known


def _limits(dtype: DType) -> Range | None:
    """The numbers of a type; of a type of floats the whole ones that it surely has exactly."""
    most = _WHOLE.get(dtype)
    return bounds_of(dtype) if most is None else (-most, most)


def _union(*ranges: Range) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _ends(function: Callable[[int, int], int], one: Range, other: Range) -> Range:
    """The range of a function that is monotonic in each operand."""
    found = [function(x, y) for x in one for y in other]
    return min(found), max(found)


def _bits(one: Range, other: Range) -> Range:
    """Of `or` and `xor`: as many bits as the longer operand has."""
    count = max((~end if end < 0 else end).bit_length() for end in (*one, *other))
    return (0 if min(one[0], other[0]) >= 0 else -(1 << count)), (1 << count) - 1


def _and(one: Range, other: Range) -> Range:
    """At most the least operand that is never negative."""
    highest = [high for low, high in (one, other) if low >= 0]
    return (0, min(highest)) if highest else _bits(one, other)


def _mod(number: Range, divisor: Range) -> Range | None:
    """The remainder with the sign of a divisor that is positive."""
    if divisor[0] <= 0:
        return None
    return number if number[0] >= 0 and number[1] < divisor[0] else (0, divisor[1] - 1)


def _div(number: Range, divisor: Range) -> Range | None:
    """The quotient by a positive divisor, rounded toward zero."""
    if divisor[0] <= 0:
        return None
    return _ends(lambda x, y: x // y if x >= 0 else -(-x // y), number, divisor)


def _abs(number: Range) -> Range:
    least = 0 if number[0] <= 0 <= number[1] else min(map(abs, number))
    return least, max(map(abs, number))


FUNCTIONS: Mapping[str, Callable[..., Range | None]] = {
    "add": lambda one, other: (one[0] + other[0], one[1] + other[1]),
    "sub": lambda one, other: (one[0] - other[1], one[1] - other[0]),
    "mul": lambda one, other: _ends(operator.mul, one, other),
    "min": lambda one, other: (min(one[0], other[0]), min(one[1], other[1])),
    "max": lambda one, other: (max(one[0], other[0]), max(one[1], other[1])),
    "neg": lambda number: (-number[1], -number[0]),
    "abs": _abs, "and": _and, "or": _bits, "xor": _bits, "mod": _mod, "div": _div,
    "cast": lambda number: number,
    "where": lambda _, one, other: _union(one, other),
}  # fmt: skip
"""The range of a function's results, from those of its operands; before numbers wrap around."""


@dataclass(eq=False, slots=True)
class _Analysis:
    """The ranges so far; `_assumed` are those of carried values, `_ends` of results."""

    inputs: Ranges
    most_iterations: int
    known: dict[Node, Range] = field(default_factory=dict)
    _assumed: dict[Node, Range] = field(default_factory=dict)
    _ends: dict[tuple[Node, int], Range | None] = field(default_factory=dict)
    _loops: dict[Block, Node] = field(default_factory=dict)
    _visits: int = 0

    def write(self, block: Block) -> None:
        """Find the ranges of a block's nodes; raises _TooLong."""
        self._visits += len(block.nodes)
        if self._visits > _MAX_VISITS:
            raise _TooLong
        for node in block.nodes:
            if isinstance(node.op, Loop):
                self._write_loop(node, node.op)
                continue
            for inner in inner_blocks(node):
                self.write(inner)
            bounds = _limits(node.dtype)
            found = None if bounds is None else self._found(node)
            if bounds is not None and found and is_within(found, bounds):
                self.known[node] = found
            elif bounds is None or node.dtype in _WHOLE:
                self.known.pop(node, None)
            else:
                self.known[node] = bounds

    def _found(self, node: Node) -> Range | None:
        """The range of a node, if its operands have one and it is known how it follows."""
        match node.op:
            case Constant(array=array):
                is_read = 0 < array.size <= _MAX_CONSTANT
                is_whole = is_read and (node.dtype not in _WHOLE or _are_whole(array))
                return (int(array.min()), int(array.max())) if is_whole else None
            case Input():
                return self.inputs.get(node)
            case CarriedArg():
                return self._assumed.get(node)
            case Result(number=number):
                return self._ends.get((node.operands[0], number))
            case Iota():
                return self._below(node.shape[0], _MOST_ELEMENTS)
            case InductionVar():
                return self._positions(self._loops[node.home])
            case Elementwise("and") if (behind := position_of_extreme(node)) in self.known:
                found = self.known[behind]
                return found if is_within(found, (0, 2**POSITION_BITS - 1)) else None
        operands = [self.known[each] for each in node.operands if each in self.known]
        return _of_operands(node, operands) if len(operands) == len(node.operands) else None

    def _positions(self, node: Node) -> Range:
        """The range of iteration numbers: below the trip count of a loop that may end early."""
        loop = op_of(node, Loop)
        extent = loop.extent if loop.length is None else loop.length
        if extent is not None:
            return self._below(extent, self.most_iterations)
        if not loop.has_trip:
            return self._below(extent, _MOST_ITERATIONS)
        trips = self.known.get(node.operands[0])
        known = _MOST_ITERATIONS if trips is None else max(trips[1] - 1, 0)
        is_assumed = self.most_iterations < _MOST_ITERATIONS
        return 0, min(known, self.most_iterations - 1) if is_assumed else known

    def _below(self, extent: Number | None, most: int) -> Range:
        """The range of positions below an extent, which is not more than `most`."""
        if isinstance(extent, int):
            return 0, max(extent - 1, 0)
        source = None if extent is None else extent.source
        known = self.known.get(source, (0, most)) if source is not None else (0, most)
        return 0, max(min(known[1], most) - 1, 0)

    def _write_loop(self, node: Node, op: Loop) -> None:
        """Find bounds of the carried values that hold before and after every iteration."""
        self._loops[op.body] = node
        first = dict(zip(op.states, node.operands[op.heads :], strict=True))
        initial = {s: self.known[first[s]] for s in op.states if first[s] in self.known}
        bounded = dict(_geometric(op, initial))
        found = self._bounds(op, initial, bounded, self._positions(node)[1] + 1)
        if found is None:
            found = self._bounds(op, initial, bounded, None)
        assert found is not None
        stacked = enumerate((stack.element for stack in op.stacks), len(op.states))
        values = {number: self.known.get(element) for number, element in stacked}
        values |= {number: found.get(state) for number, state in enumerate(op.states)}
        self._ends |= {(node, number): each for number, each in values.items()}

    def _bounds(
        self, op: Loop, initial: Ranges, bounded: Ranges, trips: int | None
    ) -> Ranges | None:
        """The bounds of the carried values; `bounded` are known to stay within theirs.

        `trips`: some may grow by a step in each of that many iterations; None if they do not.
        """
        steady: SteadyGrowth | None = None
        found = {**initial, **bounded}
        after = self._after(op, found)
        for turn in range(_ROUNDS):
            grown = [
                state
                for state in found
                if state not in bounded and not is_within(after[state], found[state])
            ]
            if not grown:
                break
            if turn == _UNIONS and trips is not None:
                steady = steady_growth(op, found, after, trips)
            wider = {s: _wider(s.dtype, found[s], after[s], turn) for s in grown}
            if steady is not None and turn == _UNIONS:
                bounded = {**bounded, **steady.ends}
            found = {**found, **wider, **bounded}
            after = self._after(op, found)
        else:
            found = {**bounded}
            self._after(op, found)
        found = self._tightened(op, found, initial, bounded, after)
        return found if steady is None or self._holds(op, steady, found) else None

    def _tightened(
        self,
        op: Loop,
        found: dict[Node, Range],
        initial: Ranges,
        bounded: Ranges,
        after: Ranges,
    ) -> dict[Node, Range]:
        """The bounds that one more iteration leads to, if no iteration leaves those either."""
        exact = {state: _union(initial[state], after[state]) for state in found} | {**bounded}
        if exact == found:
            return found
        after = self._after(op, exact)
        if all(is_within(after[state], exact[state]) for state in exact if state not in bounded):
            return exact
        self._after(op, found)
        return found

    def _holds(self, op: Loop, steady: SteadyGrowth, found: Ranges) -> bool:
        """Whether values grow by a step at most, and none that grows with them wraps around."""
        wraps = any(self.known.get(node) == bounds_of(node.dtype) for node in steady.nodes)
        first = self._after(op, {**found, **steady.first})
        self._after(op, {**found})
        return not wraps and steady.holds(first)

    def _after(self, op: Loop, assumed: dict[Node, Range]) -> Mapping[Node, Range]:
        """The ranges of the next carried values, if the carried values have these.

        Floats that do not stay whole are taken out of `assumed`.
        """
        for state in op.states:
            self._assumed.pop(state, None)
        self._assumed.update(assumed)
        self.write(op.body)
        pairs = [pair for pair in zip(op.states, op.nexts, strict=True) if pair[0] in assumed]
        if lost := [state for state, after in pairs if after not in self.known]:
            for state in lost:
                del assumed[state]
            return self._after(op, assumed)
        return {state: self.known[after] for state, after in pairs}


def _geometric(op: Loop, initial: Mapping[Node, Range]) -> Iterator[tuple[Node, Range]]:
    """The bounds of carried values that a loop of few iterations multiplies by a number."""
    if not isinstance(op.extent, int) or op.extent > _MOST_FACTORS:
        return
    for state, after in zip(op.states, op.nexts, strict=True):
        factor, limits = _factor(state, after), bounds_of(state.dtype)
        if factor is not None and limits is not None and state in initial:
            most = _ends(operator.mul, initial[state], (1, factor**op.extent))
            if is_within(most, limits):
                yield state, most


def _factor(state: Node, after: Node) -> int | None:
    """The positive constant by which a value is the product of a carried one."""
    if after.op != Elementwise("mul") or state not in after.operands:
        return None
    (other,) = [each for each in after.operands if each is not state] or [state]
    if not isinstance(other.op, Constant) or not other.is_single:
        return None
    factor = int(other.op.array.item())
    return factor if factor > 0 else None


def _of_operands(node: Node, operands: Sequence[Range]) -> Range | None:
    """The range of a node that follows from those of its operands."""
    if node.dtype in _WHOLE and not _are_whole_of(node, operands):
        return None
    match node.op:
        case Elementwise(function=function) if function in FUNCTIONS:
            return FUNCTIONS[function](*operands)
        case View() | Reshape() | ScanSlice() | Take() | Gather():
            return operands[0]
        case Reduce(function="max" | "min"):
            return operands[0] if _reduces_some(node) else None  # that of none is a limit
        case Concat():
            return _union(*operands)
        case Scatter(function=""):
            return _union(*operands[:2])
        case Reduce(function="add", axes=axes):
            return _summed(operands[0], [node.operands[0].shape[axis] for axis in axes])
    return None


def _are_whole(array: np.ndarray) -> bool:
    """Whether floats are whole numbers, and none is -0, which is no other number than 0."""
    is_negative_zero = (array == 0) & np.signbit(array)
    return bool(np.all(np.isfinite(array) & (np.trunc(array) == array) & ~is_negative_zero))


def _are_whole_of(node: Node, operands: Sequence[Range]) -> bool:
    """Whether a node of whole floats is one: a product with 0 may be -0, a maximum of none -inf."""
    match node.op:
        case Elementwise(function="mul"):
            one, other = operands
            return not any(a[0] <= 0 <= a[1] and b[0] < 0 for a, b in ((one, other), (other, one)))
        case Elementwise(function=function):
            return function in _OF_FLOATS
        case Reduce():
            return _reduces_some(node)
    return True


def _reduces_some(node: Node) -> bool:
    """Whether a reduction is surely of one element at least."""
    extents = [node.operands[0].shape[axis] for axis in op_of(node, Reduce).axes]
    return all(isinstance(extent, int) and extent for extent in extents)


def _wider(dtype: DType, old: Range, new: Range, turn: int) -> Range:
    """Both ranges; in later turns a bound that moved goes as far as 32 bits, and then all, go."""
    if turn < _UNIONS:
        return _union(old, new)
    is_last = turn >= _ROUNDS // 2 or dtype in _WHOLE
    limits = _limits(dtype if is_last else DType.INT32)
    assert limits is not None
    moved = limits[0] if new[0] < old[0] else old[0], limits[1] if new[1] > old[1] else old[1]
    return _union(moved, new)


def _summed(each: Range, extents: Sequence[object]) -> Range | None:
    if not all(isinstance(extent, int) for extent in extents):
        return None
    count = prod(extent for extent in extents if isinstance(extent, int))
    return each[0] * count, each[1] * count
