"""Removes steps that return an operand unchanged.

    Identity(x)    Cast(x) to its own type    Slice(x) of everything    Reshape, Expand, Transpose,
    Flatten that change nothing    Concat, Sum, Max, Min, Mean of one    Dropout outside training
    x + 0, x * 1 of integers        x and true, x or false

An Identity stays if the block's result is not defined by a step of the block, or is repeated,
because runtimes answer such results wrongly. In main, the step that defines the copied value takes
over the output. Declines if types or shapes are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from treadle.ir import (
    Block,
    Info,
    Leaf,
    Step,
    Value,
    defining_steps,
    operator_of,
    step_path,
    with_results,
)
from treadle.passes.simplify.captures import map_implicit_captures, replaced
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.operators import attribute, operand
from treadle.passes.simplify.speculation import is_speculatable

NAME = "identities eliminated"
_END = np.iinfo(np.int64).max


def eliminate_identities(block: Block, at: PassContext) -> Block:
    """Remove steps that only return an operand."""
    by: dict[Value, Value | None] = {}
    pinned: set[Value] = set()

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        made = defining_steps(inner)
        final = [_last(value, by) for value in inner.results]
        steps: list[Step] = []
        for position, step in enumerate(inner.steps):
            copied = copied_operand(step, made, at)
            if copied is None:
                steps.append(step)
                continue
            (result,) = (value for value in step.results if value is not None)
            source = _last(copied, by)
            assert source is not None
            if result in inner.results and (source not in made or source in final):
                by[result] = source
                pinned.add(result)
                steps.append(_identity(step, copied, result, at))
                continue
            at.note(NAME, step_path(path, step, position), operator_of(step))
            if result in inner.results and owner is None:
                by[source] = result
                steps = [with_results(each, {source: result}) for each in steps]
                made = {**made, result: made[source]}
            else:
                by[result] = source
            final = [_last(value, by) for value in inner.results]
        return replace(inner, steps=tuple(steps))

    return replaced(map_implicit_captures(block, change), by, pinned)


def _last(value: Value | None, by: Mapping[Value, Value | None]) -> Value | None:
    while value is not None and value in by:
        value = by[value]
    return value


def _identity(step: Step, copied: Value, result: Value, at: PassContext) -> Step:
    if isinstance(step, Leaf) and step.op == "Identity":
        return step
    version = at.version("Identity") or 1
    info = Info(op="Identity", version=version, path=step.info.path)
    return Leaf("", "Identity", version, (copied,), (result,), info=info)


def copied_operand(step: Step, made: Mapping[Value, Step], at: PassContext) -> Value | None:
    """The value that the step's only result is a copy of."""
    if not isinstance(step, Leaf) or step.domain or step.blocks or not step.operands:
        return None
    given = [value for value in step.results if value is not None]
    rule = _RULES.get(step.op)
    if rule is None or len(given) != 1 or step.results[0] is None or step.operands[0] is None:
        return None
    return step.operands[0] if rule(step, made, at) else None


_Made = Mapping[Value, Step]
_Rule = Callable[[Leaf, _Made, PassContext], bool]


def _always(leaf: Leaf, made: _Made, at: PassContext) -> bool:
    return True


def _same_dtype(leaf: Leaf, made: _Made, at: PassContext) -> bool:
    dtype = at.dtype(leaf.operands[0])
    return dtype is not None and dtype is at.dtype(leaf.results[0])


def _same_extents(leaf: Leaf, made: _Made, at: PassContext) -> bool:
    extents = at.extents(leaf.operands[0])
    return (
        extents is not None and extents == at.extents(leaf.results[0]) and is_speculatable(leaf, at)
    )


def _reshaped(leaf: Leaf, made: _Made, at: PassContext) -> bool:
    if _same_extents(leaf, made, at):
        return True
    shape = made.get(leaf.operands[1]) if len(leaf.operands) > 1 and leaf.operands[1] else None
    if not isinstance(shape, Leaf) or shape.domain or shape.op != "Shape" or shape.attributes:
        return False
    return shape.operands[0] is leaf.operands[0]


def _expanded(leaf: Leaf, made: _Made, at: PassContext) -> bool:
    if _same_extents(leaf, made, at):
        return True
    shape, target = at.shape(leaf.operands[0]), at.array(operand(leaf, 1))
    if shape is None or target is None or target.ndim != 1 or len(target) > len(shape):
        return False
    return bool((target == 1).all())


def _whole_slice(leaf: Leaf, made: _Made, at: PassContext) -> bool:
    if not is_speculatable(leaf, at):
        return False
    shape = at.shape(leaf.operands[0])
    starts, ends, axes, steps = (at.array(operand(leaf, k)) for k in range(1, 5))
    if shape is None or starts is None or ends is None:
        return False
    if steps is not None and (steps != 1).any():
        return False
    named = range(len(starts)) if axes is None else map(int, axes)
    return all(
        _is_whole(int(start), int(end), shape[axis])
        for start, end, axis in zip(starts, ends, named, strict=True)
    )


def _is_whole(start: int, end: int, extent: object) -> bool:
    if isinstance(extent, int):
        return (start == 0 or start <= -extent) and end >= extent
    return start == 0 and end == _END


def _in_order(leaf: Leaf, made: _Made, at: PassContext) -> bool:
    order = attribute(leaf, "perm")
    return (
        is_speculatable(leaf, at) and isinstance(order, tuple) and order == tuple(range(len(order)))
    )


def _is_flat(leaf: Leaf, made: _Made, at: PassContext) -> bool:
    shape = at.shape(leaf.operands[0])
    return shape is not None and len(shape) == 2 and attribute(leaf, "axis", 1) in (1, -1)


def _alone(leaf: Leaf, made: _Made, at: PassContext) -> bool:
    return len(leaf.operands) == 1 and is_speculatable(leaf, at)


def _resting(leaf: Leaf, made: _Made, at: PassContext) -> bool:
    return leaf.version >= _NEVER_TRAINS_BY_ITSELF and operand(leaf, 2) is None


def _neutral(number: int, leaf: Leaf, made: _Made, at: PassContext) -> bool:
    dtype = at.dtype(leaf.results[0])
    if dtype is None or dtype.numpy.kind not in "biu" or not is_speculatable(leaf, at):
        return False
    added = leaf.operands[1]
    return at.shape(added) == () and _number(at.array(added)) == number


def _number(array: np.ndarray | None) -> int | None:
    return None if array is None else int(array.reshape(-1)[0])


_NEVER_TRAINS_BY_ITSELF = 7

_RULES: Mapping[str, _Rule] = {
    "Identity": _always,
    "Cast": _same_dtype,
    "CastLike": _same_dtype,
    "Reshape": _reshaped,
    "Expand": _expanded,
    "Slice": _whole_slice,
    "Transpose": _in_order,
    "Flatten": _is_flat,
    "Squeeze": _same_extents,
    "Unsqueeze": _same_extents,
    "Tile": _same_extents,
    "Concat": _alone,
    "Sum": _alone,
    "Max": _alone,
    "Min": _alone,
    "Mean": _alone,
    "Dropout": _resting,
    "Add": partial(_neutral, 0),
    "Sub": partial(_neutral, 0),
    "Or": partial(_neutral, 0),
    "Mul": partial(_neutral, 1),
    "Div": partial(_neutral, 1),
    "And": partial(_neutral, 1),
}
