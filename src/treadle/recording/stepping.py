"""What goes into a body and comes out of it, where a loop or branch runs a body at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from treadle.ir import Block, Branch, Condition, Loop, Sliced, Value, declared_rank, ports
from treadle.passes.surgery import LoopWindow
from treadle.tracing import Column

Values = Mapping[str, Any]
"""Values of a block by name."""


def branch_taken(branch: Branch, values: Values) -> tuple[str, Block]:
    """The body that a branch takes, and its name."""
    is_true = bool(np.asarray(values[branch.condition.name]).all())
    return ("then_branch", branch.then) if is_true else ("else_branch", branch.otherwise)


def branch_inputs(branch: Branch, body: Block, values: Values) -> dict[str, Any]:
    """The inputs of a body of a branch."""
    pairs = zip(body.params, branch.operands, strict=True)
    return {param.name: value_of(operand, values) for param, operand in pairs}


def loop_inputs(
    loop: Loop, window: LoopWindow, values: Values, number: int, goes_on: Any
) -> dict[str, Any]:
    """The inputs of a loop's body in one iteration.

    `values` has what the loop carries under the names of its results.
    """
    port = ports(loop)
    found = {each.param.name: value_of(each.operand, values) for each in port.invariants}
    for state, carried in zip(window.states, port.carried, strict=True):
        found[carried.param.name] = values[state.result]
    for sliced in port.sliced:
        items = items_of(value_of(sliced.operand, values), sliced.role, number, 1)
        found[sliced.param.name] = np.squeeze(items, axis=sliced.role.axis)
    if port.iteration is not None:
        shape = (1,) * window.number_rank
        found[port.iteration.name] = np.full(shape, number, np.int64)
    for position, role in enumerate(loop.roles):
        if isinstance(role, Condition):
            shape = (1,) * declared_rank(loop, position)
            condition = np.asarray(goes_on, bool).reshape(shape)
            found[loop.body.params[position].name] = condition
    return found


def items_of(source: Any, role: Sliced, start: int, count: int) -> np.ndarray:
    """Items of a sliced value, from iteration `start` on."""
    array = np.asarray(source)
    extent = array.shape[role.axis]
    ends = (extent - start - count, extent - start) if role.reverse else (start, start + count)
    picked = [slice(None)] * array.ndim
    picked[role.axis] = slice(*ends)
    return array[tuple(picked)]


def value_of(value: Value | None, values: Values) -> Any:
    """The value of that name; None if it is left out."""
    return None if value is None else values[value.name]


def once(path: str, name: str, value: Any, step: str = "") -> Column:
    """The recorded occurrence of a value of the main block."""
    made = value if isinstance(value, list) or value is None else np.asarray(value)
    return Column(path, name, [made], np.zeros((1, 0), np.int64), (), step)


def inside(column: Column, block: str, iterations: tuple[int, ...]) -> Column:
    """A column of a block that has been run alone, as one of the whole model.

    `iterations` are those of the loops around the block.
    """
    path = in_whole(column.path, block)
    if not iterations:
        return replace(column, path=path)
    around = np.broadcast_to(np.array(iterations, np.int64), (len(column), len(iterations)))
    numbers = np.concatenate([around, column.at], axis=1)
    return replace(column, path=path, numbers=numbers, extents=(), start=0)


def in_whole(path: str, block: str) -> str:
    """The path of a block in the whole model, where the main block of a part is that at `block`."""
    return block if path == "main" else path
