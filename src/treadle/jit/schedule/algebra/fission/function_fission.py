"""Loop fission: long functions of numbers leave a loop that runs in order.

    for i: e = f(e, x[i]); y[i] = exp(e)         for i: e = f(e, x[i]); t[i] = e
                                          =      for i: y[i] = exp(t[i])

Where no later iteration waits for a function, all iterations may compute it at once, in vectors.
The loop is cut where what the function needs is known: behind the carried values that it depends
on, or before all of them. What the second loop needs of the first is stacked, up to four numbers of
an iteration. Only loops whose values have at most four elements: longer rows are computed in
vectors anyway.
"""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    Concat,
    Elementwise,
    InductionVar,
    Kernel,
    Loop,
    Node,
    Reduce,
    Reshape,
    ScanSlice,
    Take,
    View,
)
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.kernel.traversal import computed_from
from treadle.jit.schedule.algebra.fission.loop_cut import (
    LoopCut,
    carried_needs,
    cut_behind,
    cut_first,
    is_in_circle,
    may_be_cut,
)
from treadle.jit.schedule.associative_step import OTHER
from treadle.jit.schedule.dependence import dependence_of

_MIN_ITERATIONS, _MAX_CROSSING, _MAX_NODES = 64, 4, 128
_MAX_ELEMENTS = 4
"""The elements of each value of an iteration: registers hold them for all lanes of a vector."""
_OF_PREFIXES = ("add", "affine")
"""The steps that the parallel prefix reorders, except in float64."""
_PLAIN = (
    CarriedArg, Concat, Elementwise, InductionVar, Reduce, Reshape, ScanSlice, Take, View,
)  # fmt: skip


@fixpoint_pass
def with_split_loops(kernel: Kernel) -> Rules | None:
    """The kernel with such loops in two; itself if it has none, or counts what its loops do."""
    return cut_first(kernel, _cut)


def _cut(node: Node, op: Loop) -> LoopCut | None:
    """Where to cut a loop; None if that gains nothing, or cannot be."""
    if not _is_of_numbers(node, op):
        return None
    long = [each for each in op.body.nodes if _is_long(each)]
    if not long or not _runs_in_order(op):
        return None
    needs = carried_needs(op)
    free = [each for each in long if not is_in_circle(each, op, needs)]
    if not free:
        return None
    states = min((needs[each] for each in free), key=len)
    functions = [each for each in free if needs[each] <= states]
    ends = [after for state, after in zip(op.states, op.nexts, strict=True) if state in states]
    late = [each for each in op.body.nodes if not needs[each] and _has_long(each, op.body)]
    first = computed_from(op.body, [*ends, *states] if states else late)
    if states and not first.isdisjoint(functions):
        return None
    made = cut_behind(op, first, lambda each: bool(needs[each]) or _has_long(each, op.body))
    return made if sum(each.size for each in made.crossing) <= _MAX_CROSSING else None


def _is_of_numbers(node: Node, op: Loop) -> bool:
    """Whether it is a counted loop of enough iterations, whose values have few elements."""
    if not op.states or not may_be_cut(node, op, iterations=_MIN_ITERATIONS, nodes=_MAX_NODES):
        return False
    return all(isinstance(each.op, _PLAIN) and _is_small(each) for each in op.body.nodes)


def _is_small(node: Node) -> bool:
    return node.is_static and node.size <= _MAX_ELEMENTS


def _is_long(node: Node) -> bool:
    """Whether a node is a function with long code."""
    if not isinstance(node.op, Elementwise):
        return False
    return FUNCTIONS[node.op.function].has_long_code(node.dtype)


def _has_long(node: Node, body: Block) -> bool:
    return any(map(_is_long, computed_from(body, [node])))


def _runs_in_order(op: Loop) -> bool:
    """Whether a carried value keeps iterations from being computed several at a time."""
    steps = dependence_of(op).steps
    return any(
        step == OTHER or (step in _OF_PREFIXES and state.dtype is DType.FLOAT64)
        for step, state in zip(steps, op.states, strict=True)
    )
