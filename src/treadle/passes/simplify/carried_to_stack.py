"""Shared by the passes that turn carried values into stacked results.

A carried value that one step extends, and no other step of the body reads, need not be carried: the
loop stacks the added rows, and steps after the loop build the value from the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treadle.ir import (
    Block,
    CarriedPort,
    Leaf,
    Loop,
    StackedPort,
    Step,
    Value,
    defining_steps,
    ports,
    step_path,
)
from treadle.passes.simplify.captures import map_implicit_captures
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.loop_rebuild import count_reads, rebuild_loop
from treadle.passes.simplify.step_builder import StepBuilder


class CarriedToStack(NamedTuple):
    """A stack that replaces a carried value which a step extends."""

    port: CarriedPort
    step: Leaf
    stack: StackedPort


Write = Callable[[StepBuilder], None]
"""Writes the former carried value's result after the loop."""
Find = Callable[[Loop, PassContext], Iterable[tuple[CarriedToStack, Write]]]


def carried_to_stack(block: Block, at: PassContext, name: str, find: Find) -> Block:
    """Stack the extended values in all loops of the open block; `name` is the pass's name."""

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        writer = StepBuilder(at)
        for position, step in enumerate(inner.steps):
            found = list(find(step, at)) if isinstance(step, Loop) else []
            if isinstance(step, Loop) and found:
                step = stacking(step, [instead for instead, _ in found])
            writer.steps.append(step)
            for instead, write in found:
                write(writer)
                at.note(name, step_path(path, step, position), instead.port.param.name)
        return writer.into(replace(inner, steps=tuple(writer.steps)))

    return map_implicit_captures(block, change)


def updates(loop: Loop, op: str) -> Iterator[tuple[CarriedPort, Leaf]]:
    """Carried values that only one leaf of this operator reads, which returns their next value."""
    made = defining_steps(loop.body)
    for port in ports(loop).carried:
        step = made.get(port.next) if port.next is not None else None
        if not isinstance(step, Leaf) or step.domain or step.op != op:
            continue
        reads = [count_reads(loop.body, value) for value in (port.param, port.next)]
        if port.param in step.operands and reads == [1, 1]:
            yield port, step


def stacking(loop: Loop, found: Collection[CarriedToStack]) -> Loop:
    """The loop with stacks instead of carried values, without the extending steps."""
    view = ports(loop)
    gone = {each.port.param for each in found}
    carried = tuple(port for port in view.carried if port.param not in gone)
    stacked = (*view.stacked, *(each.stack for each in found))
    smaller = rebuild_loop(loop, view._replace(carried=carried, stacked=stacked))
    taken = [each.step for each in found]
    steps = tuple(step for step in smaller.body.steps if step not in taken)
    return replace(smaller, body=replace(smaller.body, steps=steps))


def merged_rows(
    writer: StepBuilder,
    stack: Value,
    row: Value,
    axis: int,
    like: Value | None = None,
    result: Value | None = None,
) -> Value:
    """Concatenate the rows of a stack along one of their own axes.

    [n, *before, k, *behind]  ->  [*before, n * k, *behind]

    If an extent of a row may be 0 or is unknown, the other extents come from `like`: a stack
    without an iteration does not have them.
    """
    shape, extents = writer.at.shape(row), writer.at.extents(row)
    assert shape is not None, "a stack of rows of one shape"
    order = list(range(1, len(shape) + 1))
    order.insert(axis, 0)
    moved = writer.leaf("Transpose", stack, perm=order) if axis else stack
    if extents is not None and 0 not in extents:
        target = np.array([-1 if k == axis else extent for k, extent in enumerate(extents)])
        return writer.leaf("Reshape", moved, writer.constant(target), result=result)
    length = shape[axis]
    assert isinstance(length, int), "rows that are as long as one another"
    assert like is not None, "something that has the extents of the rows"
    places = np.arange(len(shape)) == axis
    count = writer.leaf("Gather", writer.leaf("Shape", stack), writer.constant(np.array([0])))
    along = writer.leaf("Mul", count, writer.constant(np.where(places, length, 0)))
    others = writer.leaf("Mul", writer.leaf("Shape", like), writer.constant(1 - places))
    extents_ = writer.leaf("Add", others, along)
    return writer.leaf("Reshape", moved, extents_, result=result, allowzero=1)
