"""Peels the first iteration off a Loop whose carried values are broadcast in it.

    total = 0.0                               total = 0.0 + x[0]
    for i in range(n):             =          for i in range(1, n):
        total = total + x[i]                      total = total + x[i]

The shape of `total` is that of a row after the first iteration, and stays. Without an iteration it
would be another: a guard expects one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from treadle import ir
from treadle.jit.kernel.ir import Empty, Node, Number, Shape
from treadle.jit.lowering.loop_body import Given, LoopBody
from treadle.jit.lowering.lowering_builder import LowerBlock, LoweringBuilder
from treadle.jit.lowering.operands import present_operands
from treadle.jit.lowering.operators.layout import concat_along

LowerRest = Callable[[Given], Sequence[Node] | None]
"""Lowers the other iterations for (trip?, condition?, *operands); None if a shape changes again."""


def is_broadcast_once(builder: LoweringBuilder, step: ir.Loop, made: LoopBody) -> bool:
    """Whether the body, lowered for the initial shapes, gives shapes that these broadcast to."""
    values = (*made.states, *made.initials, *made.nexts, *made.elements)
    if step.fixed_state or made.boxed_states or not builder.objects.isdisjoint(values):
        return False
    if any(isinstance(each.op, Empty) for each in made.initials):
        return False
    pairs = [
        (state.shape, after.shape) for state, after in zip(made.states, made.nexts, strict=True)
    ]
    are_alike = all(s.dtype == a.dtype for s, a in zip(made.states, made.nexts, strict=True))
    return (
        are_alike and any(old != new for old, new in pairs) and all(_fits(*each) for each in pairs)
    )


def _fits(old: Shape, new: Shape) -> bool:
    """Whether an array of the old shape can be broadcast to the new one."""
    if len(old) > len(new):
        return False
    pairs = zip(reversed(old), reversed(new), strict=False)
    return all(a == b or (a == 1 and isinstance(b, int)) for a, b in pairs)


def lower_peeled(
    builder: LoweringBuilder,
    step: ir.Loop,
    given: Given,
    count: Number | None,
    lower: LowerBlock,
    lower_rest: LowerRest,
) -> Sequence[Node] | None:
    """The results of a Loop, its first iteration before the others; None if that does not help.

    `given` are (trip?, condition?, *operands), native; `count` are the iterations at most.
    """
    mark = builder.mark()
    trip, condition, *operands = given
    if count is not None:
        builder.expect(builder.compare("greater", count, 0))
    if condition is not None:
        builder.expect(condition)
    first = _first(builder, step, operands, lower)
    if not builder.objects.isdisjoint(first):
        builder.back(mark)
        return None
    goes_on, carried, elements = first[0], iter(first[1:]), first[-len(step.stacks) :]
    roles = [role for role in step.roles if not isinstance(role, ir.Iteration | ir.Condition)]
    rest = [
        next(carried) if isinstance(role, ir.Carried) else node
        for role, node in zip(roles, operands, strict=True)
    ]
    less = None if trip is None else builder.map("sub", trip, builder.scalar(1, trip.dtype))
    results = lower_rest((less, goes_on, *rest))
    if results is None:
        builder.back(mark)
        return None
    number = len(results) - len(step.stacks)
    stacks = zip(elements, results[number:], step.stacks, strict=True) if step.stacks else ()
    return [*results[:number], *(_joined(builder, *each) for each in stacks)]


def _first(
    builder: LoweringBuilder, step: ir.Loop, operands: Given, lower: LowerBlock
) -> list[Node]:
    """The results of the body in the first iteration."""
    rest, nodes = iter(operands), list[Node | None]()
    for index, role in enumerate(step.roles):
        match role:
            case ir.Iteration() | ir.Condition():
                dtype = np.int64 if isinstance(role, ir.Iteration) else np.bool_
                one = np.zeros if isinstance(role, ir.Iteration) else np.ones
                nodes.append(builder.constant(one((1,) * ir.declared_rank(step, index), dtype)))
            case _:
                nodes.append(next(rest))
    return [present_operands(node) for node in lower(builder, step.body, nodes)]


def _joined(builder: LoweringBuilder, first: Node, others: Node, role: ir.Stacked) -> Node:
    """The stacked elements, the first one before the others."""
    axis = role.axis % (len(first.shape) + 1)
    shape = (*first.shape[:axis], 1, *first.shape[axis:])
    return concat_along(builder, [builder.reshape(first, shape), others], axis)
