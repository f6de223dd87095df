"""Reads a loop over time: its sliced, carried and stacked values in normal form.

    Scan(h, c, x of X)      Loop(i, h, c): x = Gather(X, i)      both: rows of h', c' and of stacks

A product outside the loop is included: a sliced `X @ W` counts as X, and W as a weight of the step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treadle.ir import CarriedPort, Dim, DType, Leaf, Loop, StackedPort, Step, Value, ports
from treadle.passes.rewrites.named.recurrent.constants import Constants
from treadle.passes.rewrites.named.recurrent.normal_form import Algebra, Row, Unreadable
from treadle.passes.rewrites.named.recurrent.reading import Reader
from treadle.passes.simplify.context import PassContext, is_same
from treadle.passes.simplify.induction import AffineIndex, affine_in_iteration
from treadle.passes.simplify.operators import attribute

FLOATS = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)
_MAPS = frozenset({"MatMul", "Add", "Sub", "Identity"})
_SAME_TRUTH = frozenset({"Unsqueeze", "Squeeze", "Reshape", "Identity", "Expand"})


class Item(NamedTuple):
    """One item of an outer tensor, read by the body: `value` along an axis.

    `root` is the tensor from which `maps` outside the loop compute it; it is sliced instead.
    """

    tensor: Value
    value: Value
    axis: int
    root: Value
    maps: tuple[Leaf, ...]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """The normal form of a loop. `states`: its float carried values, in the order h, c.

    `next` are their rows, `stacks` the rows of stacked elements, or why they have none. `inputs`
    are columns of x, side by side; `lengths` is the end of each sequence. `extents`: the number of
    items, if it is constant.
    """

    loop: Loop
    dtype: DType
    items: Sequence[Item]
    states: Sequence[CarriedPort]
    next: Sequence[Row]
    stacks: Sequence[tuple[StackedPort, Row | str]]
    lengths: Value | None
    backwards: bool
    features: int
    extents: tuple[int, ...] = ()

    @property
    def hidden(self) -> int:
        """The width of h."""
        return self.next[0].width


@dataclass(slots=True)
class Surroundings:
    """The surroundings of loops: facts, and the steps that define and read values."""

    at: PassContext
    made: Mapping[Value, Step]
    read: Collection[Value]
    constants: Constants


def float_states(loop: Loop, at: PassContext) -> list[CarriedPort]:
    """The carried values that are floats."""
    return [port for port in ports(loop).carried if at.dtype(port.param) in FLOATS]


def recurrence_of(
    loop: Loop, states: Sequence[CarriedPort], around: Surroundings, *, absorbing: bool
) -> Recurrence:
    """The loop with its float states in this order; raises Unreadable, with the reason."""
    at = around.at
    _expect_a_walk(loop, at)
    made = {value: step for step in loop.body.steps for value in step.results if value is not None}
    found = list(_items(loop, made, around, absorbing=absorbing))
    if not found:
        raise Unreadable("it reads no float tensor item by item, one item an iteration")
    items, ways = [item for item, _ in found], {back for _, back in found}
    if len(ways) > 1:
        raise Unreadable("it reads some tensors forwards and others backwards")
    dtype = at.dtype(items[0].tensor)
    values = [port.param for port in states] + [item.tensor for item in items]
    if dtype is None or any(at.dtype(value) is not dtype for value in values):
        raise Unreadable("its element types differ")
    mask = _Mask(loop, made, at)
    reader = Reader(at, Algebra(dtype.numpy), around.constants, mask.goes_on)
    features = _name_sources(reader, items, states)
    for step in loop.body.steps:
        if not any(value in reader.rows for value in step.results):
            reader.read(step)
    view, (backwards,) = ports(loop), ways
    rows = [reader.row(port.next) for port in states]
    stacks = [(port, _row_or_reason(reader, port)) for port in view.stacked]
    if mask.lengths is not None and backwards:
        raise Unreadable("its sequences end early, and it goes backwards")
    extent = (at.shape(items[0].tensor) or (None,) * 9)[items[0].axis]
    extents = (extent,) if isinstance(extent, int) else ()
    return Recurrence(
        loop, dtype, items, states, rows, stacks, mask.lengths, backwards, features, extents
    )


def _row_or_reason(reader: Reader, port: StackedPort) -> Row | str:
    try:
        return reader.row(port.element)
    except Unreadable as why:
        return str(why)


def _expect_a_walk(loop: Loop, at: PassContext) -> None:
    view = ports(loop)
    if loop.condition is not None and at.truth(loop.condition) is not True:
        raise Unreadable("its condition may keep it from running")
    if view.next_condition is not None and at.truth(view.next_condition) is not True:
        raise Unreadable("its condition may end it before the last item")
    if loop.trip is None and not view.sliced:
        raise Unreadable("its trip count is unknown")
    if loop.trip is not None and view.sliced:
        raise Unreadable("its trip count may be less than the number of items")


def _items(
    loop: Loop, made: Mapping[Value, Step], around: Surroundings, *, absorbing: bool
) -> Sequence[tuple[Item, bool]]:
    """The sliced values, and whether the order is reversed."""
    at, found = around.at, []
    for port in ports(loop).sliced:
        if at.dtype(port.param) in FLOATS and port.operand is not None:
            item = _item(port.operand, port.param, port.role.axis, around, absorbing)
            found.append((item, port.role.reverse))
    inside = {*made, *loop.body.params}
    for step in loop.body.steps:
        if not isinstance(step, Leaf) or step.domain or step.op != "Gather":
            continue
        tensor, index = step.operands
        where = affine_in_iteration(loop, index, made, at)
        value = step.results[0]
        if where is None or tensor is None or tensor in inside or value is None:
            continue
        axis = attribute(step, "axis", 0)
        assert isinstance(axis, int)
        back = _covers(loop, tensor, axis, where, at)
        found.append((_item(tensor, value, axis, around, absorbing), back))
    return found


def _covers(loop: Loop, tensor: Value, axis: int, where: AffineIndex, at: PassContext) -> bool:
    """Whether every item is read once, in reverse; raises Unreadable if some may be left out."""
    shape = at.shape(tensor)
    extent = shape[axis] if shape is not None else None
    counted: Dim = at.whole(loop.trip)
    if counted is None and loop.trip is not None and loop.trip in at.facts:
        (counted,) = at.facts[loop.trip].content or (None,)
    last = extent - 1 if isinstance(extent, int) else None
    if not is_same(extent, counted) or where.first != (last if where.back else 0):
        raise Unreadable("its iterations are not certain to be as many as the items it reads")
    return where.back


def _item(tensor: Value, value: Value, axis: int, around: Surroundings, absorbing: bool) -> Item:
    rank = len(around.at.shape(tensor) or ())
    axis = axis % rank if rank else axis
    maps: list[Leaf] = []
    root: Value = tensor
    while absorbing:
        maker = around.made.get(root)
        if not isinstance(maker, Leaf) or maker.domain or maker.op not in _MAPS:
            break
        varying = [v for v in maker.operands if around.constants.array(v) is None and v is not None]
        if len(varying) != 1 or (maker.op == "MatMul" and maker.operands[0] is not varying[0]):
            break
        if around.at.shape(varying[0]) is None or axis == rank - 1:
            break
        maps.insert(0, maker)
        root = varying[0]
    if not any(step.op == "MatMul" for step in maps):
        return Item(tensor, value, axis, tensor, ())
    return Item(tensor, value, axis, root, tuple(maps))


def _name_sources(reader: Reader, items: Sequence[Item], states: Sequence[CarriedPort]) -> int:
    """Name the rows of x, h and c for the reader; returns the number of columns of x."""
    widths = [_width(reader, item.root if item.maps else item.value) for item in items]
    offset, total = 0, sum(widths)
    for item, width in zip(items, widths, strict=True):
        row = reader.algebra.source("x", width, offset, total)
        offset += width
        reader.rows[item.root if item.maps else item.value] = row
        for step in item.maps:
            reader.read(step)
        if item.maps:
            reader.rows[item.value] = reader.rows[item.tensor]
    for name, port in zip(("h", "c"), states, strict=False):
        width = _width(reader, port.param)
        reader.rows[port.param] = reader.algebra.source(name, width, 0, width)
    sequences = {reader.sequences(item.value) for item in items}
    for port in states:
        sequences |= {reader.sequences(port.param), reader.sequences(port.initial)}
    if len(sequences) > 1 or len(next(iter(sequences))) > 1:
        raise Unreadable("its inputs and states are not certain to be of the same sequences")
    return total


def _width(reader: Reader, value: Value) -> int:
    shape = reader.at.shape(value)
    if not shape or not isinstance(shape[-1], int):
        raise Unreadable(f'the last extent of "{value.name}" is not known')
    return shape[-1]


class _Mask:
    """Recognises a condition of the body that is `time < lengths`."""

    def __init__(self, loop: Loop, made: Mapping[Value, Step], at: PassContext) -> None:
        self._loop, self._made, self._at = loop, made, at
        self._inside = {*made, *loop.body.params}
        self.lengths: Value | None = None

    def goes_on(self, value: Value) -> bool | None:
        """True: the condition means that a sequence continues; False: it has ended.

        None: neither.
        """
        maker = self._made.get(value)
        if not isinstance(maker, Leaf) or maker.domain:
            return None
        if maker.op in _SAME_TRUTH and maker.operands[0] is not None:
            return self.goes_on(maker.operands[0])
        if maker.op == "Not" and maker.operands[0] is not None:
            inner = self.goes_on(maker.operands[0])
            return None if inner is None else not inner
        if maker.op not in _COMPARED:
            return None
        turned, answer = _COMPARED[maker.op]
        time, lengths = maker.operands[::-1] if turned else maker.operands
        where = affine_in_iteration(self._loop, time, self._made, self._at)
        if where != AffineIndex(0) or lengths is None or lengths in self._inside:
            return None
        if self.lengths not in (None, lengths):
            return None
        self.lengths = lengths
        return answer


_COMPARED = {
    "Less": (False, True),
    "Greater": (True, True),
    "GreaterOrEqual": (False, False),
    "LessOrEqual": (True, False),
}
"""By operator: whether the lengths come first, and whether it means that a sequence continues."""
