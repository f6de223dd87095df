"""Finds loops whose body is several steps one after the other, each the first one again.

    loop: t = f(s, x[i, 0]);  s = f(t, x[i, 1])  stacks concat(g(s), g(t))

Nodes of the first step are matched with those of each later one: the same operation of operands
that match. What the first step reads of a carried value, a later one reads of what the step before
it makes of it; the matches of these say what that is. A counter, an item or a slice that moves on
by one step matches too. Nothing is guessed but which node the first step makes of a carried value
that no stacked output depends on, and that is proved by the match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.dce import may_fail
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    CarriedArg,
    Concat,
    DimOf,
    InductionVar,
    Loop,
    Node,
    ScanSlice,
    View,
    op_of,
)
from treadle.jit.kernel.traversal import reads_of, with_inside
from treadle.jit.kernel.view_bounds import axis_bounds
from treadle.jit.schedule.algebra.counters import Counter, counter_of
from treadle.jit.schedule.algebra.likeness import is_alike, returned, sources, unread

_MOST_STEPS, _MOST_CANDIDATES = 16, 64


@dataclass(frozen=True, eq=False, slots=True)
class Steps:
    """A loop whose iteration is `count` steps, and what the first of them consists of.

    `afters` are the carried values after it, `elements` its part of each stacked output, `nodes`
    all of it in order, its `counters` and the views of its `items` among them. Slices of `items`
    have the items of all steps along their axis, those of `strided` are of every `count`th item.
    """

    loop: Node
    count: int
    afters: tuple[Node, ...]
    elements: tuple[Node, ...]
    nodes: tuple[Node, ...]
    counters: dict[Node, Counter]
    items: frozenset[Node]
    strided: frozenset[Node]


def steps_of(loop: Node) -> Steps | None:
    """The steps of a loop; None if its body is one step, or if they are not alike."""
    op = op_of(loop, Loop)
    if not (op.states and op.is_counted and op.extent is not None):
        return None
    for count in _counts(op):
        match = _Match(op, count, [{} for _ in range(count)], [{} for _ in range(count)])
        if match.succeeds() and match.is_in_order():
            return match.steps(loop)
    return None


def _counts(op: Loop) -> Sequence[int]:
    """How many steps there may be: as many as each stacked output has parts, or items of a slice.

    A loop without either may count by them; else two are looked for.
    """
    parts = {len(each.element.operands) for each in op.stacks if _is_joined(each.element)}
    if op.stacks:
        return sorted(parts) if len(parts) == 1 and max(parts) <= _MOST_STEPS else []
    items = (node for node in op.body.nodes if isinstance(node.op, ScanSlice) and node.shape)
    found = {extent for node in items if isinstance(extent := node.shape[0], int)}
    found |= {abs(each.step) for node in op.body.nodes if (each := counter_of(node, op, {}))}
    return sorted(each for each in found | {2} if 2 <= each <= _MOST_STEPS)


def _is_joined(element: Node) -> bool:
    return isinstance(element.op, Concat) and len(element.operands) > 1


@dataclass(eq=False, slots=True)
class _Match:
    """The nodes of each later step by those of the first, `images[step]`; blocks likewise.

    `views` are reads of carried values that are compared when it is known what these become.
    """

    op: Loop
    count: int
    images: list[dict[Node, Node]]
    blocks: list[dict[Block, Block]]
    views: list[tuple[int, Node, Node]] = field(default_factory=list)

    def succeeds(self) -> bool:
        """Match all that the loop makes; whether it does."""
        roots = self._roots()
        if roots is None or not all(self._matches(*root) for root in roots) or not self._settle():
            return False
        for number, state in enumerate(self.op.states):
            if state not in self.images[1] and not self._guess(number):
                return False
        failing = (node for node in self._nodes() if any(map(may_fail, with_inside(node))))
        is_whole = all(node in images for node in failing for images in self.images[1:])
        return is_whole and all(self._views_alike(*each) for each in self.views)

    def _roots(self) -> list[tuple[int, Node, Node]] | None:
        """Pairs of what is stacked, and of what may fail and is read by nothing; None if odd."""
        groups = list[Sequence[Node]]()
        for stack in self.op.stacks:
            element, parts = stack.element, stack.element.operands
            if not isinstance(element.op, Concat) or element.op.axis != stack.axis:
                return None
            if len(parts) != self.count or len({part.shape for part in parts}) > 1:
                return None
            groups.append(parts[::-1] if stack.reverse else parts)
        failing = unread(self.op.body, (*self.op.nexts, *(each.element for each in self.op.stacks)))
        if len(failing) % self.count:
            return None
        each = len(failing) // self.count
        groups += [failing[k::each] for k in range(each)]
        return [(step, group[0], group[step]) for group in groups for step in range(1, self.count)]

    def _settle(self) -> bool:
        """Match what is made of each carried value in turn, until nothing new is known."""
        known = -1
        while known != (known := sum(map(len, self.images))):
            for number, state in enumerate(self.op.states):
                after = self.images[1].get(state)
                for step in range(1, self.count) if after is not None else ():
                    assert after is not None
                    following = self._following(step, number)
                    if following is None and after in self.images[step]:
                        self.images[step + 1][state] = self.images[step][after]
                    elif following is not None and not self._matches(step, after, following):
                        return False
        return True

    def _following(self, step: int, number: int) -> Node | None:
        """A carried value after a step, as far as it is known."""
        is_last = step == self.count - 1
        return (
            self.op.nexts[number] if is_last else self.images[step + 1].get(self.op.states[number])
        )

    def _guess(self, number: int) -> bool:
        """Find what the first step makes of a carried value: a node like the next value."""
        if self.op.states[number] in self.images[1]:
            return True
        after = self.op.nexts[number]
        alike = (
            node for node in self.op.body.nodes if node.op == after.op or (
                isinstance(node.op, type(after.op)) and isinstance(node.op, View))
        )  # fmt: skip
        found = [n for n in alike if (n.dtype, n.shape) == (after.dtype, after.shape)]
        for node in found[:_MOST_CANDIDATES]:
            images, blocks = [dict(e) for e in self.images], [dict(e) for e in self.blocks]
            views = len(self.views)
            self.images[1][self.op.states[number]] = node
            if node is not after and self._settle():
                return True
            self.images, self.blocks = images, blocks
            del self.views[views:]
        return False

    def _matches(self, step: int, first: Node, later: Node) -> bool:
        """Whether a node of the first step is that one of a later step; their operands too."""
        left = [(first, later)]
        while left:
            pair = left.pop()
            known = self._known(step, pair[0])
            if known is None:
                self.images[step][pair[0]] = pair[1]
                operands = self._operands(step, *pair)
                if operands is None:
                    return False
                left += operands
            elif known is not pair[1]:
                return False
        return True

    def _known(self, step: int, node: Node) -> Node | None:
        is_outside = node.home.depth < self.op.body.depth
        return node if is_outside else self.images[step].get(node)

    def _operands(self, step: int, one: Node, other: Node) -> list[tuple[Node, Node]] | None:
        """What must match for a pair to match; None if it does not."""
        if (one.dtype, len(one.shape)) != (other.dtype, len(other.shape)):
            return None
        if _is_carried(one, self.op.body) or self._moves_on(step, one, other):
            return []
        is_alike_placed = self._is_placed_alike(step, one, other)
        if not is_alike_placed or len(one.operands) != len(other.operands):
            return None
        if isinstance(one.op, View) and one.op != other.op and self._is_of_state(one):
            self.views.append((step, one, other))
            return []
        inner, numbers = self._blocks(step, one, other), sources(one, other)
        if inner is None or numbers is None or not is_alike(one, other):
            return None
        return [*inner, *numbers, *zip(one.operands, other.operands, strict=True)]

    def _is_of_state(self, view: Node) -> bool:
        return _is_carried(view.operands[0], self.op.body)

    def _is_placed_alike(self, step: int, one: Node, other: Node) -> bool:
        """Whether both are of one kind, in blocks that match; neither is given by the iteration."""
        body = self.op.body
        place = body if one.home is body else self.blocks[step].get(one.home)
        is_given = isinstance(one.op, ScanSlice | InductionVar | DimOf) and not (
            isinstance(one.op, DimOf) and one.operands
        )
        is_there = other.home is place and type(one.op) is type(other.op)
        return is_there and not (is_given and place is body)

    def _blocks(self, step: int, one: Node, other: Node) -> list[tuple[Node, Node]] | None:
        """What blocks of loops and branches return, in pairs; None if it is not as much."""
        mine, theirs = returned(one), returned(other)
        if [len(nodes) for _, nodes in mine] != [len(nodes) for _, nodes in theirs]:
            return None
        for (block, _), (image, _) in zip(mine, theirs, strict=True):
            self.blocks[step][block] = image
        return [
            pair for (_, nodes), (_, images) in zip(mine, theirs, strict=True)
            for pair in zip(nodes, images, strict=True)
        ]  # fmt: skip

    def _moves_on(self, step: int, one: Node, other: Node) -> bool:
        """Whether a node of a later step is the first one's, moved on by the steps between."""
        if self._block_of_items(one, 0) and self._block_of_items(other, step):
            axes = [_shifted(node, self._first(node, at)) for node, at in ((one, 0), (other, step))]
            is_same = one.operands == other.operands and one.shape == other.shape
            return is_same and axes[0] == axes[1]
        if isinstance(one.op, ScanSlice) and one.home is self.op.body:
            return one.op == other.op and self._is_strided(one, other, step)
        counts = counter_of(one, self.op, {}), counter_of(other, self.op, {})
        if counts[0] is None or not counts[0].step or counts[0].step % self.count:
            return False
        ahead = counts[0].step // self.count * step
        return one.shape == other.shape and counts[1] == counts[0].plus(Counter(offset=ahead), 1)

    def _first(self, view: Node, step: int) -> int:
        """Where the items of a step begin in the slice that a view reads."""
        op = op_of(view.operands[0], ScanSlice)
        extent = view.operands[0].shape[op.axis]
        assert isinstance(extent, int)
        return (self.count - 1 - step if op.reverse else step) * extent // self.count

    def _block_of_items(self, view: Node, step: int) -> bool:
        """Whether a node reads the items of a step only, of a slice with those of all steps."""
        if not isinstance(view.op, View) or view.operands[0].home is not self.op.body:
            return False
        (row,) = view.operands
        if not isinstance(row.op, ScanSlice) or row.op.axis >= len(row.shape):
            return False
        extent = row.shape[row.op.axis]
        bounds = axis_bounds(view.op.axes[row.op.axis], view.shape)
        if not isinstance(extent, int) or extent % self.count or bounds is None:
            return False
        first = self._first(view, step)
        return first <= bounds[0] and bounds[1] < first + extent // self.count

    def _is_strided(self, one: Node, other: Node, step: int) -> bool:
        """Whether slices take items of one tensor at the same stride, `step` items apart."""
        (mine,), (theirs,) = one.operands, other.operands
        if not (isinstance(mine.op, View) and isinstance(theirs.op, View)):
            return False
        stride = stride_of(one)
        ahead = step * stride // self.count * (-1 if op_of(one, ScanSlice).reverse else 1)
        moved = tuple(
            Axis(at.offset + ahead, at.terms) if _runs(at, one) and isinstance(at.offset, int)
            else at for at in mine.op.axes
        )  # fmt: skip
        is_stepped = stride > 0 and stride % self.count == 0 and mine.shape == theirs.shape
        return is_stepped and mine.operands == theirs.operands and moved == theirs.op.axes

    def _views_alike(self, step: int, one: Node, other: Node) -> bool:
        """Whether a view is the first step's of a carried value, seen through what makes that."""
        whole = self.images[step].get(one.operands[0])
        if whole is None:
            return False
        seen = KernelBuilder.start().view(whole, one.shape, op_of(one, View).axes)
        parts = (seen.op, seen.operands, seen.shape)
        return seen is other or parts == (other.op, other.operands, other.shape)

    def is_in_order(self) -> bool:
        """Whether a later step needs the first: two chains side by side are no steps."""
        read = reads_of(each for node in self._nodes() for each in with_inside(node))
        return any(
            state in read and not _is_carried(self.images[1][state], self.op.body)
            for state in self.op.states
        )

    def _nodes(self) -> list[Node]:
        """The nodes of the first step: also of what only some of the later ones need."""
        needed = {*self.op.states, *(node for images in self.images for node in images)}
        return [node for node in self.op.body.nodes if node in needed]

    def steps(self, loop: Node) -> Steps:
        """The steps that were found."""
        made = self._nodes()
        views = {n.operands[0] for n in made if self._block_of_items(n, 0)}
        return Steps(
            loop, self.count, tuple(self.images[1][state] for state in self.op.states),
            tuple(each.element.operands[-1 if each.reverse else 0] for each in self.op.stacks),
            tuple(made),
            {n: c for n in made if (c := counter_of(n, self.op, {})) is not None and c.step},
            frozenset(views), frozenset(n for n in made if isinstance(n.op, ScanSlice)),
        )  # fmt: skip


def stride_of(row: Node) -> int:
    """The stride at which a slice's source takes the items of its tensor from a known one on.

    0: it has none.
    """
    (source,) = row.operands
    running = [at for at in source.op.axes if _runs(at, row)] if isinstance(source.op, View) else []
    if len(running) != 1 or len(running[0].terms) != 1 or not isinstance(running[0].offset, int):
        return 0
    return running[0].terms[0][1]


def _runs(at: Axis, row: Node) -> bool:
    """Whether a source's view moves along this axis from item to item."""
    return any(number == op_of(row, ScanSlice).axis for number, _ in at.terms)


def _shifted(view: Node, first: int) -> tuple[Axis, ...]:
    """The axes of a view of items, counted from the first one of its step."""
    along = op_of(view.operands[0], ScanSlice).axis
    axes = op_of(view, View).axes
    offset = axes[along].offset
    assert isinstance(offset, int)
    moved = Axis(offset - first, axes[along].terms)
    return (*axes[:along], moved, *axes[along + 1 :])


def _is_carried(node: Node, body: Block) -> bool:
    return isinstance(node.op, CarriedArg) and node.home is body
