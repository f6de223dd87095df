"""Scan-8, with its batch axis and sequence lengths, becomes a loop over the batch around a scan.

    for b in range(batch):                              # axis 0 of every input, states included
        xs = x[b][:lens[b]], backwards where directions says so
        state, ys = scan(body, state[b], xs)
        results = state, ys padded with zeros to the longest

The standard leaves the padding undefined; onnxruntime writes zeros, and reverses the first lens[b]
items (spec digest, 3.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treadle.ir import (
    Attribute,
    Block,
    BlockBuilder,
    Call,
    Carried,
    Info,
    Invariant,
    Iteration,
    Leaf,
    Loop,
    Model,
    Role,
    Sliced,
    Stacked,
    Step,
    Value,
    attribute,
    map_blocks,
    map_steps,
)

_VERSION = 9
"""The first version of Scan without a batch axis."""


def expand_scan8(model: Model) -> Model:
    """The model without Scan-8."""
    return map_blocks(model, lambda block: map_steps(block, _expanded))


@dataclass(frozen=True, slots=True)
class _Scan8:
    lengths: Value | None
    states: tuple[Value | None, ...]
    inputs: tuple[Value | None, ...]
    captures: tuple[Value | None, ...]
    reverse: tuple[bool, ...]
    body: Block
    call: Call

    @property
    def outputs(self) -> int:
        """How many scan outputs it has."""
        return len(self.call.results) - len(self.states)


def _expanded(step: Step) -> Step:
    if not isinstance(step, Call) or (step.function.name, step.version) != ("Scan", 8):
        return step
    count = step.attributes["num_scan_inputs"].value
    assert isinstance(count, int)
    given = step.attributes["directions"].value if "directions" in step.attributes else ()
    assert isinstance(given, tuple)
    lengths, *data = step.operands
    scan = _Scan8(
        lengths,
        tuple(data[: len(data) - count]),
        tuple(data[len(data) - count :]),
        step.captures,
        tuple(bool(way) for way in given) or (False,) * count,
        step.blocks["body"],
        step,
    )
    return _over_batch(scan)


def _over_batch(scan: _Scan8) -> Loop:
    # [*lengths?, *states, *inputs: sliced, *captures: invariant] -> [*states, *outputs: stacked]
    row = BlockBuilder("batch")
    lengths = () if scan.lengths is None else (row.param("sequence_length"),)
    states = tuple(_row(row, value, "state") for value in scan.states)
    inputs = tuple(_row(row, value, "input") for value in scan.inputs)
    captures = tuple(_row(row, value, "captured") for value in scan.captures)
    over_time = _by_length if lengths else _by_scan
    results = over_time(scan, row, (*lengths, *states, *inputs, *captures))
    operands = (scan.lengths,) if lengths else ()
    sliced = len(operands) + len(states) + len(inputs)
    roles: tuple[Role, ...] = (*[Sliced()] * sliced, *[Invariant()] * len(captures))
    return Loop(
        None,
        None,
        roles,
        (*operands, *scan.states, *scan.inputs, *scan.captures),
        row.build(None, *results),
        (Stacked(),) * len(scan.call.results),
        scan.call.results,
        replace(scan.call.info, version=_VERSION),
    )


def _row(row: BlockBuilder, value: Value | None, hint: str) -> Value:
    return row.param(value.name if value is not None else hint)


def _by_scan(scan: _Scan8, row: BlockBuilder, given: Sequence[Value]) -> tuple[Value, ...]:
    """Every item of the row: a Scan."""
    roles: tuple[Role, ...] = (
        *[Carried()] * len(scan.states),
        *(Sliced(0, way) for way in scan.reverse),
        *[Invariant()] * len(scan.captures),
    )
    body = replace(scan.body, results=(None, *scan.body.results), claims=())
    return _time(scan, row, None, roles, given, body, "Scan")


def _by_length(scan: _Scan8, row: BlockBuilder, given: Sequence[Value]) -> tuple[Value, ...]:
    """The first items of the row, as many as its length says: a Loop that gathers each."""
    length, *rest = given
    states, inputs = rest[: len(scan.states)], rest[len(scan.states) :][: len(scan.inputs)]
    captures = rest[len(states) + len(inputs) :]
    trip = _not_negative(row, length)
    last = row.leaf("Sub", 7, trip, row.constant(np.array(1, np.int64)))
    roles: tuple[Role, ...] = (
        Iteration(),
        *[Invariant()] * (len(inputs) + 1),
        *[Carried()] * len(states),
        *[Invariant()] * len(captures),
    )
    operands = (*inputs, last, *states, *captures)
    made = _time(scan, row, trip, roles, operands, _gathering(scan), "Loop")
    count = len(states)
    padded = [_padded(row, value, trip, inputs[0]) for value in made[count:]]
    return (*made[:count], *padded)


def _gathering(scan: _Scan8) -> Block:
    # [iteration, *rows: invariant, last: invariant, *states, *captures] -> the body's results
    count = len(scan.states)
    states, items = scan.body.params[:count], scan.body.params[count:][: len(scan.inputs)]
    captures = scan.body.params[count + len(items) :]
    iteration, last = Value("iteration"), Value("last")
    rows = tuple(Value(f"{item.name}_row") for item in items)
    steps: list[Step] = []
    for item, source, way in zip(items, rows, scan.reverse, strict=True):
        index = iteration
        if way:
            index = Value(f"{item.name}_index")
            steps.append(Leaf("", "Sub", 7, (last, iteration), (index,)))
        axis = {"axis": attribute("axis", 0)}
        steps.append(Leaf("", "Gather", 1, (source, index), (item,), axis))
    return replace(
        scan.body,
        params=(iteration, *rows, last, *states, *captures),
        steps=(*steps, *scan.body.steps),
        results=(None, *scan.body.results),
        claims=(),
    )


def _time(
    scan: _Scan8,
    row: BlockBuilder,
    trip: Value | None,
    roles: tuple[Role, ...],
    operands: Sequence[Value],
    body: Block,
    op: str,
) -> tuple[Value, ...]:
    results = tuple(
        row.value("state" if k < len(scan.states) else "output")
        for k in range(len(scan.call.results))
    )
    info = Info(op=op, version=_VERSION, path=f"{scan.call.info.path}/time")
    stacks = (Stacked(),) * (len(results) - len(scan.states))
    row.add(Loop(trip, None, roles, tuple(operands), body, stacks, results, info))
    return results


def _not_negative(row: BlockBuilder, length: Value) -> Value:
    # a negative length looks up an item that is not there, so that it fails instead of meaning none
    zero = row.constant(np.array(0, np.int64), "zero")
    below = row.leaf("Min", 13, length, zero)
    index = row.leaf("Add", 7, below, below)
    only = row.constant(np.array([0], np.int64), "a_length_must_not_be_negative")
    return row.leaf("Add", 7, length, row.leaf("Gather", 1, only, index))


def _padded(row: BlockBuilder, value: Value, trip: Value, source: Value) -> Value:
    """The output of a row with zeros after its last item, as long as the row."""
    first = row.constant(np.array([0], np.int64), "first")
    longest = row.leaf("Gather", 1, row.leaf("Shape", 1, source), first)
    missing = row.leaf("Sub", 7, longest, row.leaf("Unsqueeze", 1, trip, attributes=_list("axes")))
    element = row.leaf(
        "Slice",
        1,
        row.leaf("Shape", 1, value),
        attributes={**_list("starts", 1), **_list("ends", np.iinfo(np.int32).max)},
    )
    shape = row.leaf("Concat", 4, missing, element, attributes={"axis": attribute("axis", 0)})
    zeros = row.leaf("CastLike", 15, row.leaf("ConstantOfShape", 9, shape), value)
    return row.leaf("Concat", 4, value, zeros, attributes={"axis": attribute("axis", 0)})


def _list(name: str, number: int = 0) -> dict[str, Attribute]:
    return {name: attribute(name, [int(number)])}
