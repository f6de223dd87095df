"""LSTM, GRU and RNN as sequences.

OpenVINO has the batch first and the gates of an LSTM as f i c o; ONNX time first and i o f c. Its
one bias is the sum of ONNX's two, but for a GRU with linear_before_reset, which has a fourth part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Function, Made, register
from treadle.formats.openvino.write.refusals import Refusal

_FUNCTIONS = frozenset(("sigmoid", "tanh", "relu"))


class _Kind(NamedTuple):
    """One kind of cell: its gates, OpenVINO's gate positions in ONNX's rows, and its states."""

    op: str
    gates: tuple[int, ...]
    activations: tuple[str, ...]
    states: int


_KINDS = (
    _Kind("LSTM", (2, 0, 3, 1), ("sigmoid", "tanh", "tanh"), 2),
    _Kind("GRU", (0, 1, 2), ("sigmoid", "tanh"), 1),
    _Kind("RNN", (0,), ("tanh",), 1),
)


def _sequence(kind: _Kind) -> Function:
    def write(context: OpContext) -> Made:
        data = _data(context, kind)
        directions = 2 if data["direction"] == "bidirectional" else 1
        _expect_extents(context, directions * len(kind.gates), data["hidden_size"])
        batch_first = bool(context.integer("layout"))
        x = context[0] if batch_first else context.transpose(context[0], [1, 0, 2])
        states = [_state(context, 5 + k, directions, data, batch_first) for k in range(kind.states)]
        made = context.layers(
            f"{kind.op}Sequence-5",
            1 + kind.states,
            x,
            *states,
            _lengths(context, batch_first),
            *(_regated(context, context[k], context.array(k), kind) for k in (1, 2)),
            _bias(context, kind, directions, data),
            **data,
        )
        every = context.transpose(made[0], [0, 2, 1, 3] if batch_first else [2, 1, 0, 3])
        if batch_first:
            return every, *made[1:]
        return every, *(context.transpose(value, [1, 0, 2]) for value in made[1:])

    return write


def _data(context: OpContext, kind: _Kind) -> dict[str, object]:
    hidden = context.integer("hidden_size") or context.extent(2, 2)
    if hidden is None:
        raise Refusal("its hidden_size is not known")
    if context.integer("input_forget") or (
        context.has(7) and kind.op == "LSTM" and _peeps(context)
    ):
        raise Refusal("peepholes and input_forget have no form", "unfold it into a Scan")
    direction = context.text("direction", "forward")
    data: dict[str, object] = {
        "direction": direction,
        "hidden_size": hidden,
        "activations": _activations(context, kind, 2 if direction == "bidirectional" else 1),
        "activations_alpha": "",
        "activations_beta": "",
        "clip": context.number("clip", 0.0),
    }
    if kind.op == "GRU":
        data["linear_before_reset"] = bool(context.integer("linear_before_reset"))
    return data


def _expect_extents(context: OpContext, gates: int, hidden: object) -> None:
    """Refuse weights and biases, as far as they are known, that do not fit the hidden size."""
    assert isinstance(hidden, int), "looked at"
    if hidden <= 0:
        raise Refusal(f"its hidden_size is {hidden}")
    for position, rank, rows in ((1, 3, 1), (2, 3, 1), (3, 2, 2)):
        array = context.array(position) if context.has(position) else None
        shape = () if array is None else array.shape
        if array is not None and (
            len(shape) != rank or shape[0] * shape[1] != rows * gates * hidden
        ):
            shown = "x".join(map(str, shape))
            raise Refusal(f"operand {position} is {shown or 'a scalar'}, hidden_size is {hidden}")


def _peeps(context: OpContext) -> bool:
    array = context.array(7)
    return array is None or bool(array.any())


def _activations(context: OpContext, kind: _Kind, directions: int) -> list[str]:
    given = [str(word).lower() for word in context.attributes.get("activations", ())]
    count = len(kind.activations)
    words = given[:count] or list(kind.activations)
    odd = [word for word in words if word not in _FUNCTIONS]
    if odd or (directions == 2 and given[count:] not in ([], words)):
        what = f"the activation {odd[0]}" if odd else "other activations in each direction"
        raise Refusal(f"{what} has no form in OpenVINO", "unfold it into a Scan")
    return words


def _regated(context: OpContext, wire: Wire, array: np.ndarray | None, kind: _Kind) -> Wire:
    """Rows [directions, gates * hidden, ...] in OpenVINO's order of gates."""
    count = len(kind.gates)
    if list(kind.gates) == list(range(count)):
        return wire
    if array is not None:
        parts = np.split(array, count, 1)
        return context.constant(np.concatenate([parts[gate] for gate in kind.gates], 1))
    wires = context.layers("Split-1", count, wire, context.scalar(1), num_splits=count)
    return context.layer("Concat-1", *(wires[gate] for gate in kind.gates), axis=1)


def _bias(context: OpContext, kind: _Kind, directions: int, data: dict[str, object]) -> Wire:
    linear = bool(data.get("linear_before_reset"))
    count = len(kind.gates)
    hidden = data["hidden_size"]
    assert isinstance(hidden, int), "looked at"
    if not context.has(3):
        extent = (directions, (count + linear) * hidden)
        return context.constant(np.zeros(extent, context.dtype(1).numpy))
    array = context.array(3)
    if array is not None:
        return context.constant(_added(array, kind, linear))
    halves = context.layers("Split-1", 2, context[3], context.scalar(1), num_splits=2)
    if not linear:
        return _regated(context, context.layer("Add-1", *halves), None, kind)
    ours, theirs = (
        context.layers("Split-1", 3, half, context.scalar(1), num_splits=3) for half in halves
    )
    both = [context.layer("Add-1", ours[k], theirs[k]) for k in (0, 1)]
    return context.layer("Concat-1", *both, ours[2], theirs[2], axis=1)


def _added(array: np.ndarray, kind: _Kind, linear: bool) -> np.ndarray:
    ours, theirs = np.split(array, 2, 1)
    count = len(kind.gates)
    one, two = np.split(ours, count, 1), np.split(theirs, count, 1)
    if linear:
        return np.concatenate([one[0] + two[0], one[1] + two[1], one[2], two[2]], 1)
    return np.concatenate([one[gate] + two[gate] for gate in kind.gates], 1)


def _state(
    context: OpContext, position: int, directions: int, data: dict[str, object], batch_first: bool
) -> Wire:
    """The initial state [batch, directions, hidden]; zeros if it is absent."""
    if context.has(position):
        return context[position] if batch_first else context.transpose(context[position], [1, 0, 2])
    hidden = data["hidden_size"]
    assert isinstance(hidden, int), "looked at"
    batch = context.extent_of(0, 0 if batch_first else 1)
    shape = context.layer("Concat-1", batch, context.whole(directions, hidden), axis=0)
    return context.layer("Broadcast-3", context.like(0, 0), shape, mode="numpy")


def _lengths(context: OpContext, batch_first: bool) -> Wire:
    """The length of each sequence; by default all of it."""
    if context.has(4):
        return context[4]
    batch, time = (0, 1) if batch_first else (1, 0)
    whole, count = context.extent_of(0, time), context.extent_of(0, batch)
    return context.layer("Broadcast-3", whole, count, mode="numpy")


for _kind in _KINDS:
    register(_kind.op, _sequence(_kind))
