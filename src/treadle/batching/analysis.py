"""Walks the blocks of a model once; loops until the states of carried values are stable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from treadle import ops
from treadle.batching.rules import result_states
from treadle.batching.states import ROWS, Axis, Mixed, Operator, State, depends, rank_of, shape_of
from treadle.infer import infer
from treadle.ir import (
    Block,
    Branch,
    Call,
    Leaf,
    Loop,
    Model,
    Step,
    Symbol,
    Tensor,
    Value,
    clone_with_new_values,
    ports,
    reads,
    step_path,
)

_MOST_PASSES = 8
States = dict[Value, State]


def batch_axes(model: Model, axes: Mapping[str, int]) -> dict[str, int | None]:
    """The batch axis of every output; None for an output that does not depend on the batch.

    `axes` are the batch axes of inputs by name; other inputs are shared by all rows. The model has
    no calls (`passes.prepare`). Raises Mixed, with the step, if a row of an output may depend on
    other rows.
    """
    model = infer(_with_rows(model, axes))
    states: States = {
        value: Axis(axes[value.name]) for value in model.main.params if value.name in axes
    }
    found = _Analysis().block(model.main, "main", states)
    outputs: dict[str, int | None] = {}
    for value, state in zip(model.main.results, found, strict=True):
        if value is not None:
            outputs[value.name] = _output_axis(value, state)
    return outputs


def _output_axis(value: Value, state: State) -> int | None:
    if isinstance(state, Axis):
        return state.number
    if depends(state):
        raise Mixed(f"the output {value.name} depends on the number of rows")
    return None


def _with_rows(model: Model, axes: Mapping[str, int]) -> Model:
    """The model with the extent of its batch axes replaced by a unique symbol."""
    batched = {value for value in model.main.params if value.name in axes}

    def change(value: Value) -> Value:
        declared = value.declared
        if value not in batched or not isinstance(declared, Tensor) or declared.shape is None:
            return replace(value)
        axis, dims = axes[value.name], list(declared.shape)
        if not 0 <= axis < len(dims):
            raise Mixed(f"the input {value.name} has no axis {axis}")
        dims[axis] = Symbol(ROWS)
        return replace(value, declared=replace(declared, shape=tuple(dims)))

    return replace(model, main=clone_with_new_values(model.main, change))


class _Analysis:
    """The constants by value, and the rules applied step by step."""

    def __init__(self) -> None:
        self.known: dict[Value, np.ndarray] = {}

    def block(self, block: Block, path: str, states: States) -> list[State]:
        """The states of the results, from those of the params."""
        for constant in block.constants:
            self.known[constant.value] = constant.array
        for position, step in enumerate(block.steps):
            location = step_path(path, step, position)
            try:
                made = self.step(step, location, states)
            except Mixed as why:
                raise why if why.path else Mixed(why.reason, location) from None
            for value, state in zip(step.results, made, strict=True):
                if value is not None:
                    states[value] = _settled(state)
        return [None if value is None else states.get(value) for value in block.results]

    def step(self, step: Step, path: str, states: States) -> list[State]:
        """The states of a step's results."""
        match step:
            case Leaf():
                return self.leaf(step, states)
            case Branch():
                return self.branch(step, path, states)
            case Loop():
                return self.loop(step, path, states)
            case Call():
                raise Mixed(f"a call of {step.function} was not inlined")

    def leaf(self, leaf: Leaf, states: States) -> list[State]:
        """Apply the operator's rule.

        A leaf without batched operands does not depend on the batch.
        """
        found = tuple(None if value is None else states.get(value) for value in leaf.operands)
        if leaf.op == "Constant" and not leaf.domain and leaf.results[0] is not None:
            held = _constant(leaf)
            if held is not None:
                self.known[leaf.results[0]] = held
        if leaf.blocks and any(map(depends, (states.get(v) for v in reads(leaf) if v is not None))):
            raise Mixed(f"the bodies of {leaf.op} cannot be analysed")
        known = tuple(None if value is None else self.known.get(value) for value in leaf.operands)
        return result_states(Operator(leaf, found, known))

    def branch(self, step: Branch, path: str, states: States) -> list[State]:
        """Join both branches: they must have the same batch axes, for one condition."""
        if depends(states.get(step.condition)):
            raise Mixed("rows may take different branches")
        given = [None if value is None else states.get(value) for value in step.operands]
        found = []
        for name, body in (("then_branch", step.then), ("else_branch", step.otherwise)):
            self._enter(body, step.operands)
            inner: States = dict(zip(body.params, given, strict=True))
            found.append(self.block(body, f"{path}.{name}", inner))
        return [_joined(left, right, "the branches") for left, right in zip(*found, strict=True)]

    def _enter(self, body: Block, operands: tuple[Value | None, ...]) -> None:
        for param, operand in zip(body.params, operands, strict=True):
            if operand is not None and operand in self.known:
                self.known[param] = self.known[operand]

    def loop(self, loop: Loop, path: str, states: States) -> list[State]:
        """Iterate the states of carried values until they are stable."""
        view = ports(loop)
        for value, what in ((loop.trip, "trip count"), (loop.condition, "condition")):
            if value is not None and depends(states.get(value)):
                raise Mixed(f"the {what} of the loop depends on the batch")
        outer: States = {}
        for operand, param in view.invariants:
            outer[param] = None if operand is None else states.get(operand)
            if operand is not None and operand in self.known:
                self.known[param] = self.known[operand]
        for operand, param, role in view.sliced:
            outer[param] = _item(None if operand is None else states.get(operand), operand, role)
        carried = [None if p.initial is None else states.get(p.initial) for p in view.carried]
        for _ in range(_MOST_PASSES):
            inner = dict(outer)
            inner.update({port.param: s for port, s in zip(view.carried, carried, strict=True)})
            condition, *given = self.block(loop.body, f"{path}.body", inner)
            if depends(condition):
                raise Mixed("rows may end the loop in different iterations")
            after = [
                _carried(before, new, port.param)
                for port, before, new in zip(view.carried, carried, given, strict=False)
            ]
            if after == carried:
                stacked = given[len(carried) :]
                elements = zip(stacked, loop.stacks, view.stacked, strict=True)
                return [*carried, *(_stacked(s, role.axis, p.result) for s, role, p in elements)]
            carried = after
        raise Mixed("the batch axes of the carried values do not converge")


def _item(state: State, operand: Value | None, role: object) -> State:
    """The state of a slice of a value."""
    if not isinstance(state, Axis):
        if depends(state):
            raise Mixed("the loop iterates over extents")
        return None
    axis = getattr(role, "axis", 0)
    axis += rank_of(operand) if axis < 0 else 0
    if axis == state.number:
        raise Mixed("the loop iterates over the rows")
    return Axis(state.number - (axis < state.number))


def _stacked(state: State, axis: int, result: Value | None) -> State:
    if not isinstance(state, Axis):
        if depends(state):
            raise Mixed("the loop stacks extents")
        return None
    axis += rank_of(result) if axis < 0 else 0
    return Axis(state.number + (axis <= state.number))


def _carried(before: State, after: State, param: Value) -> State:
    """The state of a carried value at the start of any iteration."""
    if isinstance(after, Axis) and before is None:
        shape = shape_of(param)
        if shape is None or shape[after.number] != Symbol(ROWS):
            raise Mixed("a carried value has rows only after the first iteration")
        return after
    return _joined(before, after, "the iterations")


def _joined(left: State, right: State, what: str) -> State:
    if left == right:
        return left
    if not depends(left) and not depends(right):
        return None
    raise Mixed(f"{what} give a value different batch axes")


def _settled(state: State) -> State:
    """Replace extents that do not depend on the batch by a plain value."""
    return state if depends(state) else None


def _constant(leaf: Leaf) -> np.ndarray | None:
    """The value of a Constant that is a tensor."""
    known = ops.bind_kernel(leaf)(())[0]
    return known if isinstance(known, np.ndarray) else None
