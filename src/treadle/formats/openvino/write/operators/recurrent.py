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
    def write(hand: OpContext) -> Made:
        data = _data(hand, kind)
        directions = 2 if data["direction"] == "bidirectional" else 1
        batch_first = bool(hand.integer("layout"))
        x = hand[0] if batch_first else hand.transpose(hand[0], [1, 0, 2])
        states = [_state(hand, 5 + k, directions, data, batch_first) for k in range(kind.states)]
        made = hand.layers(
            f"{kind.op}Sequence-5",
            1 + kind.states,
            x,
            *states,
            _lengths(hand, batch_first),
            *(_regated(hand, hand[k], hand.array(k), kind) for k in (1, 2)),
            _bias(hand, kind, directions, data),
            **data,
        )
        every = hand.transpose(made[0], [0, 2, 1, 3] if batch_first else [2, 1, 0, 3])
        if batch_first:
            return every, *made[1:]
        return every, *(hand.transpose(value, [1, 0, 2]) for value in made[1:])

    return write


def _data(hand: OpContext, kind: _Kind) -> dict[str, object]:
    hidden = hand.integer("hidden_size") or hand.extent(2, 2)
    if hidden is None:
        raise Refusal("its hidden_size is not known")
    if hand.integer("input_forget") or (hand.has(7) and kind.op == "LSTM" and _peeps(hand)):
        raise Refusal("peepholes and input_forget have no form", "unfold it into a Scan")
    direction = hand.text("direction", "forward")
    data: dict[str, object] = {
        "direction": direction,
        "hidden_size": hidden,
        "activations": _activations(hand, kind, 2 if direction == "bidirectional" else 1),
        "activations_alpha": "",
        "activations_beta": "",
        "clip": hand.number("clip", 0.0),
    }
    if kind.op == "GRU":
        data["linear_before_reset"] = bool(hand.integer("linear_before_reset"))
    return data


def _peeps(hand: OpContext) -> bool:
    array = hand.array(7)
    return array is None or bool(array.any())


def _activations(hand: OpContext, kind: _Kind, directions: int) -> list[str]:
    given = [str(word).lower() for word in hand.attributes.get("activations", ())]
    count = len(kind.activations)
    words = given[:count] or list(kind.activations)
    odd = [word for word in words if word not in _FUNCTIONS]
    if odd or (directions == 2 and given[count:] not in ([], words)):
        what = f"the activation {odd[0]}" if odd else "other activations in each direction"
        raise Refusal(f"{what} has no form in OpenVINO", "unfold it into a Scan")
    return words


def _regated(hand: OpContext, wire: Wire, array: np.ndarray | None, kind: _Kind) -> Wire:
    """Rows [directions, gates * hidden, ...] in OpenVINO's order of gates."""
    count = len(kind.gates)
    if list(kind.gates) == list(range(count)):
        return wire
    if array is not None:
        parts = np.split(array, count, 1)
        return hand.constant(np.concatenate([parts[gate] for gate in kind.gates], 1))
    wires = hand.layers("Split-1", count, wire, hand.scalar(1), num_splits=count)
    return hand.layer("Concat-1", *(wires[gate] for gate in kind.gates), axis=1)


def _bias(hand: OpContext, kind: _Kind, directions: int, data: dict[str, object]) -> Wire:
    linear = bool(data.get("linear_before_reset"))
    count = len(kind.gates)
    hidden = data["hidden_size"]
    assert isinstance(hidden, int), "looked at"
    if not hand.has(3):
        extent = (directions, (count + linear) * hidden)
        return hand.constant(np.zeros(extent, hand.dtype(1).numpy))
    array = hand.array(3)
    if array is not None:
        return hand.constant(_added(array, kind, linear))
    halves = hand.layers("Split-1", 2, hand[3], hand.scalar(1), num_splits=2)
    if not linear:
        return _regated(hand, hand.layer("Add-1", *halves), None, kind)
    ours, theirs = (
        hand.layers("Split-1", 3, half, hand.scalar(1), num_splits=3) for half in halves
    )
    both = [hand.layer("Add-1", ours[k], theirs[k]) for k in (0, 1)]
    return hand.layer("Concat-1", *both, ours[2], theirs[2], axis=1)


def _added(array: np.ndarray, kind: _Kind, linear: bool) -> np.ndarray:
    ours, theirs = np.split(array, 2, 1)
    count = len(kind.gates)
    one, two = np.split(ours, count, 1), np.split(theirs, count, 1)
    if linear:
        return np.concatenate([one[0] + two[0], one[1] + two[1], one[2], two[2]], 1)
    return np.concatenate([one[gate] + two[gate] for gate in kind.gates], 1)


def _state(
    hand: OpContext, position: int, directions: int, data: dict[str, object], batch_first: bool
) -> Wire:
    """The initial state [batch, directions, hidden]; zeros if it is absent."""
    if hand.has(position):
        return hand[position] if batch_first else hand.transpose(hand[position], [1, 0, 2])
    hidden = data["hidden_size"]
    assert isinstance(hidden, int), "looked at"
    batch = hand.extent_of(0, 0 if batch_first else 1)
    shape = hand.layer("Concat-1", batch, hand.whole(directions, hidden), axis=0)
    return hand.layer("Broadcast-3", hand.like(0, 0), shape, mode="numpy")


def _lengths(hand: OpContext, batch_first: bool) -> Wire:
    """The length of each sequence; by default all of it."""
    if hand.has(4):
        return hand[4]
    batch, time = (0, 1) if batch_first else (1, 0)
    whole, count = hand.extent_of(0, time), hand.extent_of(0, batch)
    return hand.layer("Broadcast-3", whole, count, mode="numpy")


for _kind in _KINDS:
    register(_kind.op, _sequence(_kind))
