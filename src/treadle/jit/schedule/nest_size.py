"""How much code one loop nest holds: functions fused into it, and reductions written out in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treadle.ir import DType
from treadle.jit.kernel.ir import Elementwise, Node
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.schedule.short_reductions import written_out_terms

MAX_FUSED = 256
"""The number of functions in one loop nest, weighted. LLVM does not vectorize 1,024."""
_MAX_CACHED = 64
"""The same in a long block, where all elements stay in the processor's cache. LLVM takes longer
than in proportion to a nest's size, and compiles nests that are alike once.
"""
MIN_LONG = 512
"""The functions in a block or kernel, weighted, from which it is long."""
_MAX_UNROLLED = 8
"""The number of iterations of a loop below which LLVM may unroll it."""
_EXPENSIVE_WEIGHT = 8
_MAX_EXPENSIVE_CHAIN = 2
"""Expensive functions of each other in one loop nest. A longer chain exceeds the processor's
out-of-order window: a `tanh` takes 0.36 ns in chains of two, 0.55 in chains of four, 0.78 in chains
of eight. For interleaved elements (0.31) the limit does not apply.
"""
_CACHED_ELEMENTS = 16_384
"""The number of elements above which the limit does not apply either: fusion saves memory traffic.
"""
INTERLEAVED_ELEMENTS = 4
"""The number of vectors computed independently, if there are enough elements."""
_INTERLEAVED_LANES = 16 * INTERLEAVED_ELEMENTS
_MIN_INTERLEAVED = 128
"""The elements of a row from which they are interleaved, if a multiple of the lanes."""
_MIN_INTERLEAVED_UNEVEN = 1024
"""The same for other lengths."""


def may_unroll(trips: object, *, has_long_loops: bool) -> bool:
    """Whether LLVM may unroll a loop: one of few iterations, around none of many.

    Unrolling others would take LLVM long, and gains nothing once they are vectorized.
    """
    return isinstance(trips, int) and trips < _MAX_UNROLLED and not has_long_loops


@dataclass(frozen=True, slots=True)
class Inlined:
    """A node that its readers compute.

    `times`: how often for one element of the nest; `weight` and `row`: the code, and the expensive
    functions of each other, from it to the nest.
    """

    times: int = 1
    weight: int = 0
    row: int = 0


def inlined(node: Node, readers: Sequence[Node], fused: Mapping[Node, Inlined]) -> Inlined:
    """What computing a node in its readers takes; `fused` are those of them that are inlined."""
    own = set(readers)
    found = [fused.get(reader, Inlined()) for reader in own]
    terms = [max(written_out_terms(reader), 1) for reader in own]
    times = sum(each.times * count for each, count in zip(found, terms, strict=True))
    weight = max(each.weight for each in found) + times * emission_weight(node)
    return Inlined(times, weight, max(each.row for each in found) + is_expensive(node))


def is_too_much(node: Node, readers: Sequence[Node], fused: Mapping[Node, Inlined]) -> bool:
    """Whether its code is too long for a nest, or is long work for several long reductions."""
    found = fused[node]
    if found.weight > MAX_FUSED or has_long_latency(node, found.row):
        return True
    many = len(set(readers))
    return many > 1 and found.times == many


def most_fused(node: Node, *, is_long: bool) -> int:
    """The weighted number of functions in a nest of the node's shape; fewer in a long block."""
    is_cached = node.is_static and node.size <= _CACHED_ELEMENTS
    return _MAX_CACHED if is_long and is_cached else MAX_FUSED


def is_expensive(node: Node) -> bool:
    """Whether it is a function with long code."""
    return isinstance(node.op, Elementwise) and FUNCTIONS[node.op.function].is_expensive


def cost_of_following(join: Node, readers: Mapping[Node, Sequence[Node]]) -> float:
    """What the functions with long code behind a Concat take that may be in one nest with it.

    Of its block and shape, in nanoseconds for an element in a nest of its own.
    """
    waiting, seen, found = [join], {join}, 0.0
    while waiting:
        for each in readers.get(waiting.pop(), ()):
            is_alike = each.shape == join.shape and each.home is join.home
            if isinstance(each.op, Elementwise) and is_alike and each not in seen:
                found += FUNCTIONS[each.op.function].cost.alone if is_expensive(each) else 0.0
                seen.add(each)
                waiting.append(each)
    return found


def has_long_latency(node: Node, row: int) -> bool:
    """Whether a chain of this many expensive functions is too long for it."""
    if row <= _MAX_EXPENSIVE_CHAIN or not node.is_static or node.size > _CACHED_ELEMENTS:
        return False
    return _is_called(node) or not interleaves(node.shape[-1])


def _is_called(node: Node) -> bool:
    """Whether it is an expensive function of the C library, called for one element at a time."""
    if not isinstance(node.op, Elementwise) or node.dtype is not DType.FLOAT64:
        return False
    function = FUNCTIONS[node.op.function]
    return function.is_expensive and not function.has_float64_code


def interleaves(length: object) -> bool:
    """Whether rows are so long that the remainder of interleaving hardly matters."""
    if not isinstance(length, int):
        return False
    is_even = length % _INTERLEAVED_LANES == 0
    return length >= (_MIN_INTERLEAVED if is_even else _MIN_INTERLEAVED_UNEVEN)


def emission_weight(node: Node) -> int:
    """The number of functions a node counts for, by the length of its code."""
    return _EXPENSIVE_WEIGHT if is_expensive(node) else max(written_out_terms(node), 1)
