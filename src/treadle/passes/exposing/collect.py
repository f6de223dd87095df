"""Collects values that are not computed in every iteration, or vary in shape: flat, in order.

A slot is a value that is passed through every block from the main graph to the block that appends
to it:

    values     the sequence of computed values
    lengths    int64[n], for sequences: the number of elements of each
    at         int64[n, depth], the iteration numbers of each, outermost first
    buffer     with a capacity: [capacity + 1, *shape] instead of a sequence; the last row
               is overwritten by values beyond the capacity
    count      with a capacity: the number of values, those beyond it too
    minimum, maximum, sum, elements, nans, infinite    statistics in place of values
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treadle.ir import Carried, DType, Invariant, Iteration, Optional, Tensor, Type, Value
from treadle.ir import Sequence as SequenceType
from treadle.passes.exposing.running import initial_statistic, statistics_of, updated
from treadle.passes.exposing.targets import Form, Target
from treadle.passes.exposing.writer import Writer


class Slot(NamedTuple):
    """A slot: its kind, and the output or block that it belongs to."""

    kind: str
    owner: str


State = dict[Slot, Value]
"""The current value of each slot at a position in a block."""


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of a target by kind."""

    by_kind: dict[str, Slot]

    @classmethod
    def of(cls, target: Target) -> Slots:
        """The slots of a target.

        Targets of one block share the slots of their iteration numbers.
        """
        if target.form is Form.TENSOR:
            return cls({})
        if target.form is Form.STATISTICS:
            return cls({kind: Slot(kind, target.output) for kind in statistics_of(_dtype(target))})
        shared = target.output if isinstance(target.type, Optional) else target.path
        if target.form is Form.PADDED:
            kinds = {"buffer": target.output, "padded_at": shared, "count": shared}
        else:
            kinds = {"values": target.output, "at": shared}
            if isinstance(_present(target.type), SequenceType):
                kinds["lengths"] = target.output
        return cls({kind: Slot(kind, owner) for kind, owner in kinds.items()})


def _present(type_: Type | None) -> Type | None:
    return type_.element if isinstance(type_, Optional) else type_


def element_type(type_: Type | None) -> Tensor:
    """The tensor type of a target's elements."""
    while not isinstance(type_, Tensor):
        assert isinstance(type_, SequenceType | Optional), "other types are refused"
        type_ = type_.element
    return type_


def _dtype(target: Target) -> DType:
    dtype = element_type(target.type).dtype
    assert dtype is not None, "statistics and padded values have a known type"
    return dtype


def initial(slot: Slot, target: Target, writer: Writer, capacity: int) -> Value:
    """The initial value of a target's slot."""
    match slot.kind:
        case "values":
            return writer.leaf("SequenceEmpty", dtype=element_type(target.type).dtype)
        case "at":
            return writer.constant(np.zeros((0, target.depth), np.int64))
        case "lengths":
            return writer.constant(np.zeros(0, np.int64))
        case "padded_at":
            return writer.constant(np.full((capacity + 1, target.depth), -1, np.int64))
        case "count":
            return writer.constant(np.array(0))
    if target.form is Form.STATISTICS:
        return initial_statistic(slot.kind, _dtype(target), writer)
    type_ = element_type(target.type)
    assert type_.shape is not None, "else it is not padded"
    extents = [capacity + 1, *(dim for dim in type_.shape if isinstance(dim, int))]
    dtype = _dtype(target)
    nothing = "" if dtype is DType.STRING else 0
    return writer.constant(np.full(extents, nothing, dtype.numpy))


def collect(
    writer: Writer,
    here: Mapping[Target, Value],
    clocks: Sequence[Value],
    state: State,
    capacity: int,
) -> None:
    """Append the targets of a block in this iteration to their slots."""
    for target in (t for t in here if t.form is Form.STATISTICS):
        slots = Slots.of(target).by_kind
        before = {kind: state[slot] for kind, slot in slots.items()}
        after = updated(writer, here[target], element_type(target.type), before)
        state.update({slots[kind]: value for kind, value in after.items()})
    padded = {t: v for t, v in here.items() if t.form is Form.PADDED}
    if padded:
        _pad(writer, padded, clocks, state, capacity)
    flat = {t: v for t, v in here.items() if t.form is Form.SEQUENCE}
    plain = [t for t in flat if not isinstance(t.type, Optional)]
    if plain:
        at = Slots.of(plain[0]).by_kind["at"]
        state[at] = writer.add_rows(state[at], _row(writer, clocks))
    for target, value in flat.items():
        if isinstance(target.type, Optional):
            _add_optional(writer, target, value, clocks, state)
        else:
            _add(writer, target, value, state)


def _row(writer: Writer, clocks: Sequence[Value]) -> Value:
    """The iteration numbers, int64[1, depth]."""
    if not clocks:
        return writer.constant(np.zeros((1, 0), np.int64))
    shape = writer.constant(np.array([1, 1]))
    rows = [writer.leaf("Reshape", clock, shape) for clock in clocks]
    return rows[0] if len(rows) == 1 else writer.leaf("Concat", *rows, axis=1)


def _add(writer: Writer, target: Target, value: Value, state: State) -> None:
    slots = Slots.of(target).by_kind
    values = slots["values"]
    if "lengths" not in slots:
        state[values] = writer.leaf("SequenceInsert", state[values], value)
        return
    length = writer.leaf("SequenceLength", value)
    lengths = slots["lengths"]
    state[lengths] = writer.add_rows(state[lengths], writer.row(length))
    (state[values],) = _add_all(writer, length, state[values], value)


def _add_all(writer: Writer, length: Value, values: Value, source: Value) -> tuple[Value, ...]:
    """Append every element of the sequence `source` to the sequence `values`."""
    inner = writer.inner()
    number, so_far, whole = (inner.value(f"exposed_{n}") for n in ("number", "so_far", "whole"))
    longer = inner.leaf("SequenceInsert", so_far, inner.leaf("SequenceAt", whole, number))
    body = inner.block((number, so_far, whole), (None, longer))
    return writer.loop(length, body, (Iteration(), Carried(), Invariant()), (values, source))


def _add_optional(
    writer: Writer, target: Target, value: Value, clocks: Sequence[Value], state: State
) -> None:
    slots = tuple(Slots.of(target).by_kind.values())
    operands = (value, *clocks, *(state[slot] for slot in slots))

    def params(inner: Writer) -> tuple[Value, Sequence[Value], State]:
        optional, *others = (inner.value(each.name) for each in operands)
        return optional, others[: len(clocks)], dict(zip(slots, others[len(clocks) :], strict=True))

    then, otherwise = writer.inner(), writer.inner()
    optional, numbers, kept = params(then)
    given = (optional, *numbers, *kept.values())
    at = Slots.of(target).by_kind["at"]
    kept[at] = then.add_rows(kept[at], _row(then, numbers))
    _add(then, target, then.leaf("OptionalGetElement", optional), kept)
    present = then.block(given, tuple(kept[slot] for slot in slots))

    optional, numbers, kept = params(otherwise)
    same = tuple(otherwise.leaf("Identity", kept[slot]) for slot in slots)
    absent = otherwise.block((optional, *numbers, *kept.values()), same)
    has = writer.leaf("OptionalHasElement", value)
    state.update(zip(slots, writer.branch(has, present, absent, operands), strict=True))


def _pad(
    writer: Writer,
    here: Mapping[Target, Value],
    clocks: Sequence[Value],
    state: State,
    capacity: int,
) -> None:
    shared = Slots.of(next(iter(here))).by_kind
    count, at = shared["count"], shared["padded_at"]
    limit = writer.constant(np.array(capacity))
    is_within = writer.leaf("Less", state[count], limit)
    position = writer.leaf("Where", is_within, state[count], limit)
    index = writer.leaf("Reshape", position, writer.constant(np.array([1, 1])))
    state[at] = writer.leaf("ScatterND", state[at], index, _row(writer, clocks))
    for target, value in here.items():
        buffer, shape = Slots.of(target).by_kind["buffer"], element_type(target.type).shape
        extents = writer.constant(np.array([1, *(shape or ())], np.int64))
        row = writer.leaf("Reshape", value, extents)
        state[buffer] = writer.leaf("ScatterND", state[buffer], index, row)
    state[count] = writer.leaf("Add", state[count], writer.constant(np.array(1)))
