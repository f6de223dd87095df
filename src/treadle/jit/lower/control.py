"""Loop, Scan and If in the kernel IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treadle import ir
from treadle.infer import declared_rank, is_scan
from treadle.ir import DType
from treadle.jit.building import Building, Mistaken
from treadle.jit.kernel_ir import (
    Block,
    Branch,
    Constant,
    Counter,
    Dim,
    Empty,
    Extent,
    Item,
    Loop,
    Node,
    Number,
    Part,
    Stack,
    State,
)
from treadle.jit.lower.empty import is_told, known_symbols
from treadle.jit.lower.layout import dropped
from treadle.jit.lower.sequence import emptied, empty
from treadle.jit.nodes import Declined
from treadle.jit.walk import is_inside

Given = Sequence[Node | None]
Moving = frozenset[tuple[int, int]]
LowerBlock = Callable[[Building, ir.Block, Sequence[Node | None]], list[Node | None]]


def lower_loop(b: Building, step: ir.Loop, given: Given, lower: LowerBlock) -> Sequence[Node]:
    """The parts of a Loop node; `given` are (trip?, condition?, *operands).

    The body is written for carried values of unchanging shapes; where it turns out to change one,
    it is written again with that extent told by the run.
    """
    trip, condition, *operands = given
    trip = _scalar(b, trip, "a trip count", (DType.INT64, DType.INT32))
    condition = _going_on(_scalar(b, condition, "a condition", (DType.BOOL,)))
    around = [node for node in (trip, condition) if node is not None]
    count = None if trip is None else b.most(b.number(trip), 0)
    moving = _lost(step, operands)
    operands = _typed(b, step, operands)
    mark = b.mark()
    for _ in range(_most_tries(operands)):
        made = _Body(Block("body", b.block, is_loop=True))
        try:
            _write(b, made, step, operands, moving, lower)
        except Mistaken as mistake:
            b.back(mark)
            operands = _corrected(b, made, operands, mistake)
            mark = b.mark()
            continue
        moved = _moved(made)
        if moved <= moving:
            break
        b.back(mark)
        moving |= moved
    else:
        raise Declined("carried values whose shapes cannot be told")
    is_open = condition is not None or made.condition is not None
    extent = None if is_open else made.length if count is None else count
    loop = Loop(
        made.block, trip is not None, condition is not None, made.length, tuple(made.states),
        tuple(made.nexts), made.condition, tuple(made.stacks), extent, step.info.path,
    )  # fmt: skip
    node = b.add(loop, DType.BOOL, (), *around, *made.initials)
    carried = [_last(b, node, k, state, moving) for k, state in enumerate(made.states)]
    first, symbols = len(carried), known_symbols(step, operands)
    parts = [_stacked(b, node, stack, first + k) for k, stack in enumerate(made.stacks)]
    for k, (stack, part) in enumerate(zip(made.stacks, parts, strict=True), start=first):
        is_read = step.results[k] is not None
        if is_read and not is_told(step, 1 + k, stack.element, symbols):
            _expect_some(b, part.shape[stack.axis])
    return [*carried, *parts]


def _expect_some(b: Building, count: Number) -> None:
    if count == 0:
        raise Declined("a stacked result of no iterations")
    if isinstance(count, Extent):
        b.expect(b.compare("greater", count, 0))


def _most_tries(operands: Given) -> int:
    return 2 + sum(len(node.shape) for node in operands if node is not None)


def _last(b: Building, loop: Node, number: int, state: Node, moving: Moving) -> Node:
    shape = [
        b.number(b.add(Dim(number, axis), DType.INT64, (), loop)) if (number, axis) in moving
        else extent
        for axis, extent in enumerate(state.shape)
    ]  # fmt: skip
    return b.add(Part(number), state.dtype, tuple(shape), loop)


def _stacked(b: Building, loop: Node, stack: Stack, number: int) -> Node:
    op = loop.op
    assert isinstance(op, Loop)
    shape: list[Number | None] = list(stack.element.shape)
    shape.insert(stack.axis, op.extent)
    told = [
        b.number(b.add(Dim(number, axis), DType.INT64, (), loop))
        if extent is None or is_inside(extent, op.body)
        else extent
        for axis, extent in enumerate(shape)
    ]
    return b.add(Part(number), stack.element.dtype, tuple(told), loop)


@dataclass(eq=False, slots=True)
class _Body:
    """The nodes of a body's params, and what of them carries; and what it gives."""

    block: Block
    nodes: list[Node | None] = field(default_factory=list)
    states: list[Node] = field(default_factory=list)
    initials: list[Node] = field(default_factory=list)
    length: Number | None = None
    condition: Node | None = None
    nexts: list[Node] = field(default_factory=list)
    stacks: list[Stack] = field(default_factory=list)


def _write(
    b: Building, made: _Body, step: ir.Loop, operands: Given, moving: Moving, lower: LowerBlock
) -> None:
    outer, b.block = b.block, made.block
    _params(b, step, operands, moving, made)
    results = lower(b, step.body, made.nodes)
    made.condition = _going_on(_scalar(b, results[0], "a condition", (DType.BOOL,)))
    count = len(made.states)
    made.nexts = [_present(node) for node in results[1 : 1 + count]]
    if is_scan(step):
        _expect_steady(b, made)
    made.stacks = [
        Stack(element, role.axis % (len(element.shape) + 1), role.reverse, result is not None)
        for element, role, result in zip(
            map(_present, results[1 + count :]), step.stacks, step.results[count:], strict=True
        )
    ]
    b.block = outer


def _typed(b: Building, step: ir.Loop, operands: Given) -> list[Node | None]:
    """The operands, empty sequences with elements of the shape inference tells of the param."""
    roles = [role for role in step.roles if not isinstance(role, ir.Iteration | ir.Condition)]
    carried = iter(ir.ports(step).carried)
    ports = [next(carried) if isinstance(role, ir.Carried) else None for role in roles]
    return [
        emptied(b, node, port.param.type if port is not None else None)
        for node, port in zip(operands, ports, strict=True)
    ]


def _corrected(b: Building, made: _Body, operands: Given, mistake: Mistaken) -> list[Node | None]:
    """The operands, the mistaken one as an empty sequence of such elements."""
    if mistake.state not in made.states:
        raise mistake
    initial = made.initials[made.states.index(mistake.state)]
    if any(is_inside(extent, made.block) for extent in mistake.shape):
        raise Declined("a sequence of elements whose shape only the run tells")
    if isinstance(initial.op, State):
        raise Mistaken(initial, mistake.dtype, mistake.shape)
    if not isinstance(initial.op, Empty):
        raise Declined("a sequence of elements that differ")
    right = empty(b, mistake.dtype, mistake.shape)
    return [right if node is initial else node for node in operands]


def _expect_steady(b: Building, made: _Body) -> None:
    """A state of a Scan keeps its shape, whatever the run makes of it."""
    for state, after in zip(made.states, made.nexts, strict=True):
        if len(state.shape) != len(after.shape):
            raise Declined("a carried value that changes its rank")
        for before, now in zip(state.shape, after.shape, strict=True):
            b.expect_equal(before, now)


def _lost(step: ir.Loop, operands: Given) -> Moving:
    """The axes of carried values whose extent inference knew before the loop and lost in it."""
    given = dict(zip(step.operands, operands, strict=True))
    found = set[tuple[int, int]]()
    for number, port in enumerate(ir.ports(step).carried):
        node = given.get(port.initial)
        before, after = (_inferred(value) for value in (port.initial, port.param))
        if node is None or before is None or after is None or len(before) != len(after):
            continue
        found |= {
            (number, axis)
            for axis, (old, new) in enumerate(zip(before, after, strict=True))
            if isinstance(new, ir.Range | None) and not isinstance(old, ir.Range | None)
        }
    return frozenset(found)


def _inferred(value: ir.Value | None) -> ir.Shape | None:
    return value.inferred.shape if value and isinstance(value.inferred, ir.Tensor) else None


def _moved(made: _Body) -> Moving:
    """The axes along which a carried value is not sure to stay as it is."""
    found = set[tuple[int, int]]()
    for number, (state, after) in enumerate(zip(made.states, made.nexts, strict=True)):
        if state.dtype != after.dtype or len(state.shape) != len(after.shape):
            raise Declined("a carried value that changes its rank")
        pairs = enumerate(zip(state.shape, after.shape, strict=True))
        found |= {(number, axis) for axis, (old, new) in pairs if old != new}
    return frozenset(found)


def _params(b: Building, step: ir.Loop, operands: Given, moving: Moving, made: _Body) -> None:
    rest = iter(operands)
    for place, role in enumerate(step.roles):
        match role:
            case ir.Iteration():
                shape = (1,) * declared_rank(step, place)
                made.nodes.append(b.param(Counter(), DType.INT64, shape))
            case ir.Condition():
                rank = declared_rank(step, place)
                made.nodes.append(b.constant(np.ones((1,) * rank, np.bool_)))
            case ir.Invariant():
                made.nodes.append(next(rest))
            case ir.Carried():
                initial = _present(next(rest))
                state = _state(b, len(made.states), initial, moving)
                made.initials.append(initial)
                made.states.append(state)
                made.nodes.append(state)
            case ir.Sliced(axis, reverse):
                made.nodes.append(_item(b, made, _present(next(rest)), axis, reverse=reverse))


def _state(b: Building, number: int, initial: Node, moving: Moving) -> Node:
    shape = [
        b.number(b.param(Dim(number, axis), DType.INT64, ())) if (number, axis) in moving
        else extent
        for axis, extent in enumerate(initial.shape)
    ]  # fmt: skip
    return b.param(State(number), initial.dtype, tuple(shape))


def _item(b: Building, made: _Body, source: Node, axis: int, *, reverse: bool) -> Node:
    rank = len(source.shape)
    if not -rank <= axis < rank:
        raise Declined("a sliced axis that is out of range")
    extent = source.shape[axis % rank]
    if made.length is not None:
        b.expect_equal(made.length, extent)
    made.length = extent
    rest = tuple(e for k, e in enumerate(source.shape) if k != axis % rank)
    node = Node(Item(axis % rank, reverse), source.dtype, rest, (source,), b.block)
    b.block.nodes.append(node)
    return node


def _going_on(condition: Node | None) -> Node | None:
    """The condition; None for one that is always true."""
    if condition is not None and isinstance(condition.op, Constant) and condition.op.array.all():
        return None
    return condition


def _scalar(b: Building, node: Node | None, what: str, dtypes: Sequence[DType]) -> Node | None:
    if node is None:
        return None
    if node.dtype not in dtypes or (node.is_static and node.size != 1):
        raise Declined(f"{what} that is not one element of {dtypes[0]}")
    return dropped(b, node, range(len(node.shape)))


def _present(node: Any) -> Node:
    if node is None:
        raise Declined("an absent value")
    assert isinstance(node, Node)
    return node


def lower_branch(b: Building, step: ir.Branch, given: Given, lower: LowerBlock) -> Sequence[Node]:
    """The parts of a Branch node, or the results of the block that is always taken."""
    condition, *operands = given
    condition = _scalar(b, _present(condition), "a condition", (DType.BOOL,))
    assert condition is not None
    if isinstance(condition.op, Constant):
        side = step.then if condition.op.array.all() else step.otherwise
        return [_present(node) for node in lower(b, side, operands)]
    outer = b.block
    sides = []
    for name, side in (("then", step.then), ("else", step.otherwise)):
        b.block = Block(name, outer)
        results = [_present(node) for node in lower(b, side, operands)]
        sides.append((b.block, tuple(results)))
    b.block = outer
    (then, first), (otherwise, second) = sides
    both = list(zip(first, second, strict=True))
    first = tuple(_alike(b, one, other) for one, other in both)
    second = tuple(_alike(b, other, one) for one, other in both)
    node = b.add(Branch(then, otherwise, first, second), DType.BOOL, (), condition)
    pairs = enumerate(zip(first, second, strict=True))
    return [_either(b, node, k, one, other) for k, (one, other) in pairs]


def _alike(b: Building, one: Node, other: Node) -> Node:
    """The node; an empty sequence with elements of the other's shape."""
    if not isinstance(one.op, Empty) or isinstance(other.op, Empty):
        return one
    sources = [each.source for each in other.shape[1:] if isinstance(each, Extent)]
    if any(source is not None and source.home.depth > b.block.depth for source in sources):
        return one
    return empty(b, other.dtype, other.shape[1:])


def _either(b: Building, branch: Node, number: int, one: Node, other: Node) -> Node:
    if (one.dtype, len(one.shape)) != (other.dtype, len(other.shape)):
        raise Declined("branches that give different ranks")
    shape = [
        left if left == right else b.number(b.add(Dim(number, axis), DType.INT64, (), branch))
        for axis, (left, right) in enumerate(zip(one.shape, other.shape, strict=True))
    ]
    return b.add(Part(number), one.dtype, tuple(shape), branch)
