"""Turns lists that a loop builds by SequenceInsert at the end into stacked results.

    loop(s from SequenceEmpty): ... SequenceInsert(s, e) -> S       loop(): ... stacked e -> T
    ConcatFromSequence<new_axis = 1>(S)                             T, or Transpose(T)
    ConcatFromSequence(S)                                           Reshape(T)
    SequenceLength(S)                                               Shape(T)[0]
    SequenceAt(S, k)                                                Gather(T, k)

Concatenating an empty list is an error, an empty stack is not: if the loop may not run, a Reshape
that fails for an empty stack is inserted. Declines if the elements are not known to be numeric
tensors of one shape, and if another step reads the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeGuard

import numpy as np

from treadle.ir import (
    Block,
    Leaf,
    Loop,
    Stacked,
    StackedPort,
    Step,
    Value,
    bodies,
    reads,
    step_path,
)
from treadle.passes.simplify.captures import map_implicit_captures
from treadle.passes.simplify.carried_to_stack import CarriedToStack, merged_rows, stacking, updates
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.operators import NUMBERS, attribute, axis_in, operand
from treadle.passes.simplify.speculation import keeps_element, runs_at_least_once
from treadle.passes.simplify.step_builder import StepBuilder

NAME = "sequences converted to stacked outputs"
_LOOPS_CARRY_LISTS = 13


class _List(NamedTuple):
    """A list built by a loop: its elements, the stack that replaces it, whether it has items."""

    instead: CarriedToStack
    element: Value
    stack: Value
    has_items: bool

    @property
    def value(self) -> Value | None:
        """The list itself, after the loop."""
        return self.instead.port.result


def sequences_to_stacks(block: Block, at: PassContext) -> Block:
    """Stack lists that the loops of the open block only append to."""

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        for position, step in enumerate(inner.steps):
            for found in _lists(step, at) if isinstance(step, Loop) else ():
                if _all_fit(inner, found, at):
                    inner = _with_stack(inner, found, at)
                    name = found.instead.port.param.name
                    at.note(NAME, step_path(path, step, position), name)
        return inner

    return map_implicit_captures(block, change) if at.opset >= _LOOPS_CARRY_LISTS else block


def _lists(loop: Loop, at: PassContext) -> Iterator[_List]:
    for port, insert in updates(loop, "SequenceInsert"):
        fact = at.facts.get(port.initial) if port.initial is not None else None
        element = insert.operands[1]
        if fact is None or fact.count != 0 or element is None or operand(insert, 2) is not None:
            continue
        stack = Value(port.result.name if port.result is not None else "stack")
        stacked = StackedPort(element, stack, Stacked())
        is_list = insert.operands[0] is port.param and at.dtype(element) in NUMBERS
        if is_list and keeps_element(stacked, at):
            instead = CarriedToStack(port, insert, stacked)
            yield _List(instead, element, stack, runs_at_least_once(loop, at))


def _all_fit(block: Block, found: _List, at: PassContext) -> bool:
    value = found.value
    if value is None:
        return True
    return value not in block.results and all(
        _fits(step, found, at)
        if value in reads(step)
        else all(_all_fit(body, found, at) for _, body in bodies(step))
        for step in block.steps
    )


def _fits(step: Step, found: _List, at: PassContext) -> bool:
    if not isinstance(step, Leaf) or step.domain:
        return False
    extents, shape = at.extents(found.element), at.shape(found.element)
    assert shape is not None, "a list of elements of one shape"
    if step.op == "SequenceAt":
        return at.shape(step.operands[1]) == () and step.operands[1] is not found.value
    if step.op == "ConcatFromSequence" and attribute(step, "new_axis", 0):
        return axis_in(attribute(step, "axis"), len(shape) + 1)
    if step.op == "ConcatFromSequence":
        fits = axis_in(attribute(step, "axis"), len(shape))
        return fits and extents is not None and min(extents) > 0
    return step.op == "SequenceLength"


def _with_stack(block: Block, found: _List, at: PassContext) -> Block:
    """The open block whose loop stacks, and whose steps read the stack."""
    steps = tuple(
        stacking(step, [found.instead]) if _carries(step, found) else step for step in block.steps
    )
    return _rewritten(replace(block, steps=steps), found, at)


def _carries(step: Step, found: _List) -> TypeGuard[Loop]:
    return isinstance(step, Loop) and found.instead.port.param in step.body.params


def _rewritten(block: Block, found: _List, at: PassContext) -> Block:
    """The open block whose steps read the stack instead of the list."""
    if found.value is None:
        return block

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        writer = StepBuilder(at)
        for step in inner.steps:
            if isinstance(step, Leaf) and found.value in step.operands:
                _REWRITES[step.op](writer, step, found)
            else:
                writer.steps.append(step)
        return writer.into(replace(inner, steps=tuple(writer.steps)))

    return map_implicit_captures(block, change)


def _joined(writer: StepBuilder, step: Leaf, found: _List) -> None:
    shape = writer.at.shape(found.element)
    axis, result = attribute(step, "axis"), step.results[0]
    assert shape is not None, "a list of elements of one shape"
    assert isinstance(axis, int), "looked at by _fits"
    stack = found.stack if found.has_items else _not_empty(writer, found)
    if not attribute(step, "new_axis", 0):
        merged_rows(writer, stack, found.element, axis % len(shape), result=result)
        return
    order = list(range(1, len(shape) + 1))
    order.insert(axis % (len(shape) + 1), 0)
    if order == sorted(order):
        writer.leaf("Identity", stack, result=result)
    else:
        writer.leaf("Transpose", stack, result=result, perm=order)


def _not_empty(writer: StepBuilder, found: _List) -> Value:
    """The stack; fails at run time if it has no items.

    if all(extent != 0 for extent in element_shape):
        return stack.reshape(max(stack.shape, 1))
    return stack.reshape(stack.shape + [0][2 * (sign(stack.shape[0]) - 1)])   # index -2 fails
    """
    shape = writer.leaf("Shape", found.stack)
    extents = writer.at.extents(found.element)
    if extents is not None and 0 not in extents:
        target = writer.leaf("Max", shape, writer.constant(np.array([1])))
        return writer.leaf("Reshape", found.stack, target)
    length = writer.leaf("Gather", shape, writer.constant(np.array([0])))
    below = writer.leaf("Sub", writer.leaf("Sign", length), writer.constant(np.array([1])))
    zero = writer.constant(np.array([0]))
    nothing = writer.leaf("Gather", zero, writer.leaf("Add", below, below))
    return writer.leaf("Reshape", found.stack, writer.leaf("Add", shape, nothing))


def _length(writer: StepBuilder, step: Leaf, found: _List) -> None:
    shape = writer.leaf("Shape", found.stack)
    writer.leaf("Gather", shape, writer.constant(np.array(0)), result=step.results[0])


def _item(writer: StepBuilder, step: Leaf, found: _List) -> None:
    index = step.operands[1]
    assert index is not None, "SequenceAt has a position"
    writer.leaf("Gather", found.stack, index, result=step.results[0])


_REWRITES: Mapping[str, Callable[[StepBuilder, Leaf, _List], None]] = {
    "ConcatFromSequence": _joined,
    "SequenceLength": _length,
    "SequenceAt": _item,
}
