"""Writes ReadValue and Assign for an input `state:NAME` and its output `state:NAME:next`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from treadle.formats.openvino.write.encoding import show_shape, word_of
from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.scope import Scope, tensor_of
from treadle.ir import Block, Literal, Value

PREFIX, SUFFIX = "state:", ":next"


class State(NamedTuple):
    """A variable: its input, its initial value, and the output with its next value."""

    name: str
    param: Value
    initial: Literal
    next: Value


def states_of(main: Block) -> Mapping[Value, State]:
    """The variables among the inputs of a main block, by the names that reading gives them."""
    params = set(main.params)
    results = {value.name: value for value in main.results if value is not None}
    found = {}
    for constant in main.constants:
        param, data = constant.value, constant.data
        later = results.get(f"{param.name}{SUFFIX}")
        if param not in params or later is None or not isinstance(data, Literal):
            continue
        if param.name.startswith(PREFIX):
            found[param] = State(param.name.removeprefix(PREFIX), param, data, later)
    return found


def enter_state(scope: Scope, state: State) -> Wire:
    """The layer that reads a variable."""
    type_ = tensor_of(state.param.name, state.param.type)
    data = {
        "variable_id": state.name,
        "variable_type": word_of(type_.dtype),
        "variable_shape": show_shape(type_.shape),
    }
    initial = scope.draft.constant(state.initial)
    scope.draft.origin = state.param.name
    return scope.draft.layer("ReadValue-6", (initial,), (type_,), data)[0]


def leave_state(scope: Scope, state: State, wire: Wire) -> None:
    """The layer that assigns a variable its next value."""
    scope.draft.layer("Assign-6", (wire,), (wire.type,), {"variable_id": state.name})
