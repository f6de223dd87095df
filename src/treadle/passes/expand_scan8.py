"""Expands Scan-8, which has a batch axis, into a loop over the batch around a loop over time.

    for b in range(batch):                                   # axis 0 of every operand
        n = sequence_lens[b] if sequence_lens else longest
        states, rows = Scan(states[b], *(x[b][:n] for x in sequences))
        results[b] = states, *(row padded with zeros to longest for row in rows)

A reversed sequence is the reverse of its first n items. The standard does not define the padding of
a row; onnxruntime writes zeros. In paths the loop over time keeps the name of the Scan, and the
loop over the batch is its `rows`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treadle.ir import (
    Block,
    BlockBuilder,
    Call,
    Carried,
    FunctionId,
    Info,
    Invariant,
    Loop,
    Model,
    Operands,
    Role,
    Sliced,
    Stacked,
    Step,
    Value,
    attribute,
    verified,
)
from treadle.passes.inline_block import inline_blocks

SCAN = FunctionId("", "Scan")


@verified
def expand_scan8(model: Model) -> Model:
    """Expand every Scan-8. Needs functions to be inlined."""
    main = inline_blocks(model.main, _expanded)
    return model if main is model.main else replace(model, main=main)


class _Parts(NamedTuple):
    """The operands of a Scan-8 by purpose, or values that stand for them."""

    lengths: Value | None
    states: Operands
    sequences: Operands
    captures: Operands

    @property
    def all(self) -> Operands:
        """All values, in order."""
        lengths = () if self.lengths is None else (self.lengths,)
        return (*lengths, *self.states, *self.sequences, *self.captures)


def _expanded(step: Step, path: str) -> Block | None:
    if not isinstance(step, Call) or step.function != SCAN:
        return None
    builder = BlockBuilder(step.info.name)
    outer = _params(builder, step, _parts(step))
    row = _row(step, path)
    sliced = len(outer.all) - len(outer.captures)
    roles: tuple[Role, ...] = (*[Sliced()] * sliced, *[Invariant()] * len(outer.captures))
    stacks = (Stacked(),) * (len(row.results) - 1)
    results = _loop(builder, f"{path}.rows", row, roles, outer.all, stacks)
    block = builder.build(*results)
    if outer.lengths is not None:
        return block
    unread = Value("sequence_lens")
    return replace(block, params=(unread, *block.params))


def _parts(step: Call) -> _Parts:
    lengths, *given = step.operands
    sliced = step.attributes["num_scan_inputs"].value
    assert isinstance(sliced, int)
    states = len(given) - sliced
    return _Parts(lengths, tuple(given[:states]), tuple(given[states:]), step.captures)


def _params(builder: BlockBuilder, step: Call, parts: _Parts) -> _Parts:
    """The params of a new block for the parts."""

    def params(values: Operands, hint: str) -> tuple[Value, ...]:
        return tuple(builder.param(value.name if value else hint) for value in values)

    lengths = None if parts.lengths is None else builder.param(parts.lengths.name)
    return _Parts(
        lengths,
        params(parts.states, "state"),
        params(parts.sequences, "sequence"),
        params(parts.captures, "captured"),
    )


def _row(step: Call, path: str) -> Block:
    """Build the body that runs for one row of the batch."""
    builder = BlockBuilder("row")
    row = _params(builder, step, _parts(step))
    cut = _Cut(builder, row)
    reversed_ = _directions(step, len(row.sequences))
    roles: tuple[Role, ...] = (
        *[Carried()] * len(row.states),
        *[Sliced(0, reverse) for reverse in reversed_],
        *[Invariant()] * len(row.captures),
    )
    body = step.blocks["body"]
    stacks = (Stacked(),) * (len(body.results) - len(row.states))
    operands = (*row.states, *map(cut.first, row.sequences), *row.captures)
    body = replace(body, results=(None, *body.results), claims=())
    results = _loop(builder, path, body, roles, operands, stacks)
    states, rows = results[: len(row.states)], results[len(row.states) :]
    return builder.build(None, *states, *map(cut.padded, rows))


class _Cut:
    """Cuts the sequences of a row to its length, and pads its results."""

    def __init__(self, builder: BlockBuilder, row: _Parts) -> None:
        self.builder, self.length = builder, None
        if row.lengths is None:
            return
        bounds = {"start": attribute("start", 0), "end": attribute("end", 1)}
        extents = [builder.leaf("Shape", 15, x, attributes=bounds) for x in row.sequences]
        self.length = builder.leaf(
            "SequenceLength", 1, row.lengths, *extents, domain="treadle", result="length"
        )
        self.zero = builder.constant(np.array([0]), "zero")
        rest = builder.leaf("Sub", 14, extents[0], self.length, result="rest")
        axis = {"axis": attribute("axis", 0)}
        self.pads = builder.leaf("Concat", 13, self.zero, rest, attributes=axis, result="pads")

    def first(self, sequence: Value | None) -> Value | None:
        """The valid items of a sequence."""
        if self.length is None:
            return sequence
        hint = sequence.name if sequence is not None else "sequence"
        return self.builder.leaf(
            "Slice", 13, sequence, self.zero, self.length, self.zero, result=f"{hint}_cut"
        )

    def padded(self, row: Value) -> Value:
        """The row, padded to the longest length."""
        if self.length is None:
            return row
        return self.builder.leaf("Pad", 18, row, self.pads, None, self.zero, result="padded")


def _directions(step: Call, count: int) -> list[bool]:
    given = step.attributes.get("directions")
    values = given.value if given is not None else None
    return list(map(bool, values)) if isinstance(values, tuple) else [False] * count


def _loop(
    builder: BlockBuilder,
    path: str,
    body: Block,
    roles: tuple[Role, ...],
    operands: Operands,
    stacks: tuple[Stacked, ...],
) -> tuple[Value, ...]:
    results = tuple(builder.value("scan") for _ in body.results[1:])
    info = Info(op="Scan", version=9, path=path)
    builder.add(Loop(None, None, roles, operands, body, stacks, results, info, fixed_state=True))
    return results
