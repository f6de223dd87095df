"""LSTM, GRU and RNN: single cells, and sequences of them.

OpenVINO has the batch first and the gates of an LSTM as f i c o; ONNX time first and i o f c. Its
one bias is the sum of ONNX's two, but for a GRU with linear_before_reset, which adds a fourth part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Function, Made, layer
from treadle.ir import Value

_FORMATS = ("fico", "icof", "ifco", "ifoc", "iofc")
_PEEPHOLES = 6
_DIRECTIONS = ("forward", "reverse", "bidirectional")
_FUNCTIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}


class _Kind(NamedTuple):
    """One kind of cell: its gates, and the positions of ONNX's gates in OpenVINO's rows."""

    op: str
    gates: tuple[int, ...]
    activations: tuple[str, ...]
    states: int


_LSTM = _Kind("LSTM", (1, 3, 0, 2), ("sigmoid", "tanh", "tanh"), 2)
_GRU = _Kind("GRU", (0, 1, 2), ("sigmoid", "tanh"), 1)
_RNN = _Kind("RNN", (0,), ("tanh",), 1)


def _gates(hand: LayerContext, kind: _Kind) -> tuple[int, ...]:
    if kind is not _LSTM:
        return kind.gates
    order = hand.text("weights_format", "fico", *_FORMATS)
    return tuple(order.index(gate) for gate in "iofc")


def _regated(hand: LayerContext, position: int, kind: _Kind, axis: int) -> Value:
    """Weights or biases with rows in ONNX's order of gates."""
    gates = _gates(hand, kind)
    count = len(gates)
    if list(gates) == list(range(count)):
        return hand[position]
    hidden = hand.integer("hidden_size")
    array = hand.array(position)
    if array is not None and array.shape[axis] == count * hidden:
        parts = np.split(array, count, axis)
        return hand.constant(np.concatenate([parts[gate] for gate in gates], axis))
    parts_ = hand.leaves("Split", count, hand[position], axis=axis, num_outputs=count)
    return hand.leaf("Concat", *(parts_[gate] for gate in gates), axis=axis)


def _biases(hand: LayerContext, position: int, kind: _Kind, linear: bool) -> Value:
    """ONNX's two biases [D, 2 * gates * hidden] from OpenVINO's [D, gates * hidden]."""
    given = hand[position]
    hidden = hand.integer("hidden_size")
    if linear:
        *gates, inner, outer = hand.leaves("Split", 4, given, axis=1, num_outputs=4)
        none = hand.leaf("Sub", inner, inner)
        return hand.leaf("Concat", *gates, inner, none, none, outer, axis=1)
    value = _regated(hand, position, kind, 1)
    shape = hand.shape(position)
    directions = shape[0] if shape else None
    if not isinstance(directions, int):
        raise IrError("CF909", "the shape of the biases is not known")
    extent = (directions, len(kind.gates) * hidden)
    if np.prod(extent) > 2**26:
        raise IrError("CF909", "the biases are too large")
    zeros = hand.constant(np.zeros(extent, hand.dtype(position).numpy))
    return hand.leaf("Concat", value, zeros, axis=1)


def _flags(hand: LayerContext, kind: _Kind, directions: int) -> dict[str, object]:
    # activations_alpha and activations_beta are for functions that the cells do not have
    words = [word.lower() for word in hand.words("activations", kind.activations)]
    unknown = [word for word in words if word not in _FUNCTIONS]
    if unknown:
        raise IrError("CF909", f"the activation {unknown[0][:40]} is not supported")
    flags: dict[str, object] = {
        "hidden_size": hand.integer("hidden_size"),
        "activations": [_FUNCTIONS[word] for word in words] * directions,
    }
    if kind is _LSTM and hand.truth("input_forget", False):
        flags["input_forget"] = 1
    clip = hand.number("clip", 0.0)
    if clip and np.isfinite(clip):
        flags["clip"] = clip
    return flags


def _linear(hand: LayerContext, kind: _Kind) -> bool:
    return kind is _GRU and hand.truth("linear_before_reset", False)


def _cell(kind: _Kind) -> Function:
    def read(hand: LayerContext) -> Made:
        """One step: a sequence of length 1, with axes of time and direction added and removed."""
        if hand.get(_PEEPHOLES) is not None and hand.version == 1 and kind is _LSTM:
            _without_peepholes(hand)
        front, linear = hand.whole(0), _linear(hand, kind)
        at = 1 + kind.states
        weights = [_regated(hand, k, kind, 0) for k in (at, at + 1)]
        given = [hand.leaf("Unsqueeze", value, front) for value in (hand[0], *weights)]
        bias = None
        if hand.get(at + 2) is not None:
            bias = _cell_bias(hand, at + 2, kind, linear)
        states = [hand.leaf("Unsqueeze", hand[1 + k], front) for k in range(kind.states)]
        flags = _flags(hand, kind, 1)
        if linear:
            flags["linear_before_reset"] = 1
        made = hand.leaves(kind.op, 1 + kind.states, *given, bias, None, *states, **flags)
        last = tuple(hand.leaf("Squeeze", value, front) for value in made[1:])
        return last if kind.states > 1 else last[0]

    return read


def _without_peepholes(hand: LayerContext) -> None:
    """Check that peepholes are zeros or absent; OpenVINO 2026.4.1 ignores others."""
    known = hand.array(_PEEPHOLES)
    if known is None or np.any(known):
        raise IrError(
            "CF909",
            "it has peepholes: the order of their gates is not specified, and OpenVINO ignores "
            "them",
            "leave input 6 out, or give it zeros",
        )


def _cell_bias(hand: LayerContext, position: int, kind: _Kind, linear: bool) -> Value:
    array = hand.array(position)
    if array is not None:
        wide = hand.constant(array[np.newaxis])
    else:
        wide = hand.leaf("Unsqueeze", hand[position], hand.whole(0))
    inner = LayerContext(hand.layer, hand.version, (wide,), hand.draft)
    return _biases(inner, 0, kind, linear)


def _sequence(kind: _Kind) -> Function:
    def read(hand: LayerContext) -> Made:
        """A whole sequence.

        [batch, time, ...] and [batch, direction, ...] transposed to ONNX's order.
        """
        direction = hand.text("direction", None, *_DIRECTIONS)
        directions = 2 if direction == "bidirectional" else 1
        at = 1 + kind.states
        x = hand.transpose(hand[0], [1, 0, 2])
        states = [hand.transpose(hand[1 + k], [1, 0, 2]) for k in range(kind.states)]
        lengths = hand.leaf("Cast", hand[at], to=6)
        weights = [_regated(hand, k, kind, 1) for k in (at + 1, at + 2)]
        linear = _linear(hand, kind)
        bias = _biases(hand, at + 3, kind, linear)
        flags = _flags(hand, kind, directions) | {"direction": direction}
        if linear:
            flags["linear_before_reset"] = 1
        made = hand.leaves(kind.op, 1 + kind.states, x, *weights, bias, lengths, *states, **flags)
        every = hand.transpose(made[0], [2, 1, 0, 3])
        return every, *(hand.transpose(value, [1, 0, 2]) for value in made[1:])

    return read


layer("LSTMCell", 1, 4)(_cell(_LSTM))
layer("GRUCell", 3)(_cell(_GRU))
layer("RNNCell", 1)(_cell(_RNN))
layer("LSTMSequence", 5)(_sequence(_LSTM))
layer("GRUSequence", 5)(_sequence(_GRU))
layer("RNNSequence", 5)(_sequence(_RNN))
