"""CF410 and CF802: adds the condition of a Loop, and makes trip count and condition scalars.

A missing condition becomes the constant true, as in every runtime (a loop without a condition stops
when its body says so). One of shape [1] is reshaped if the body does not read its condition, so
that no shape inside changes. Declines otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from treadle import ops
from treadle.checks import stays_true
from treadle.ir import (
    Block,
    Constant,
    DType,
    FreshNames,
    Info,
    Leaf,
    Literal,
    Loop,
    Model,
    Step,
    Tensor,
    Type,
    Value,
    ports,
    reads,
    step_path,
)
from treadle.passes.fixes.fix import Fix, all_names, map_program
from treadle.passes.fixes.inferred import inferred_types

_RESHAPE_TAKES_AN_INPUT = 5


@dataclass(slots=True)
class _Work:
    types: Mapping[Value, Type | None]
    names: FreshNames
    opset: int
    done: list[Fix] = field(default_factory=list)


def make_conditions_explicit(model: Model) -> tuple[Model, list[Fix]]:
    """Give each Loop a condition if it has none and its body may turn it false."""
    work = _Work({}, all_names(model), model.opsets.get("", 1))

    def change(block: Block, path: str, _: Step | None) -> Block:
        constants, steps = list(block.constants), []
        for position, step in enumerate(block.steps):
            if isinstance(step, Loop) and _is_unsaid(step):
                value = Value(work.names.fresh("always"), Tensor(DType.BOOL, ()))
                constants.append(Constant(value, Literal.of(np.array(True))))
                done = f'gave the condition "{value.name}", which is true'
                work.done.append(Fix("CF410", step_path(path, step, position), done))
                step = replace(step, condition=value)
            steps.append(step)
        return replace(block, constants=tuple(constants), steps=tuple(steps))

    mended = map_program(model, change)
    return (mended, work.done) if work.done else (model, [])


def _is_unsaid(loop: Loop) -> bool:
    if loop.condition is not None:
        return False
    view = ports(loop)
    return view.next_condition is not None and not stays_true(
        loop.body, view.next_condition, view.condition
    )


def make_scalar(model: Model) -> tuple[Model, list[Fix]]:
    """Make trip counts and conditions of Loops scalars, where that is safe."""
    work = _Work(inferred_types(model), all_names(model), model.opsets.get("", 1))
    if work.opset < _RESHAPE_TAKES_AN_INPUT:
        return model, []

    def change(block: Block, path: str, _: Step | None) -> Block:
        constants, steps = list(block.constants), list[Step]()
        for position, step in enumerate(block.steps):
            if isinstance(step, Loop):
                at = step_path(path, step, position)
                step = _with_scalars(work, step, constants, steps, at)
            steps.append(step)
        return replace(block, constants=tuple(constants), steps=tuple(steps))

    mended = map_program(model, change)
    return (mended, work.done) if work.done else (model, [])


def _with_scalars(
    work: _Work, loop: Loop, constants: list[Constant], steps: list[Step], path: str
) -> Loop:
    if loop.trip is not None and _has_rank(work, loop.trip):
        loop = replace(loop, trip=_reshaped(work, loop.trip, constants, steps, path))
    if loop.condition is not None and _is_unseen(loop) and _has_rank(work, loop.condition):
        loop = replace(loop, condition=_reshaped(work, loop.condition, constants, steps, path))
    return loop


def _is_unseen(loop: Loop) -> bool:
    # the body only passes the condition on as the next one
    view = ports(loop)
    passed = {view.condition}
    for step in loop.body.steps:
        if passed & set(reads(step)):
            if not isinstance(step, Leaf) or step.domain or step.op != "Identity":
                return False
            passed |= set(step.results)
    return not passed & set(loop.body.results[1:])


def _has_rank(work: _Work, value: Value) -> bool:
    type_ = work.types.get(value)
    return isinstance(type_, Tensor) and bool(type_.shape)


def _reshaped(
    work: _Work, value: Value, constants: list[Constant], steps: list[Step], path: str
) -> Value:
    shape = Value(work.names.fresh("scalar_shape"), Tensor(DType.INT64, (0,)))
    constants.append(Constant(shape, Literal.of(np.empty(0, np.int64))))
    scalar = Value(work.names.fresh(f"{value.name}_scalar"))
    version = ops.since_version("", "Reshape", work.opset) or work.opset
    steps.append(Leaf("", "Reshape", version, (value, shape), (scalar,), info=Info(op="Reshape")))
    work.done.append(Fix("CF802", path, f'reshaped "{value.name}" to the scalar "{scalar.name}"'))
    return scalar
