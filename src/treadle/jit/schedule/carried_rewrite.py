"""Rewrites the loops of a kernel with their carried values in other forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.element_types import is_exact_in
from treadle.jit.kernel.ir import (
    Axis,
    CarriedArg,
    Concat,
    DimOf,
    Elementwise,
    InductionVar,
    Loop,
    Node,
    Number,
    Result,
    Scatter,
    Shape,
    Stack,
    SymbolicDim,
    View,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, Rule, copied, loop_with
from treadle.jit.kernel.views import axis_slice
from treadle.jit.schedule.algebra.counters import Counter, written_counter


@dataclass(frozen=True, slots=True)
class Collected:
    """Rows along an axis that a carried value collects: `after`, its next value, has one more.

    `grows`: they are put behind the initial value, or with `reverse` in front of it; others take
    the place of all of its rows.
    """

    after: Node
    row: Node
    axis: int
    reverse: bool = False
    grows: bool = False


@dataclass(frozen=True, slots=True)
class CarriedForm:
    """How a value is carried: as values of these shapes, or as none.

    It is then the initial value, a `counter`, the `same` as another carried value of its loop, or a
    stacked output, as its rows are only `collected`.

    Along `axis` they are its parts. None: the only one has the same elements, and each of its axes
    is one of `kept`, or of extent 1 (None); its elements may be of another type, `dtype`, a wider
    one or a narrower one, also where it `begins_wider`: the body reads it as that type, a loop of
    no iterations returns it.
    """

    shapes: tuple[Shape, ...]
    axis: int | None = None
    kept: tuple[int | None, ...] = ()
    counter: Counter | None = None
    same: Node | None = None
    collected: Collected | None = None
    dtype: DType | None = None
    begins_wider: bool = False


CarriedForms = Mapping[Node, CarriedForm]
"""The forms of carried arguments whose form changes."""


@dataclass(frozen=True, eq=False, slots=True)
class _Written:
    """A rewritten loop: its last values in other forms, and the new numbers of its values.

    `initials` are those of the old loop, in the new kernel.
    """

    op: Loop
    initials: Sequence[Node]
    numbers: Sequence[int]
    lasts: dict[int, Node] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class CarriedRewrite:
    """Rules that rewrite loops with carried values in other forms.

    `unread` are the numbers of stacked outputs to drop, by the loop. `around` are the enclosing
    loops, `written` the finished ones, by the old node. `wide` are the elements of new nodes in the
    wider type in which a carried value has them.
    """

    forms: CarriedForms
    unread: Mapping[Node, frozenset[int]] = field(default_factory=dict)
    around: list[_Written] = field(default_factory=list)
    written: dict[Node, _Written] = field(default_factory=dict)
    wide: dict[Node, Node] = field(default_factory=dict)

    @property
    def rules(self) -> Mapping[type, Rule]:
        """The rules by operation."""
        return {
            CarriedArg: self._state, Loop: self._loop, Result: self._result, DimOf: self._extent,
            InductionVar: _number_again, Concat: self._collector, Scatter: self._collector,
            Elementwise: self._cast_again, View: self._moved,
        }  # fmt: skip

    def _loop(self, rebuild: Rebuild, node: Node) -> Node:
        """Rewrite a loop, with each value carried in its form."""
        op, builder = op_of(node, Loop), rebuild.builder
        heads, given = op.heads, rebuild.operands(node)
        dropped = self.unread.get(node, frozenset())
        made = _Written(op, given[heads:], self._numbers(op, dropped))
        self.around.append(made)
        body = rebuild.write_inside(op.body)
        self.around.pop()
        initials = self._apart(builder, op, made.initials)
        with builder.inside(body):
            nexts = self._apart(builder, op, [rebuild.nodes[after] for after in op.nexts])
            rows = self._rows(rebuild, op)
        states = [each for each in body.nodes if isinstance(each.op, CarriedArg)]
        states.sort(key=_number)
        stacks = tuple(each for k, each in enumerate(op.stacks) if k not in dropped)
        plain = replace(op, stacks=stacks)
        whole = loop_with(rebuild, plain, body, states, nexts)
        whole = replace(whole, stacks=(*whole.stacks, *rows.values()))
        loop = builder.add(whole, node.dtype, (), *given[:heads], *initials)
        for number, state in enumerate(op.states):
            if state in self.forms:
                first, form = made.numbers[number], self.forms[state]
                parts = [_last(builder, loop, states[first + k]) for k in range(len(form.shapes))]
                initial = made.initials[number]
                if form.counter is not None and op.extent is not None:
                    trips = builder.dim(rebuild.number(op.extent))
                    initial = _count(rebuild, form.counter, state, trips)
                if form.same is not None:
                    other = op.states.index(form.same)
                    own = made.lasts.get(other)
                    initial = own or _last(builder, loop, states[made.numbers[other]])
                if form.collected is not None:
                    place = len(states) + len(stacks) + list(rows).index(state)
                    initial = _filled(builder, loop, place, initial, form.collected)
                last = _whole(builder, parts, form, state, initial)
                if form.begins_wider and op.extent is not None:
                    runs = builder.compare("greater", rebuild.number(op.extent), 0)
                    last = builder.map("where", runs, last, initial)
                made.lasts[number] = last
        self.written[node], rebuild.numbers[node] = made, made.numbers
        return loop

    def _numbers(self, op: Loop, dropped: frozenset[int]) -> list[int]:
        """The new number of each carried value's first part, and of each stack."""
        numbers, following = [], 0
        for state in op.states:
            numbers.append(following)
            following += len(self.forms[state].shapes) if state in self.forms else 1
        for stack in range(len(op.stacks)):
            numbers.append(following)
            following += stack not in dropped
        return numbers

    def _apart(self, builder: KernelBuilder, op: Loop, values: Sequence[Node]) -> list[Node]:
        """The values for each carried value of a loop, in their new forms."""
        found = []
        for state, value in zip(op.states, values, strict=True):
            form = self.forms.get(state)
            if form is not None:
                value = self._cast(builder, value, form.dtype or value.dtype)
            found += [value] if form is None else _parts(builder, value, form)
        return found

    def _rows(self, rebuild: Rebuild, op: Loop) -> dict[Node, Stack]:
        """The stacked outputs in place of carried values that only collect them."""
        found = dict[Node, Stack]()
        for state in op.states:
            form = self.forms.get(state)
            if form is not None and form.collected is not None:
                row, axis = rebuild.nodes[form.collected.row], form.collected.axis
                rest = (*row.shape[:axis], *row.shape[axis + 1 :])
                element = rebuild.builder.reshape(row, rest)
                found[state] = Stack(element, axis, form.collected.reverse)
        return found

    def _collector(self, rebuild: Rebuild, node: Node) -> Node:
        """A node that puts a row into a carried value; only the loop reads it."""
        found = (form.collected for form in self.forms.values() if form.collected is not None)
        row = next((each.row for each in found if each.after is node), None)
        return self._moved(rebuild, node) if row is None else rebuild.nodes[row]

    def _moved(self, rebuild: Rebuild, node: Node) -> Node:
        """A node that moves elements, also in the wider type that they are carried in."""
        made, builder = copied(rebuild, node), rebuild.builder
        operands = [rebuild.nodes[each] for each in node.operands]
        wide = next((self.wide[each] for each in operands if each in self.wide), None)
        is_sum = isinstance(made.op, Scatter) and made.op.function  # it rounds what it adds
        if wide is not None and made not in self.wide and not is_sum:
            moved = [
                self._cast(builder, each, wide.dtype) if each.dtype is made.dtype else each
                for each in operands
            ]
            self.wide[made] = builder.add(made.op, wide.dtype, made.shape, *moved)
        return made

    def _cast_again(self, rebuild: Rebuild, node: Node) -> Node:
        """A function; a cast out of or into the type that a value is carried in is none."""
        if node.op != Elementwise("cast"):
            return copied(rebuild, node)
        return self._cast(rebuild.builder, rebuild.nodes[node.operands[0]], node.dtype)

    def _cast(self, builder: KernelBuilder, value: Node, dtype: DType) -> Node:
        wide = self.wide.get(value, value)
        return wide if wide.dtype is dtype else builder.cast(value, dtype)

    def _state(self, rebuild: Rebuild, node: Node) -> Node:
        """The replacement of a carried argument: its old form, assembled from its parts."""
        number, made = _number(node), self.around[-1]
        form = self.forms.get(node) or _as_it_is(node)
        if form.counter is not None:
            return _count(rebuild, form.counter, node, iteration_number(rebuild.builder))
        if form.same is not None:
            return rebuild.nodes[form.same]
        first = made.numbers[number]
        parts = [
            rebuild.builder.param(
                CarriedArg(first + k), form.dtype or node.dtype, tuple(map(rebuild.number, shape))
            )
            for k, shape in enumerate(form.shapes)
        ]
        whole = _whole(rebuild.builder, parts, form, node, made.initials[number])
        if form.dtype is not None and is_exact_in(node.dtype, form.dtype):
            self.wide[whole] = parts[0]
        return whole

    def _result(self, rebuild: Rebuild, node: Node) -> Node:
        """A result of a loop, of a branch or of a call."""
        return self._last(node, op_of(node, Result).number) or copied(rebuild, node)

    def _extent(self, rebuild: Rebuild, node: Node) -> Node:
        """An extent of a carried value or of a result."""
        op, builder = op_of(node, DimOf), rebuild.builder
        if not node.operands:
            made = self.around[-1]
            form = self.forms.get(made.op.states[op.number])
            if form is not None and form.same is not None:
                return builder.dim(rebuild.nodes[form.same].shape[op.axis])
            if form is not None and form.collected is not None and form.collected.axis == op.axis:
                first = builder.dim(made.initials[op.number].shape[op.axis])
                return builder.map("add", first, iteration_number(builder))
            if form is not None and not form.shapes:
                return builder.dim(made.initials[op.number].shape[op.axis])
            axis = op.axis if form is None or not form.kept else form.kept.index(op.axis)
            return builder.param(DimOf(made.numbers[op.number], axis), DType.INT64, ())
        last = self._last(node, op.number)
        return copied(rebuild, node) if last is None else builder.dim(last.shape[op.axis])

    def _last(self, node: Node, number: int) -> Node | None:
        """The last value, in its old form, whose result or extent a node is."""
        found = self.written.get(node.operands[0])
        return None if found is None else found.lasts.get(number)


def iteration_number(builder: KernelBuilder) -> Node:
    """The iteration number of the loop whose body is written."""
    nodes = builder.block.nodes
    found = next((each for each in nodes if isinstance(each.op, InductionVar)), None)
    return builder.reshape(found or builder.param(InductionVar(), DType.INT64, ()), ())


def _number_again(rebuild: Rebuild, node: Node) -> Node:
    return rebuild.builder.reshape(iteration_number(rebuild.builder), node.shape)


def _count(rebuild: Rebuild, counter: Counter, state: Node, iteration: Node) -> Node:
    """A carried value that only counts, at an iteration; its base is of the old kernel."""
    base = None if counter.base is None else rebuild.nodes[counter.base]
    made = replace(counter, base=base)
    return written_counter(rebuild.builder, made, iteration, state.dtype, state.shape)


def _number(state: Node) -> int:
    return op_of(state, CarriedArg).number


def _as_it_is(state: Node) -> CarriedForm:
    return CarriedForm((state.shape,), kept=tuple(range(len(state.shape))))


def _last(builder: KernelBuilder, loop: Node, state: Node) -> Node:
    """The last value of a carried argument, with extents of its own where they change."""
    number = _number(state)

    def extent(axis: int, own: Number) -> Number:
        source = own.source if isinstance(own, SymbolicDim) else None
        if source is None or source.home is not state.home:
            return own
        name = own.name if isinstance(own, SymbolicDim) else ""
        return builder.dim_of(builder.add(DimOf(number, axis), DType.INT64, (), loop), name)

    shape = tuple(extent(axis, own) for axis, own in enumerate(state.shape))
    return builder.add(Result(number), state.dtype, shape, loop)


def _filled(
    builder: KernelBuilder, loop: Node, number: int, initial: Node, rows: Collected
) -> Node:
    """What a carried value has collected: the stacked output with this number."""
    op, axis = op_of(loop, Loop), rows.axis
    count = op.extent
    if count is None:
        count = builder.number(builder.add(DimOf(number, axis), DType.INT64, (), loop))
    shape = (*initial.shape[:axis], count, *initial.shape[axis + 1 :])
    stacked = builder.add(Result(number), initial.dtype, shape, loop)
    if not rows.grows:
        return builder.expand(stacked, initial.shape)
    if initial.shape[axis] == 0:
        return stacked
    parts = (stacked, initial) if rows.reverse else (initial, stacked)
    total = builder.plus(initial.shape[axis], count)
    whole = (*shape[:axis], total, *shape[axis + 1 :])
    return builder.add(Concat(axis), initial.dtype, whole, *parts)


def _parts(builder: KernelBuilder, value: Node, form: CarriedForm) -> list[Node]:
    """A value in the form."""
    if not form.shapes:
        return []
    if form.axis is None:
        narrow = [1 if axis is None else value.shape[axis] for axis in form.kept]
        part_of = {axis: number for number, axis in enumerate(form.kept) if axis is not None}
        axes = [
            Axis(0, ((part_of[axis], 1),)) if axis in part_of else Axis()
            for axis in range(len(value.shape))
        ]
        return [builder.view(value, narrow, axes)]
    parts, first = list[Node](), 0
    for shape in form.shapes:
        extent = shape[form.axis]
        assert isinstance(extent, int)
        parts.append(axis_slice(builder, value, form.axis, first, 1, extent))
        first += extent
    return parts


def _whole(
    builder: KernelBuilder, parts: Sequence[Node], form: CarriedForm, state: Node, initial: Node
) -> Node:
    """The value in its old form, assembled from these parts."""
    if not parts:
        return initial
    if form.axis is None:
        whole: list[Number] = [1] * len(state.shape)
        for axis, extent in zip(form.kept, parts[0].shape, strict=True):
            if axis is not None:
                whole[axis] = extent
        axes = [Axis() if axis is None else Axis(0, ((axis, 1),)) for axis in form.kept]
        return builder.view(builder.cast(parts[0], state.dtype), whole, axes)
    return builder.add(Concat(form.axis), state.dtype, state.shape, *parts)
