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


def _gates(context: LayerContext, kind: _Kind) -> tuple[int, ...]:
    if kind is not _LSTM:
        return kind.gates
    order = context.text("weights_format", "fico", *_FORMATS)
    return tuple(order.index(gate) for gate in "iofc")


def _regated(context: LayerContext, position: int, kind: _Kind, axis: int) -> Value:
    """Weights or biases with rows in ONNX's order of gates."""
    gates = _gates(context, kind)
    count = len(gates)
    if list(gates) == list(range(count)):
        return context[position]
    hidden = context.integer("hidden_size")
    array = context.array(position)
    if array is not None and array.shape[axis] == count * hidden:
        parts = np.split(array, count, axis)
        return context.constant(np.concatenate([parts[gate] for gate in gates], axis))
    parts_ = context.leaves("Split", count, context[position], axis=axis, num_outputs=count)
    return context.leaf("Concat", *(parts_[gate] for gate in gates), axis=axis)


def _biases(context: LayerContext, position: int, kind: _Kind, linear: bool) -> Value:
    """ONNX's two biases [D, 2 * gates * hidden] from OpenVINO's [D, gates * hidden]."""
    given = context[position]
    hidden = context.integer("hidden_size")
    if linear:
        *gates, inner, outer = context.leaves("Split", 4, given, axis=1, num_outputs=4)
        none = context.leaf("Sub", inner, inner)
        return context.leaf("Concat", *gates, inner, none, none, outer, axis=1)
    value = _regated(context, position, kind, 1)
    shape = context.shape(position)
    directions = shape[0] if shape else None
    if not isinstance(directions, int):
        raise IrError("CF909", "the shape of the biases is not known")
    extent = (directions, len(kind.gates) * hidden)
    if np.prod(extent) > 2**26:
        raise IrError("CF909", "the biases are too large")
    zeros = context.constant(np.zeros(extent, context.dtype(position).numpy))
    return context.leaf("Concat", value, zeros, axis=1)


def _flags(context: LayerContext, kind: _Kind, directions: int) -> dict[str, object]:
    # activations_alpha and activations_beta are for functions that the cells do not have
    words = [word.lower() for word in context.words("activations", kind.activations)]
    unknown = [word for word in words if word not in _FUNCTIONS]
    if unknown:
        raise IrError("CF909", f"the activation {unknown[0][:40]} is not supported")
    flags: dict[str, object] = {
        "hidden_size": context.integer("hidden_size"),
        "activations": [_FUNCTIONS[word] for word in words] * directions,
    }
    if kind is _LSTM and context.truth("input_forget", False):
        flags["input_forget"] = 1
    clip = context.number("clip", 0.0)
    if clip and np.isfinite(clip):
        flags["clip"] = clip
    return flags


def _linear(context: LayerContext, kind: _Kind) -> bool:
    return kind is _GRU and context.truth("linear_before_reset", False)


def _cell(kind: _Kind) -> Function:
    def read(context: LayerContext) -> Made:
        """One step: a sequence of length 1, with axes of time and direction added and removed."""
        if context.get(_PEEPHOLES) is not None and context.version == 1 and kind is _LSTM:
            _without_peepholes(context)
        front, linear = context.whole(0), _linear(context, kind)
        at = 1 + kind.states
        weights = [_regated(context, k, kind, 0) for k in (at, at + 1)]
        given = [context.leaf("Unsqueeze", value, front) for value in (context[0], *weights)]
        bias = None
        if context.get(at + 2) is not None:
            bias = _cell_bias(context, at + 2, kind, linear)
        states = [context.leaf("Unsqueeze", context[1 + k], front) for k in range(kind.states)]
        flags = _flags(context, kind, 1)
        if linear:
            flags["linear_before_reset"] = 1
        made = context.leaves(kind.op, 1 + kind.states, *given, bias, None, *states, **flags)
        last = tuple(context.leaf("Squeeze", value, front) for value in made[1:])
        return last if kind.states > 1 else last[0]

    return read


def _without_peepholes(context: LayerContext) -> None:
    """Check that peepholes are zeros or absent; OpenVINO 2026.4.1 ignores others."""
    known = context.array(_PEEPHOLES)
    if known is None or np.any(known):
        raise IrError(
            "CF909",
            "it has peepholes: the order of their gates is not specified, and OpenVINO ignores "
            "them",
            "leave input 6 out, or give it zeros",
        )


def _cell_bias(context: LayerContext, position: int, kind: _Kind, linear: bool) -> Value:
    array = context.array(position)
    if array is not None:
        wide = context.constant(array[np.newaxis])
    else:
        wide = context.leaf("Unsqueeze", context[position], context.whole(0))
    inner = LayerContext(context.layer, context.version, (wide,), context.draft)
    return _biases(inner, 0, kind, linear)


def _sequence(kind: _Kind) -> Function:
    def read(context: LayerContext) -> Made:
        """A whole sequence.

        [batch, time, ...] and [batch, direction, ...] transposed to ONNX's order.
        """
        direction = context.text("direction", None, *_DIRECTIONS)
        directions = 2 if direction == "bidirectional" else 1
        at = 1 + kind.states
        x = context.transpose(context[0], [1, 0, 2])
        states = [context.transpose(context[1 + k], [1, 0, 2]) for k in range(kind.states)]
        lengths = context.leaf("Cast", context[at], to=6)
        weights = [_regated(context, k, kind, 1) for k in (at + 1, at + 2)]
        linear = _linear(context, kind)
        bias = _biases(context, at + 3, kind, linear)
        flags = _flags(context, kind, directions) | {"direction": direction}
        if linear:
            flags["linear_before_reset"] = 1
        made = context.leaves(
            kind.op, 1 + kind.states, x, *weights, bias, lengths, *states, **flags
        )
        every = context.transpose(made[0], [2, 1, 0, 3])
        return every, *(context.transpose(value, [1, 0, 2]) for value in made[1:])

    return read


layer("LSTMCell", 1, 4)(_cell(_LSTM))
layer("GRUCell", 3)(_cell(_GRU))
layer("RNNCell", 1)(_cell(_RNN))
layer("LSTMSequence", 5)(_sequence(_LSTM))
layer("GRUSequence", 5)(_sequence(_GRU))
layer("RNNSequence", 5)(_sequence(_RNN))
