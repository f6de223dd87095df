"""Constant analysis before writing: small constants, and branches that are taken.

A leaf with constant operands is folded, the shape of a tensor of static shape is constant, a Branch
with a constant condition is replaced by its block, and a Loop that cannot run an iteration by its
initial values.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from treadle import ops
from treadle.ir import (
    Block,
    Branch,
    Leaf,
    Literal,
    Loop,
    Operands,
    SparseArray,
    Step,
    Tensor,
    Value,
    ports,
)

_LARGEST = 2**16
_SHAPES = frozenset(("Shape", "Size"))


@dataclass(slots=True)
class Knowledge:
    """The constants of the main block and of every body; `idle` loops never run an iteration."""

    literals: dict[Value, Literal] = field(default_factory=dict)
    chosen: dict[Branch, Block] = field(default_factory=dict)
    idle: set[Loop] = field(default_factory=set)

    def one(self, value: Value | None) -> float | bool | None:
        """The one element of a value, if it is known."""
        literal = None if value is None else self.literals.get(value)
        if literal is None or literal.array.size != 1:
            return None
        item: float | bool = literal.array.reshape(-1)[0].item()
        return item

    def is_true(self, condition: Value | None) -> bool:
        """Whether a condition, which may be absent, is always true."""
        return condition is None or self.one(condition) is True


def learn(block: Block, open_: Collection[Value] = ()) -> Knowledge:
    """Analyse a block and its bodies; values carry inferred types.

    An input with a default counts as its default, unless it is in `open_`.
    """
    knowledge = Knowledge()
    _learn(knowledge, block, open_)
    return knowledge


def _learn(knowledge: Knowledge, block: Block, open_: Collection[Value] = ()) -> None:
    for constant in block.constants:
        if constant.value not in open_:
            knowledge.literals[constant.value] = _dense(constant.data)
    for step in block.steps:
        _step(knowledge, step)


def _dense(data: Literal | SparseArray) -> Literal:
    return data if isinstance(data, Literal) else Literal.of(data.dense())


def _step(knowledge: Knowledge, step: Step) -> None:
    match step:
        case Leaf():
            _fold(knowledge, step)
        case Branch():
            _branch(knowledge, step)
        case Loop():
            _loop(knowledge, step)


def _pass_on(knowledge: Knowledge, to: Operands, given: Operands) -> None:
    for target, value in zip(to, given, strict=True):
        if target is not None and value in knowledge.literals:
            knowledge.literals[target] = knowledge.literals[value]


def _branch(knowledge: Knowledge, branch: Branch) -> None:
    decided = knowledge.one(branch.condition)
    if decided is None:
        for block in (branch.then, branch.otherwise):
            _pass_on(knowledge, block.params, branch.operands)
            _learn(knowledge, block)
        return
    block = knowledge.chosen[branch] = branch.then if decided else branch.otherwise
    _pass_on(knowledge, block.params, branch.operands)
    _learn(knowledge, block)
    _pass_on(knowledge, branch.results, block.results)


def _loop(knowledge: Knowledge, loop: Loop) -> None:
    views = ports(loop)
    trip = knowledge.one(loop.trip)
    if knowledge.one(loop.condition) is False or (trip is not None and trip <= 0):
        knowledge.idle.add(loop)
        for port in views.carried:
            _pass_on(knowledge, (port.result,), (port.initial,))
        return
    for invariant in views.invariants:
        _pass_on(knowledge, (invariant.param,), (invariant.operand,))
    for port in views.carried:
        if port.next is port.param:
            _pass_on(knowledge, (port.param, port.result), (port.initial, port.initial))
    if views.condition is not None:
        knowledge.literals[views.condition] = Literal.of(np.array(True))
    _learn(knowledge, loop.body)


def _fold(knowledge: Knowledge, leaf: Leaf) -> None:
    if not all(map(_is_small, leaf.results)):
        return
    arrays = _operands(knowledge, leaf)
    if arrays is None:
        return
    made = ops.fold(leaf, arrays, _LARGEST, exact=False) or ()
    if not all(isinstance(array, np.ndarray) for array in made):
        return
    for value, array in zip(leaf.results, made, strict=False):
        if value is not None:
            knowledge.literals[value] = Literal.of(array)


def _is_small(result: Value | None) -> bool:
    if result is None:
        return True
    type_ = result.type
    if not isinstance(type_, Tensor) or type_.shape is None:
        return False
    known = [dim for dim in type_.shape if isinstance(dim, int)]
    return len(known) == len(type_.shape) and math.prod(known) <= _LARGEST


def _operands(knowledge: Knowledge, leaf: Leaf) -> Sequence[np.ndarray | None] | None:
    """The operands' content; None if a part of it is unknown."""
    if leaf.op in _SHAPES and leaf.domain == "":
        type_ = leaf.operands[0].type if leaf.operands and leaf.operands[0] else None
        shape = type_.shape if isinstance(type_, Tensor) else None
        known = [dim for dim in shape or () if isinstance(dim, int)]
        if shape is None or len(known) != len(shape):
            return None
        return [np.broadcast_to(np.zeros((), np.bool_), known)]
    literals = [None if v is None else knowledge.literals.get(v) for v in leaf.operands]
    for value, literal in zip(leaf.operands, literals, strict=True):
        if value is not None and (literal is None or literal.array.size > _LARGEST):
            return None
    return [None if literal is None else literal.array for literal in literals]
