"""One step of an RNN, GRU or LSTM in elementary operators, for the body of a Scan.

    RNN    h' = f(x W' + h R' + b)
    GRU    z, r = f(x W' + h R' + b);  n = g(x W' + (r h) R' + b);  h' = (1 - z) n + z h
    LSTM   i, o, f, n = x W' + h R' + b;  c' = f(f) c + f(i) g(n);  h' = f(o) h(c')

Equations as in the operators' schemas; `clip` bounds the inputs of the gates. The order of the
operations is that of the reference, so that results are the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from treadle.ir import DType, Value
from treadle.passes.rewrites.named.recurrent.settings import Activation, Settings
from treadle.passes.rewrites.writer import Writer


class Weights(NamedTuple):
    """The weights of a direction: W and R transposed to [in, gates], a bias, peepholes by gate.

    For a GRU, `from_h` and `bias_h` are pairs: for the gates z and r, and for the new state.
    """

    from_x: Value
    from_h: Sequence[Value]
    bias_x: Value | None
    bias_h: Sequence[Value] = ()
    peepholes: Sequence[Value] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """One direction of an operator; `to` collects the steps of the body."""

    to: Writer
    settings: Settings
    activations: Sequence[Activation]
    dtype: DType
    hidden: int
    weights: Weights

    def step(self, x: Value, states: Sequence[Value]) -> Sequence[Value]:
        """The next states."""
        return _CELLS[self.settings.op](self, x, states)

    def activate(self, which: int, x: Value, *, clipped: bool = True) -> Value:
        """The activation of a gate's input."""
        clip = self.settings.clip
        if clipped and clip is not None:
            x = self.to.clip(x, -clip, clip, self.dtype)
        return activated(self.to, self.activations[which], x, self.dtype)

    def sum(self, x: Value, other: Value | None) -> Value:
        """The sum; the value itself if nothing is added."""
        return x if other is None else self.to.leaf("Add", x, other)

    def one_minus(self, x: Value) -> Value:
        """1 - x."""
        return self.to.leaf("Sub", self.to.number(1, self.dtype), x)

    def product(self, x: Value, matrix: Value) -> Value:
        """The matrix product."""
        return self.to.leaf("MatMul", x, matrix)

    def times(self, x: Value, y: Value) -> Value:
        """The elementwise product."""
        return self.to.leaf("Mul", x, y)


def activated(to: Writer, activation: Activation, x: Value, dtype: DType) -> Value:
    """The activation of a tensor."""
    name, alpha, beta = activation
    if name in _PLAIN:
        parameters: dict[str, Any] = {"alpha": alpha, "beta": beta}
        return to.leaf(_PLAIN[name], x, **{k: v for k, v in parameters.items() if v is not None})
    assert alpha is not None
    assert beta is not None
    if name == "affine":
        return to.leaf("Add", to.leaf("Mul", to.number(alpha, dtype), x), to.number(beta, dtype))
    inner = to.leaf("Tanh", to.leaf("Mul", to.number(beta, dtype), x))
    return to.leaf("Mul", to.number(alpha, dtype), inner)


_PLAIN: Mapping[str, str] = {
    "relu": "Relu",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "softsign": "Softsign",
    "softplus": "Softplus",
    "leakyrelu": "LeakyRelu",
    "thresholdedrelu": "ThresholdedRelu",
    "hardsigmoid": "HardSigmoid",
    "elu": "Elu",
}


def _summed(cell: Cell, x: Value, h: Value) -> Value:
    """X W' + h R' + both biases."""
    weights = cell.weights
    made = cell.sum(cell.product(x, weights.from_x), cell.product(h, weights.from_h[0]))
    return cell.sum(made, weights.bias_x)


def _rnn(cell: Cell, x: Value, states: Sequence[Value]) -> Sequence[Value]:
    return [cell.activate(0, _summed(cell, x, states[0]))]


def _gru(cell: Cell, x: Value, states: Sequence[Value]) -> Sequence[Value]:
    (h,), weights, hidden = states, cell.weights, cell.hidden
    to_gates, to_new = weights.from_h
    bias_gates, bias_new = weights.bias_h or (None, None)
    given = cell.sum(cell.product(x, weights.from_x), weights.bias_x)
    for_gates = cell.to.slice(given, 0, 2 * hidden, 1)
    for_new = cell.to.slice(given, 2 * hidden, 3 * hidden, 1)
    gates = cell.activate(0, cell.sum(cell.sum(for_gates, cell.product(h, to_gates)), bias_gates))
    update, reset = cell.to.split(gates, 2, 1)
    if cell.settings.linear_before_reset:
        inner = cell.times(reset, cell.sum(cell.product(h, to_new), bias_new))
        new = cell.activate(1, cell.sum(for_new, inner))
    else:
        inner = cell.product(cell.times(reset, h), to_new)
        new = cell.activate(1, cell.sum(cell.sum(for_new, inner), bias_new))
    kept = cell.times(update, h)
    return [cell.sum(cell.times(cell.one_minus(update), new), kept)]


def _lstm(cell: Cell, x: Value, states: Sequence[Value]) -> Sequence[Value]:
    h, c = states
    enter, leave, forget, new = cell.to.split(_summed(cell, x, h), 4, 1)
    sees = cell.weights.peepholes

    def peeping(gate: Value, which: int, state: Value) -> Value:
        return cell.sum(gate, cell.times(sees[which], state)) if sees else gate

    i = cell.activate(0, peeping(enter, 0, c))
    f = cell.one_minus(i) if cell.settings.input_forget else None
    f = f or cell.activate(0, peeping(forget, 2, c))
    made = cell.sum(cell.times(f, c), cell.times(i, cell.activate(1, new)))
    o = cell.activate(0, peeping(leave, 1, made))
    return [cell.times(o, cell.activate(2, made, clipped=False)), made]


_CELLS: Mapping[str, Callable[[Cell, Value, Sequence[Value]], Sequence[Value]]] = {
    "RNN": _rnn,
    "GRU": _gru,
    "LSTM": _lstm,
}
