"""Masked iterations: a loop that keeps all states behind, or before, a number of iterations.

    for i in range(n):                          for i in range(m): s = f(s, x[i]); y[i] = g(s)
        s = f(s, x[i]) if i < m else s     =
        y[i] = g(s)                             for i in range(m, n): y[i] = g(s)

Programs mask sequences of different lengths so, by an If or by a Where. Each of both loops has its
side of what the mask chooses. That of the iterations which keep the states carries nothing; what no
iteration changes in it is repeated without a loop. Declines where a run counts what its loops do,
and where extents of a state change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from treadle.jit.kernel.dce import may_fail
from treadle.jit.kernel.ir import (
    Axis,
    Branch,
    CarriedArg,
    Concat,
    DimOf,
    Elementwise,
    InductionVar,
    Kernel,
    Loop,
    Node,
    Number,
    Result,
    ScanSlice,
    Shape,
    Stack,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, loop_with, write_loop
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes, is_inside
from treadle.jit.kernel.views import axis_slice, same
from treadle.jit.schedule.algebra.counter_comparisons import Less, comparisons
from treadle.jit.schedule.algebra.loop_bounds import ends, least_bound

_MIN_ITERATIONS, _MAX_NODES = 8, 256


@fixpoint_pass
def with_split_masks(kernel: Kernel) -> Rules | None:
    """The kernel with such loops in two; itself if it has none."""
    if kernel.counts_loops or kernel.is_recorded:
        return None
    nodes = all_nodes(kernel.main)
    measured = {node.operands[0] for node in nodes if isinstance(node.op, DimOf) and node.operands}
    read = {(n.operands[0], n.op.number) for n in nodes if isinstance(n.op, Result)}
    for node in nodes:
        if isinstance(node.op, Loop) and node not in measured:
            choices = _choices(node.op, measured) if _is_plain(node.op) else {}
            found = next(_masks(node.op, choices), None)
            if found is not None:
                stacks = [k for k in range(len(node.op.stacks)) if (node, _part(node, k)) in read]
                return _Writer(node, *found, stacks).rules
    return None


def _is_plain(op: Loop) -> bool:
    """Whether a loop has a known number of iterations, and its values have known extents."""
    is_known = op.is_counted and op.extent is not None and op.length in (None, op.extent)
    if not is_known or not op.states or (op.length is None and not op.has_trip):
        return False
    if isinstance(op.extent, int) and op.extent < _MIN_ITERATIONS:
        return False
    inside = all_nodes(op.body)
    if len(inside) > _MAX_NODES or any(isinstance(node.op, DimOf) for node in op.body.nodes):
        return False
    slices = (node for node in op.body.nodes if isinstance(node.op, ScanSlice))
    are_as_long = all(each.operands[0].shape[op_of(each, ScanSlice).axis] == op.extent
                      for each in slices)  # fmt: skip
    extents = (extent for stack in op.stacks for extent in stack.element.shape)
    return are_as_long and not any(is_inside(extent, op.body) for extent in extents)


_Mask = tuple[Less, ...]
_Choices = Mapping[Node, tuple[_Mask, bool]]
"""Choices of a body: the mask that decides, and whether it takes the first side where it holds."""


def _part(loop: Node, stack: int) -> int:
    """The number of the result that a stack of a loop is."""
    return len(op_of(loop, Loop).states) + stack


def _choices(op: Loop, measured: set[Node]) -> _Choices:
    """What masks decide on in a body, at any depth."""
    found = {}
    for node in all_nodes(op.body):
        is_choice = node.op == Elementwise("where") or isinstance(node.op, Branch)
        if is_choice and node.operands[0].is_single and node not in measured:
            mask = _mask(node.operands[0], op)
            if mask is not None:
                found[node] = mask
    return found


def _mask(condition: Node, op: Loop) -> tuple[_Mask, bool] | None:
    """The comparisons that hold up to some iteration, and whether the condition is that they do."""
    for holds in (True, False):
        limits = comparisons(condition, op, {}, holds=holds)
        if limits and all(map(ends, limits)):
            return tuple(limits), holds
    return None


def _masks(op: Loop, choices: _Choices) -> Iterator[tuple[_Mask, Mapping[Node, bool], bool]]:
    """A mask, what it decides, and the value of the mask with which all states are kept."""
    for mask in dict.fromkeys(mask for mask, _ in choices.values()):
        decided = {node: holds for node, (other, holds) in choices.items() if other == mask}
        for truth in (False, True):
            pairs = zip(op.states, op.nexts, strict=True)
            if all(_taken(after, decided, truth) is state for state, after in pairs):
                yield mask, decided, truth


def _taken(node: Node, decided: Mapping[Node, bool], truth: bool) -> Node:
    """What a value is where the mask is true, or false."""
    while True:
        if node in decided:
            node = node.operands[1 if decided[node] == truth else 2]
        elif isinstance(node.op, Result) and node.operands[0] in decided:
            branch = op_of(node.operands[0], Branch)
            is_first = decided[node.operands[0]] == truth
            node = (branch.then_results if is_first else branch.otherwise_results)[node.op.number]
        else:
            return node


@dataclass(eq=False, slots=True)
class _Writer:
    """The rules that write both loops, now that of `extent` iterations from `first` on.

    There the mask is `truth`; where it is `keeping`, the states are kept. `stacks` are the numbers
    of those that are read, `results` the states so far, and `joined` the rows of both loops.
    """

    node: Node
    mask: _Mask
    decided: Mapping[Node, bool]
    keeping: bool
    stacks: Sequence[int]
    first: Number = 0
    extent: Number = 0
    truth: bool | None = None
    results: list[Node] = field(default_factory=list)
    joined: dict[int, Node] = field(default_factory=dict)

    @property
    def rules(self) -> Rules:
        """The rules by operation."""
        return {
            Loop: self.loop, Result: self.result, Elementwise: self.choice, Branch: self.branch,
            CarriedArg: self.state, InductionVar: self.counter, ScanSlice: self.item,
        }  # fmt: skip

    def loop(self, rebuild: Rebuild, node: Node) -> Node:
        """Both loops in place of the one; others are copied."""
        op, builder = op_of(node, Loop), rebuild.builder
        if node is not self.node:
            return write_loop(rebuild, node, op)
        self.results = list(rebuild.operands(node)[op.heads :])
        whole = rebuild.number(op.extent)
        count = least_bound(rebuild, whole, self.mask)
        rest = builder.minus(whole, count)
        halves = [self._half(rebuild, *each) for each in ((True, 0, count), (False, count, rest))]
        self.truth = None
        for number in self.stacks:
            stack = op.stacks[number]
            rows = [each[number] for each in halves if number in each]
            joined = rows[0]
            if len(rows) > 1:
                shape = _with_axis(stack.element.shape, stack, whole, rebuild)
                rows = rows[::-1] if stack.reverse else rows
                joined = builder.add(Concat(stack.axis), joined.dtype, shape, *rows)
            self.joined[_part(node, number)] = joined
        return builder.dim(whole)

    def _half(
        self, rebuild: Rebuild, truth: bool, first: Number, extent: Number
    ) -> dict[int, Node]:
        """Write one of the loops; the rows that it stacks, by the number of the stack."""
        if extent == 0:
            return {}
        op, builder, keeps = op_of(self.node, Loop), rebuild.builder, truth == self.keeping
        self.truth, self.first, self.extent = truth, first, extent
        outer = dict(rebuild.dims)
        body = rebuild.write_inside(op.body)
        elements = {number: rebuild.nodes[op.stacks[number].element] for number in self.stacks}
        own = [number for number, element in elements.items() if element.home is body]
        rows = {
            number: _repeated(rebuild, element, op.stacks[number], extent)
            for number, element in elements.items() if number not in own
        }  # fmt: skip
        if keeps and not own and not any(map(_is_needed, all_nodes(body))):
            rebuild.dims = outer
            return rows
        made = loop_with(rebuild, op, body, *(((), ()) if keeps else ()))
        made = replace(
            made, stacks=tuple(made.stacks[number] for number in own), extent=extent,
            length=None if op.length is None else extent,
        )  # fmt: skip
        rebuild.dims = outer  # those of the body are others in the other loop
        given = [builder.dim(extent)] if op.has_trip else []
        loop = builder.add(made, self.node.dtype, (), *given, *(() if keeps else self.results))
        for k, state in enumerate(made.states):
            self.results[k] = builder.add(Result(k), state.dtype, state.shape, loop)
        for k, number in enumerate(own, start=len(made.states)):
            element = elements[number]
            shape = _with_axis(element.shape, op.stacks[number], extent)
            rows[number] = builder.add(Result(k), element.dtype, shape, loop)
        return rows

    def result(self, rebuild: Rebuild, node: Node) -> Node:
        """A result of both loops, or of the side that a mask takes; others are copied."""
        (source,), number = node.operands, op_of(node, Result).number
        if source is self.node:
            return self.joined[number] if number in self.joined else self.results[number]
        if source not in self.decided:
            return copied(rebuild, node)
        taken = rebuild.nodes[self._side(source)[number]]
        return rebuild.builder.reshape(taken, rebuild.shape(node))

    def branch(self, rebuild: Rebuild, node: Node) -> Node:
        """The side that the mask takes, in place of a branch; others are copied."""
        if node not in self.decided:
            return copied(rebuild, node)
        op = op_of(node, Branch)
        rebuild.write(op.then if self._takes_first(node) else op.otherwise)
        return rebuild.nodes[node.operands[0]]

    def choice(self, rebuild: Rebuild, node: Node) -> Node:
        """What the mask chooses; other functions are copied."""
        if node not in self.decided:
            return copied(rebuild, node)
        taken = node.operands[1 if self._takes_first(node) else 2]
        return rebuild.builder.expand(rebuild.nodes[taken], rebuild.shape(node))

    def state(self, rebuild: Rebuild, node: Node) -> Node:
        """A carried value; where the states are kept, it is what the other loop leaves."""
        if self.truth != self.keeping or not self._is_own(node):
            return copied(rebuild, node)
        return self.results[op_of(node, CarriedArg).number]

    def counter(self, rebuild: Rebuild, node: Node) -> Node:
        """The iteration number, which goes on in the second loop."""
        made = copied(rebuild, node)
        if not self._is_own(node) or self.first == 0:
            return made
        return rebuild.builder.map("add", made, rebuild.builder.dim(self.first))

    def item(self, rebuild: Rebuild, node: Node) -> Node:
        """An item, out of the rows of its loop."""
        if not self._is_own(node):
            return copied(rebuild, node)
        op, builder, (data,) = op_of(node, ScanSlice), rebuild.builder, rebuild.operands(node)
        start = self.first
        if op.reverse:
            start = builder.minus(builder.minus(data.shape[op.axis], start), self.extent)
        rows = axis_slice(builder, data, op.axis, start, 1, self.extent)
        return builder.item(rows, op.axis, reverse=op.reverse)

    def _is_own(self, node: Node) -> bool:
        return self.truth is not None and node.home is op_of(self.node, Loop).body

    def _takes_first(self, node: Node) -> bool:
        return self.decided[node] == self.truth

    def _side(self, branch: Node) -> Sequence[Node]:
        op = op_of(branch, Branch)
        return op.then_results if self._takes_first(branch) else op.otherwise_results


def _is_needed(node: Node) -> bool:
    """Whether a node runs though nothing reads it: it may fail, and is no loop that surely ends."""
    if isinstance(node.op, Loop) and node.op.is_counted and node.op.extent is not None:
        return node.op.length not in (None, node.op.extent)
    return may_fail(node)


def _with_axis(
    shape: Shape, stack: Stack, extent: Number, rebuild: Rebuild | None = None
) -> tuple[Number, ...]:
    """The shape of `extent` stacked elements; `rebuild` has the extents of the new kernel."""
    known = [extent if rebuild is None else rebuild.number(extent) for extent in shape]
    return (*known[: stack.axis], extent, *known[stack.axis :])


def _repeated(rebuild: Rebuild, element: Node, stack: Stack, extent: Number) -> Node:
    """The rows of a stack whose elements are all the same."""
    axes = [
        Axis() if each == 1 else same(k + (k >= stack.axis)) for k, each in enumerate(element.shape)
    ]
    return rebuild.builder.view(element, _with_axis(element.shape, stack, extent), axes)
