"""The body of a loop during lowering: its block, and the nodes of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from treadle import ir
from treadle.ir import DType
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    DimOf,
    InductionVar,
    Node,
    Number,
    Stack,
)
from treadle.jit.lowering.boxing import (
    extent_of,
    item_of,
)
from treadle.jit.lowering.changing_dims import ChangingAxes
from treadle.jit.lowering.lowering_builder import LoweringBuilder
from treadle.jit.lowering.operands import present_operands

Given = Sequence[Node | None]


@dataclass(eq=False, slots=True)
class LoopBody:
    """The body of a loop during its lowering.

    `nodes` are those of its parameters, `states` and `initials` its carried arguments and their
    initial values, `nexts` their next values. `boxed_states` are the numbers of the boxed ones.
    `elements` are to be stacked: those with a native form have `stacks`; boxed ones are collected
    in lists, which are carried values with the numbers `rows`. `first` is the number of the first
    iteration.
    """

    block: Block
    boxed_states: frozenset[int] = frozenset()
    nodes: list[Node | None] = field(default_factory=list)
    states: list[Node] = field(default_factory=list)
    initials: list[Node] = field(default_factory=list)
    length: Number | None = None
    condition: Node | None = None
    nexts: list[Node] = field(default_factory=list)
    elements: list[Node] = field(default_factory=list)
    stacks: list[Stack] = field(default_factory=list)
    rows: dict[int, int] = field(default_factory=dict)
    first: int = 0


def add_parameters(
    builder: LoweringBuilder, step: ir.Loop, operands: Given, changing: ChangingAxes, made: LoopBody
) -> None:
    """The nodes of the parameters, and the carried arguments and initial values among them."""
    rest = iter(operands)
    for index, role in enumerate(step.roles):
        match role:
            case ir.Iteration():
                shape = (1,) * ir.declared_rank(step, index)
                number = builder.param(InductionVar(), DType.INT64, shape)
                if made.first:
                    first = builder.scalar(made.first, DType.INT64)
                    number = builder.map("add", number, first)
                made.nodes.append(number)
            case ir.Condition():
                rank = ir.declared_rank(step, index)
                made.nodes.append(builder.constant(np.ones((1,) * rank, np.bool_)))
            case ir.Invariant():
                made.nodes.append(next(rest))
            case ir.Carried():
                initial = present_operands(next(rest))
                state = _state(builder, len(made.states), initial, changing)
                made.initials.append(initial)
                made.states.append(state)
                made.nodes.append(state)
            case ir.Sliced(axis, reverse):
                made.nodes.append(
                    _item(builder, made, present_operands(next(rest)), axis, reverse=reverse)
                )


def _state(builder: LoweringBuilder, number: int, initial: Node, changing: ChangingAxes) -> Node:
    shape = [
        builder.number(builder.param(DimOf(number, axis), DType.INT64, ()))
        if (number, axis) in changing
        else extent
        for axis, extent in enumerate(initial.shape)
    ]
    state = builder.param(CarriedArg(number), initial.dtype, tuple(shape))
    if initial in builder.objects:
        builder.objects.add(state)
    return state


def _item(
    builder: LoweringBuilder, made: LoopBody, source: Node, axis: int, *, reverse: bool
) -> Node:
    if source in builder.objects:
        return _held_item(builder, made, source, axis, reverse=reverse)
    rank = len(source.shape)
    if not -rank <= axis < rank:
        raise Declined(f"a scan input of rank {rank} sliced along axis {axis}")
    _expect_length(builder, made, source.shape[axis % rank])
    return builder.item(source, axis % rank, reverse=reverse)


def _held_item(
    builder: LoweringBuilder, made: LoopBody, source: Node, axis: int, *, reverse: bool
) -> Node:
    outer = made.block.parent
    assert outer is not None
    builder.block = outer
    extent = extent_of(builder, source, axis)
    builder.block = made.block
    _expect_length(builder, made, extent)
    return item_of(
        builder, source, builder.param(InductionVar(), DType.INT64, ()), axis, reverse=reverse
    )


def _expect_length(builder: LoweringBuilder, made: LoopBody, extent: Number) -> None:
    if made.length is not None:
        builder.expect_equal(made.length, extent)
    if made.length is None or _lateness(extent) < _lateness(made.length):
        made.length = extent


def _lateness(extent: Number) -> int:
    """When an extent is known: now, before the kernel runs, or while it does."""
    if isinstance(extent, int):
        return 0
    return 1 if extent.source is None else 2
