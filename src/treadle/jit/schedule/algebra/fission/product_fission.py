"""Loop fission for matrix products that no later iteration waits for.

    for i: s = f(s, x[i]); y[i] = s @ w        for i: s = f(s, x[i]); t[i] = s
                                          =    for i: y[i] = t[i] @ w

The left operand becomes an item of stacked rows, and `schedule/distribution.py` computes products
of items with a matrix for many iterations at once: one row at a time, a product takes as long as
its matrix takes to be read. So products of functions of items leave the loop that carries values,
a layer leaves the loop of the layer below, and what is computed of a state only to be stacked
follows its loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from treadle.jit.kernel.ir import (
    CarriedArg,
    Concat,
    Constant,
    Elementwise,
    InductionVar,
    Iota,
    Kernel,
    Loop,
    MatMul,
    Node,
    Reduce,
    Reshape,
    ScanSlice,
    Take,
    View,
)
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import computed_from
from treadle.jit.schedule.algebra.fission.loop_cut import (
    LoopCut,
    carried_needs,
    cut_behind,
    cut_first,
    is_in_circle,
    may_be_cut,
)
from treadle.jit.schedule.distribution import has_large_matrix, nodes_to_item

_MIN_ITERATIONS, _MAX_NODES, _MAX_ROWS = 16, 256, 4
_MIN_MULTIPLICATIONS, _ASSUMED_ITERATIONS = 2**20, 128
"""The multiplications of products that leave: their code takes 20 ms to compile, and saves 0.05 ns
for each of them."""
_ELEMENTS_PER_CROSSING = 8
"""The elements of the matrices for which one more element may be stacked."""
_MAX_GROWTH = 4
"""How much more may be stacked than is sliced and stacked anyway."""
_PLAIN = (CarriedArg, InductionVar, ScanSlice, Elementwise, View, Reshape, MatMul, Reduce, Concat,
          Take, Constant, Iota)  # fmt: skip
_LONG = (MatMul, Reduce)
"""Operations that the second loop does not compute again."""


@fixpoint_pass
def with_products_apart(kernel: Kernel) -> Rules | None:
    """The kernel with such loops in two; itself if it has none, or counts what its loops do."""
    return cut_first(kernel, _cut)


def _cut(node: Node, op: Loop) -> LoopCut | None:
    """Where to cut a loop; None if that gains nothing, or cannot be."""
    if not _is_plain(node, op):
        return None
    products = [each for each in op.body.nodes if _is_slow(each, op)]
    if not products:
        return None
    needs = carried_needs(op)
    free = [each for each in products if not is_in_circle(each, op, needs)]
    crossing = {each for each in op.body.nodes if needs[each] or isinstance(each.op, _LONG)}
    for states in sorted(dict.fromkeys(needs[each] for each in free), key=len):
        first, chosen = _first_products(op, states, [e for e in free if needs[e] <= states])
        made = cut_behind(op, first, crossing.union(e.operands[0] for e in chosen).__contains__)
        if _pays(op, made, chosen):
            return made
    return None


def _is_plain(node: Node, op: Loop) -> bool:
    """Whether it is a counted loop of plain steps with known shapes, and enough iterations."""
    if not may_be_cut(node, op, iterations=_MIN_ITERATIONS, nodes=_MAX_NODES):
        return False
    return all(isinstance(each.op, _PLAIN) and each.is_static for each in op.body.nodes)


def _is_slow(node: Node, op: Loop) -> bool:
    """Whether it is a product of few rows, which are no items, with a large matrix."""
    if not isinstance(node.op, MatMul) or not has_large_matrix(node, op):
        return False
    rows = node.shape[0]
    return isinstance(rows, int) and rows <= _MAX_ROWS and not nodes_to_item(node.operands[0], op)


def _first_products(
    op: Loop, states: Collection[Node], free: Sequence[Node]
) -> tuple[set[Node], list[Node]]:
    """The nodes of the first loop, and the products behind it.

    These are all of the products whose left operands need none of the others.
    """
    ends = [after for state, after in zip(op.states, op.nexts, strict=True) if state in states]
    carried = computed_from(op.body, [*ends, *states])
    before = {
        each: computed_from(op.body, [each.operands[0]]) | carried
        for each in free
        if each not in carried
    }
    chosen = [each for each in before if before[each].isdisjoint(before)]
    return carried.union(*(before[each] for each in chosen)), chosen


def _pays(op: Loop, cut: LoopCut, products: Sequence[Node]) -> bool:
    """Whether what the products gain is more than stacking and reading takes."""
    if not products or not cut.crossing or len(cut.first) == len(op.body.nodes):
        return False
    stacked = _elements(cut.crossing)
    matrices = _elements({each.operands[1] for each in products})
    count = op.extent if isinstance(op.extent, int) else _ASSUMED_ITERATIONS
    if sum(each.operands[1].size for each in products) * count < _MIN_MULTIPLICATIONS:
        return False
    items = [each for each in op.body.nodes if isinstance(each.op, ScanSlice)]
    known = _elements(items) + _elements([stack.element for stack in op.stacks])
    return stacked * _ELEMENTS_PER_CROSSING <= matrices and stacked <= _MAX_GROWTH * known


def _elements(nodes: Iterable[Node]) -> int:
    return sum(each.size for each in nodes)
