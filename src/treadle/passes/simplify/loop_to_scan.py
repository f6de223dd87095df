"""Turns loops that read item `i` of outer tensors in iteration `i` into Scans, which slice them.

    loop(i) x 5: ... Gather(x, i) ...           scan(row of x): ... row ...
    loop(i) x 5: ... Gather(x, 6 - i) ...       scan(row of x[2:7], from the last): ... row ...
    loop(i) x 5: ... Slice(x, i, i + 1) ...     scan(row of x): ... Unsqueeze(row) ...

In onnxruntime an iteration of a Scan is faster than one of a Loop, and small items are read in
place; large items are not (measured: `docs/optimizing.md`). Runs when no other pass has anything
left to do. Declines if the number of iterations is unknown, since onnxruntime rejects a Scan of
length 0, if an item may be out of range, if a state may change its shape, and if the items of one
iteration have more than 4,096 elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from treadle.ir import (
    Block,
    Leaf,
    Loop,
    Sliced,
    SlicedPort,
    Step,
    Value,
    block_values,
    defining_steps,
    ports,
    step_path,
    tensor,
)
from treadle.passes.simplify.captures import map_implicit_captures
from treadle.passes.simplify.context import FEW, PassContext
from treadle.passes.simplify.induction import AffineIndex, affine_in_iteration
from treadle.passes.simplify.loop_rebuild import count_reads, rebuild_loop
from treadle.passes.simplify.operators import NUMBERS, attribute, axis_in, operand
from treadle.passes.simplify.speculation import keeps_element, keeps_kind
from treadle.passes.simplify.step_builder import StepBuilder

NAME = "loops converted to Scan"
_LARGEST_ITEMS = 4096
_AXES_ARE_INPUTS = 13
_OLDEST = 11
"""The opset with a Scan without batch axis, Slice by inputs, and Range."""


class _Item(NamedTuple):
    """A step of a body that reads one item of an outer tensor, with the affine index."""

    step: Leaf
    axis: int
    where: AffineIndex
    keeps_axis: bool

    @property
    def tensor(self) -> Value:
        """The outer tensor."""
        tensor = self.step.operands[0]
        assert tensor is not None, "its extents are certain"
        return tensor


def loops_to_scans(block: Block, at: PassContext) -> Block:
    """Make the loops of the open block slice the tensors that they read item by item."""
    if at.done or at.opset < _OLDEST:
        return block

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        writer = StepBuilder(at)
        for position, step in enumerate(inner.steps):
            trips = _trips(step, at) if isinstance(step, Loop) else 0
            if isinstance(step, Loop) and trips:
                step = _scan(step, trips, step_path(path, step, position), writer)
            writer.steps.append(step)
        return writer.into(replace(inner, steps=tuple(writer.steps)))

    return map_implicit_captures(block, change)


def _trips(loop: Loop, at: PassContext) -> int:
    """The known number of iterations of the loop; 0 if it cannot be a Scan."""
    view = ports(loop)
    if view.sliced or loop.info.domain:
        return 0
    if view.next_condition is not None and at.truth(view.next_condition) is not True:
        return 0
    if view.condition is not None and count_reads(loop.body, view.condition):
        return 0
    if loop.condition is not None and at.truth(loop.condition) is not True:
        return 0
    if view.iteration is None or at.shape(view.iteration) != () or view.invariants:
        return 0
    return max(at.whole(loop.trip) or 0, 0)


def _scan(loop: Loop, trips: int, path: str, writer: StepBuilder) -> Loop:
    """The loop as a Scan, with preceding slices; the loop itself if that is not possible."""
    at, found = writer.at, _items(loop, trips, writer.at)
    if not found or sum(_size(item, at) for item in found) > _LARGEST_ITEMS:
        return loop
    view, state = ports(loop), replace(loop, fixed_state=True)
    if not all(keeps_kind(state, port, at) for port in view.carried):
        return loop
    if not all(keeps_element(port, at) for port in view.stacked):
        return loop
    at.note(NAME, path, f"{trips} items")
    return scan_of(loop, trips, writer)


def scan_of(loop: Loop, trips: int, writer: StepBuilder) -> Loop:
    """The loop as a Scan of its items; over numbers if it reads none."""
    at, found, view = writer.at, _items(loop, trips, writer.at), ports(loop)
    info = replace(loop.info, op="Scan", version=at.version("Scan") or 0, attributes={})
    empty = view._replace(iteration=None, condition=None, next_condition=None)
    scan = replace(
        rebuild_loop(loop, empty), trip=None, condition=None, info=info, fixed_state=True
    )
    inside = StepBuilder(at)
    sliced = [_sliced(item, trips, writer, inside) for item in found]
    taken = [item.step for item in found]
    inside.steps += (step for step in loop.body.steps if step not in taken)
    body = inside.into(replace(scan.body, steps=tuple(inside.steps)))
    number = view.iteration or Value("iteration", tensor("int64"))
    if not sliced or count_reads(body, number):
        sliced.append(_numbers(number, trips, writer))
    return rebuild_loop(replace(scan, body=body), ports(scan)._replace(sliced=tuple(sliced)))


def _items(loop: Loop, trips: int, at: PassContext) -> list[_Item]:
    """The items that the body reads one by one from outer tensors."""
    made, inside = defining_steps(loop.body), set(block_values(loop.body))
    found = []
    for step in loop.body.steps:
        if not isinstance(step, Leaf) or step.domain or step.op not in _READERS:
            continue
        item = _READERS[step.op](loop, step, made, at)
        if item is None or step.operands[0] in inside or step.results[0] is None:
            continue
        extents = at.extents(step.operands[0])
        if extents is None or not axis_in(item.axis, len(extents)):
            continue
        low, high = item.where.range(trips)
        if low >= 0 and high <= extents[item.axis] and at.dtype(step.operands[0]) in NUMBERS:
            found.append(item._replace(axis=item.axis % len(extents)))
    return found


_Made = Mapping[Value, Step]


def _gather(loop: Loop, step: Leaf, made: _Made, at: PassContext) -> _Item | None:
    where, axis = affine_in_iteration(loop, step.operands[1], made, at), attribute(step, "axis", 0)
    if where is None or at.shape(step.operands[1]) != () or not isinstance(axis, int):
        return None
    return _Item(step, axis, where, keeps_axis=False)


def _slice(loop: Loop, step: Leaf, made: _Made, at: PassContext) -> _Item | None:
    if at.opset < _AXES_ARE_INPUTS:
        return None
    first, behind = (affine_in_iteration(loop, operand(step, k), made, at) for k in (1, 2))
    axis = 0 if operand(step, 3) is None else at.whole(operand(step, 3))
    stride = 1 if operand(step, 4) is None else at.whole(operand(step, 4))
    if first is None or behind != first._replace(first=first.first + 1):
        return None
    if axis is None or stride != 1:
        return None
    return _Item(step, axis, first, keeps_axis=True)


_READERS: Mapping[str, Callable[[Loop, Leaf, _Made, PassContext], _Item | None]] = {
    "Gather": _gather,
    "Slice": _slice,
}


def _size(item: _Item, at: PassContext) -> int:
    extents = at.extents(item.tensor) or ()
    return prod(extents) // extents[item.axis]


def _sliced(item: _Item, trips: int, before: StepBuilder, inside: StepBuilder) -> SlicedPort:
    """The port for the item; a tensor with more items is sliced before the loop."""
    tensor, (result,) = item.tensor, item.step.results
    extents, (low, high) = before.at.extents(tensor) or (), item.where.range(trips)
    if high - low < extents[item.axis]:
        bounds = [before.constant(np.array([n])) for n in (low, high, item.axis)]
        tensor = before.leaf("Slice", tensor, *bounds)
    assert result is not None, "looked at by _items"
    param = result
    if item.keeps_axis:
        param = Value(f"{result.name}_item")
        inside.leaf("Unsqueeze", param, inside.constant(np.array([item.axis])), result=result)
    return SlicedPort(tensor, param, Sliced(item.axis, item.where.back))


def _numbers(iteration: Value, trips: int, writer: StepBuilder) -> SlicedPort:
    """The port for the iteration number."""
    if trips <= FEW:
        return SlicedPort(writer.constant(np.arange(trips)), iteration, Sliced())
    bounds = [writer.constant(np.array(n)) for n in (0, trips, 1)]
    return SlicedPort(writer.leaf("Range", *bounds), iteration, Sliced())
