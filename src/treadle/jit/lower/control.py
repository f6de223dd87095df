"""Loop, Scan and If in the kernel IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treadle import ir
from treadle.infer import declared_rank
from treadle.ir import DType
from treadle.jit.building import Building, Declined
from treadle.jit.kernel_ir import (
    Block,
    Branch,
    Constant,
    Counter,
    Extent,
    Item,
    Loop,
    Node,
    Part,
    Shape,
    Stack,
    State,
)

Given = Sequence[Node | None]
LowerBlock = Callable[[Building, ir.Block, Sequence[Node | None]], list[Node | None]]


def lower_loop(b: Building, step: ir.Loop, given: Given, lower: LowerBlock) -> Sequence[Node]:
    """The parts of a Loop node; `given` are (trip?, condition?, *operands)."""
    trip, condition, *operands = given
    _check_scalar(trip, "a trip count", (DType.INT64, DType.INT32))
    _check_scalar(condition, "a condition", (DType.BOOL,))
    rank = 0 if condition is None else len(condition.shape)
    if condition is not None and isinstance(condition.op, Constant) and condition.op.array.all():
        condition = None
    body = Block("body", b.block, is_loop=True)
    outer, b.block = b.block, body
    params = _params(b, step, operands, rank)
    results = lower(b, step.body, params.nodes)
    after = _next_condition(results[0])
    count = len(params.states)
    nexts = [_present(node) for node in results[1 : 1 + count]]
    for state, node in zip(params.states, nexts, strict=True):
        if (state.dtype, state.shape) != (node.dtype, node.shape):
            raise Declined("a carried value that changes its shape")
    elements = [_present(node) for node in results[1 + count :]]
    b.block = outer
    extent = _extent(trip, condition, after, params.length)
    stacks = tuple(
        Stack(element, role.axis % (len(element.shape) + 1), role.reverse)
        for element, role in zip(elements, step.stacks, strict=True)
    )
    if not isinstance(extent, int) and outer.parent is not None and stacks:
        raise Declined("a result stacked in an inner loop whose length only the run tells")
    if extent == 0 and stacks:
        raise Declined("a stacked result of no iterations")
    loop = Loop(
        body, trip is not None, condition is not None, params.length, tuple(params.states),
        tuple(nexts), after, stacks, extent, step.info.path,
    )  # fmt: skip
    around = [node for node in (trip, condition) if node is not None]
    node = b.add(loop, DType.BOOL, (), *around, *params.initials)
    return [
        *(b.add(Part(k), s.dtype, s.shape, node) for k, s in enumerate(params.states)),
        *(_stacked(b, node, stack, extent, count + k) for k, stack in enumerate(stacks)),
    ]


def _stacked(b: Building, loop: Node, stack: Stack, extent: int | Extent, number: int) -> Node:
    shape = list(stack.element.shape)
    shape.insert(stack.axis, extent)
    return b.add(Part(number), stack.element.dtype, tuple(shape), loop)


class _Params:
    """The nodes of a body's params, and what of them carries."""

    def __init__(self) -> None:
        self.nodes: list[Node | None] = []
        self.states: list[Node] = []
        self.initials: list[Node] = []
        self.length: int | Extent | None = None


def _params(
    b: Building, step: ir.Loop, operands: Sequence[Node | None], condition_rank: int
) -> _Params:
    made, rest = _Params(), iter(operands)
    for place, role in enumerate(step.roles):
        match role:
            case ir.Iteration():
                shape = (1,) * declared_rank(step, place)
                made.nodes.append(b.param(Counter(), DType.INT64, shape))
            case ir.Condition():
                rank = declared_rank(step, place, condition_rank)
                made.nodes.append(b.constant(np.ones((1,) * rank, np.bool_)))
            case ir.Invariant():
                made.nodes.append(next(rest))
            case ir.Carried():
                initial = _present(next(rest))
                _check_static(initial)
                state = b.param(State(len(made.states)), initial.dtype, initial.shape)
                made.initials.append(initial)
                made.states.append(state)
                made.nodes.append(state)
            case ir.Sliced(axis, reverse):
                made.nodes.append(_item(b, made, _present(next(rest)), axis, reverse=reverse))
    return made


def _item(b: Building, made: _Params, source: Node, axis: int, *, reverse: bool) -> Node:
    rank = len(source.shape)
    if not -rank <= axis < rank:
        raise Declined("a sliced axis that is out of range")
    extent = source.shape[axis % rank]
    if made.length is not None and made.length is not extent and made.length != extent:
        raise Declined("sliced values of several lengths")
    made.length = extent
    rest: Shape = tuple(e for k, e in enumerate(source.shape) if k != axis % rank)
    if any(isinstance(e, Extent) for e in rest):
        raise Declined("an extent that only the run tells")
    node = Node(Item(axis % rank, reverse), source.dtype, rest, (source,), b.block)
    b.block.nodes.append(node)
    return node


def _extent(
    trip: Node | None, condition: Node | None, after: Node | None, length: int | Extent | None
) -> int | Extent:
    """How long stacks are: a number, or an extent of the run."""
    if condition is not None or after is not None or (trip is None and length is None):
        return Extent("until")
    if trip is None:
        assert length is not None
        return length
    if isinstance(trip.op, Constant):
        return max(int(trip.op.array.item()), 0)
    return Extent("trip")


def _next_condition(node: Node | None) -> Node | None:
    _check_scalar(node, "a condition", (DType.BOOL,))
    if node is not None and isinstance(node.op, Constant) and node.op.array.all():
        return None
    return node


def _check_scalar(node: Node | None, what: str, dtypes: Sequence[DType]) -> None:
    if node is None:
        return
    _check_static(node)
    if node.dtype not in dtypes or node.size != 1:
        raise Declined(f"{what} that is not one element of {dtypes[0]}")


def _check_static(node: Node) -> None:
    if not node.is_static:
        raise Declined("an extent that only the run tells")


def _present(node: Any) -> Node:
    if node is None:
        raise Declined("an absent value")
    assert isinstance(node, Node)
    return node


def lower_branch(b: Building, step: ir.Branch, given: Given, lower: LowerBlock) -> Sequence[Node]:
    """The parts of a Branch node, or the results of the block that is always taken."""
    condition, *operands = given
    condition = _present(condition)
    _check_scalar(condition, "a condition", (DType.BOOL,))
    if isinstance(condition.op, Constant):
        return [
            _present(node)
            for node in lower(
                b, step.then if condition.op.array.all() else step.otherwise, operands
            )
        ]
    outer = b.block
    sides = []
    for name, side in (("then", step.then), ("else", step.otherwise)):
        b.block = Block(name, outer)
        results = [_present(node) for node in lower(b, side, operands)]
        sides.append((b.block, tuple(results)))
    b.block = outer
    (then, first), (otherwise, second) = sides
    for one, other in zip(first, second, strict=True):
        _check_static(one)
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            raise Declined("branches that give different shapes")
    node = b.add(Branch(then, otherwise, first, second), DType.BOOL, (), condition)
    return [b.add(Part(k), one.dtype, one.shape, node) for k, one in enumerate(first)]
