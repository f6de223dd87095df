"""Loop fusion: a loop that slices what the loop before it stacks runs in the same iterations.

    for i: h = f(h, x[i]); y[i] = h              for i: h = f(h, x[i])
    for i: k = g(k, y[i]); z[i] = k       =             k = g(k, h); z[i] = k

Lawful where the second loop depends on the first through items of its stacked outputs only, each
in the iteration that makes it. The stacked output is not stored if nothing else reads it, and both
recurrences wait for their last iterations at the same time. Loops with large matrices stay apart:
one loop's matrices stay in the cache, and products of sliced items are computed for many iterations
at once. They share the threads instead (pipelines.py). A loop that carries nothing and has no large
matrix joins a loop that has one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from treadle.jit.kernel.costs import L1_BYTES, LARGE_MATRIX
from treadle.jit.kernel.ir import (
    Block,
    Branch,
    CarriedArg,
    DimOf,
    HostCall,
    Kernel,
    Loop,
    MatMul,
    Node,
    Result,
    ScanSlice,
    Stack,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, write_loop
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import (
    all_nodes,
    reads_of,
    stack_of,
    with_inside,
)

_MAX_NODES = 128


def _fit_one_at_a_time(sizes: Sequence[int]) -> bool:
    """Whether the L1 cache holds the carried bytes of each loop, but not those of both.

    Three recurrences with two states of 2,048 floats each take 1.2 times as long in one loop; with
    states of 4,096, which fit in neither form, 0.8 times.
    """
    return max(sizes) <= L1_BYTES < sum(sizes)


@fixpoint_pass
def with_fused_loops(kernel: Kernel) -> Rules | None:
    """The kernel with such loops as one; itself if it has none, or counts what its loops do."""
    if kernel.counts_loops:
        return None
    pair = next(_pairs(kernel), None)
    if pair is None:
        return None
    writer = _FusedLoop(*pair)
    return {Loop: writer.loop, Result: writer.result, CarriedArg: writer.carried,
            ScanSlice: writer.item}  # fmt: skip


def _pairs(kernel: Kernel) -> Iterator[tuple[Node, Node]]:
    for first in all_nodes(kernel.main):
        second = consumer_of(first)
        if second is not None and not obstacle(first, second):
            yield first, second


def consumer_of(first: Node) -> Node | None:
    """The next loop of a loop's block, if it slices a stacked output in the order it is made."""
    if not isinstance(first.op, Loop) or not first.op.stacks:
        return None
    after = first.home.nodes[first.home.nodes.index(first) + 1 :]
    for second in after:
        if isinstance(second.op, Loop):
            items = (item_of(node, first) for node in second.op.body.nodes)
            return second if any(item is not None for item in items) else None
    return None


def obstacle(first: Node, second: Node) -> str:
    """What keeps a loop and its consumer from being one; "" if nothing does."""
    one, other = op_of(first, Loop), op_of(second, Loop)
    if not counts_are_equal(first, second):
        return "their numbers of iterations are not known to be equal"
    inside = [*one.body.nodes, *other.body.nodes]
    if len(inside) > _MAX_NODES:
        return "their bodies are long"
    if any(isinstance(node.op, Loop | Branch | HostCall) for node in inside):
        return "a body has blocks of its own, or calls Python"
    if _has_large_matrix(other) or (_has_large_matrix(one) and other.states):
        return "a body multiplies by a large matrix"
    if not all(state.is_static for state in (*one.states, *other.states)):
        return "the sizes of carried arrays are not known"
    if _fit_one_at_a_time((_carried_bytes(one), _carried_bytes(other))):
        return "their carried arrays fit into the cache one loop at a time only"
    return other_dependence(first, second)


def counts_are_equal(first: Node, second: Node) -> bool:
    """Whether two loops surely run the same number of iterations."""
    one, other = op_of(first, Loop), op_of(second, Loop)
    return _is_counted(one) and _is_counted(other) and one.extent == other.extent


def _carried_bytes(loop: Loop) -> int:
    return sum(state.size * state.dtype.numpy.itemsize for state in loop.states)


def _is_counted(loop: Loop) -> bool:
    return loop.is_counted and loop.extent is not None and loop.length in (None, loop.extent)


def _has_large_matrix(loop: Loop) -> bool:
    products = (node for node in loop.body.nodes if isinstance(node.op, MatMul))
    return not all(_is_small(node.operands[1]) for node in products)


def _is_small(matrix: Node) -> bool:
    return matrix.is_static and matrix.size < LARGE_MATRIX


def item_of(node: Node, first: Node) -> Stack | None:
    """The stack of the first loop whose element of the same iteration a node is."""
    if not isinstance(node.op, ScanSlice) or node.op.reverse or not node.operands:
        return None
    (source,) = node.operands
    stack = stack_of(source) if source.operands[:1] == (first,) else None
    is_same = stack is not None and stack.axis == node.op.axis and not stack.reverse
    return stack if is_same else None


def other_dependence(first: Node, second: Node, together: Collection[Node] = ()) -> str:
    """How else the second loop, or a node between them, depends on the first; "" if it does not.

    `together` are loops between them that depend on the first through items only.
    """
    block = first.home.nodes
    late = {first}
    for node in block[block.index(first) + 1 : block.index(second)]:
        if node in together or reads_of(with_inside(node)).isdisjoint(late):
            continue
        if not isinstance(node.op, Result):
            return "a node between them reads a result of the first"
        late.add(node)
    if any(isinstance(node.op, DimOf) and first in node.operands for node in block):
        return "an extent of the first is known after it only"
    own = [node for node in op_of(second, Loop).body.nodes if item_of(node, first) is None]
    if not late.isdisjoint(reads_of([second, *own])):
        return "the second reads more of the first than items of the same iteration"
    return ""


@dataclass(frozen=True, eq=False, slots=True)
class _FusedLoop:
    """The rules that write two loops as one, at the place of the second."""

    first: Node
    second: Node
    results: list[Node] = field(default_factory=list)

    @property
    def ops(self) -> tuple[Loop, Loop]:
        """The operations of both."""
        one, other = op_of(self.first, Loop), op_of(self.second, Loop)
        return one, other

    def loop(self, rebuild: Rebuild, node: Node) -> Node:
        """Nothing in place of the first loop, both in place of the second."""
        if node is self.second:
            return self._both(rebuild)
        return node if node is self.first else write_loop(rebuild, node, op_of(node, Loop))

    def carried(self, rebuild: Rebuild, node: Node) -> Node:
        """A carried argument; those of the second loop are numbered after those of the first."""
        one, other = self.ops
        before = len(one.states) if node.home is other.body else 0
        number = op_of(node, CarriedArg).number + before
        return rebuild.builder.param(CarriedArg(number), node.dtype, rebuild.shape(node))

    def item(self, rebuild: Rebuild, node: Node) -> Node:
        """An item; of the first loop's stack, its element of this iteration."""
        stack = item_of(node, self.first) if node.home is self.ops[1].body else None
        if stack is not None:
            return rebuild.nodes[stack.element]
        return copied(rebuild, node)

    def result(self, rebuild: Rebuild, node: Node) -> Node:
        """A result; those of the first loop are written after the second."""
        if node.operands[0] is self.first and self.second not in rebuild.nodes:
            self.results.append(node)
            return node
        return copied(rebuild, node)

    def _both(self, rebuild: Rebuild) -> Node:
        one, other = self.ops
        builder = rebuild.builder
        body = Block(other.body.name, builder.block, is_loop=True)
        with builder.inside(body):
            rebuild.write(one.body)
            rebuild.write(other.body)
        stacks = tuple(
            replace(stack, element=rebuild.nodes[stack.element])
            for stack in (*one.stacks, *other.stacks)
        )
        length = one.length if one.length is not None else other.length
        states = tuple(rebuild.nodes[state] for state in (*one.states, *other.states))
        op = replace(
            other, body=body, has_trip=one.has_trip or other.has_trip, stacks=stacks, states=states,
            nexts=tuple(rebuild.nodes[after] for after in (*one.nexts, *other.nexts)),
            length=rebuild.number(length), extent=rebuild.number(other.extent),
        )  # fmt: skip
        (trip, given), (other_trip, other_given) = map(_operands, (self.first, self.second))
        operands = [*(trip or other_trip), *given, *other_given]
        both = builder.add(op, self.second.dtype, (), *(rebuild.nodes[o] for o in operands))
        rebuild.nodes[self.first] = rebuild.nodes[self.second] = both
        rebuild.numbers[self.first], rebuild.numbers[self.second] = self._numbers()
        for result in self.results:
            rebuild.nodes[result] = copied(rebuild, result)
        return both

    def _numbers(self) -> tuple[list[int], list[int]]:
        """The numbers of the results of both in their loop: all states, and then all stacks."""
        one, other = self.ops
        parts = one.states, other.states, one.stacks, other.stacks
        ends = accumulate(map(len, parts), initial=0)
        first, second, *stacks = (list(range(*pair)) for pair in pairwise(ends))
        return first + stacks[0], second + stacks[1]


def _operands(loop: Node) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """The trip count, if there is one, and the initial values."""
    assert isinstance(loop.op, Loop)
    return loop.operands[: loop.op.has_trip], loop.operands[loop.op.has_trip :]
