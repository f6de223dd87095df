"""RNN, GRU and LSTM: directions, sequence lengths, clipping, activations, layouts.

All three are one loop over time, each with its own cell:

    state = initial; for t: state = cell(x[t], state); y[t] = state[0]

A sequence that has ended keeps its state, and its outputs are 0; in reverse, each sequence starts
at its own end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle.ops.kernels.common import in_float32_except_float16
from treadle.ops.kernels.registry import evaluates
from treadle.ops.kernels.unary import sigmoid, softplus, softsign

Activation = Callable[[np.ndarray], np.ndarray]
State = tuple[np.ndarray, ...]
Cell = Callable[[np.ndarray, State], State]

# name: (function, default alpha, default beta); None if it takes none
_ACTIVATIONS: dict[str, tuple[Callable[..., Any], float | None, float | None]] = {
    "relu": (lambda x, a, b: np.maximum(x, 0), None, None),
    "tanh": (lambda x, a, b: np.tanh(x), None, None),
    "sigmoid": (lambda x, a, b: sigmoid(x), None, None),
    "softsign": (lambda x, a, b: softsign(x), None, None),
    "softplus": (lambda x, a, b: softplus(x), None, None),
    "affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: np.where(x >= 0, x, a * x), 0.01, None),
    "thresholdedrelu": (lambda x, a, b: np.where(x > a, x, 0), 1.0, None),
    "scaledtanh": (lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
    "elu": (lambda x, a, b: np.where(x >= 0, x, a * np.expm1(np.minimum(x, 0))), 1.0, None),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The attributes that the three operators share."""

    direction: str
    layout: int
    clip: float | None
    activations: Sequence[str]
    alphas: Sequence[float]
    betas: Sequence[float]


def _settings(attributes: dict[str, Any], defaults: Sequence[str]) -> Settings:
    direction, clip = attributes.get("direction", "forward"), attributes.get("clip")
    if clip is not None and not clip >= 0:
        raise ValueError(f"clip is {clip}, it must be 0 or more")
    count = 2 if direction == "bidirectional" else 1
    return Settings(
        direction,
        attributes.get("layout", 0),
        clip,
        attributes.get("activations") or list(defaults) * count,
        attributes.get("activation_alpha") or (),
        attributes.get("activation_beta") or (),
    )


def _functions(settings: Settings) -> list[Activation]:
    alphas, betas = iter(settings.alphas), iter(settings.betas)
    return [_function(name, alphas, betas) for name in settings.activations]


def _function(name: str, alphas: Any, betas: Any) -> Activation:
    compute, alpha, beta = _ACTIVATIONS[name.lower()]
    alpha = next(alphas, alpha) if alpha is not None else None
    beta = next(betas, beta) if beta is not None else None

    def activate(x: np.ndarray) -> np.ndarray:
        return np.asarray(compute(x, alpha, beta)).astype(x.dtype, copy=False)

    return activate


def _clipped(activate: Activation, clip: float | None) -> Activation:
    if clip is None:
        return activate
    return lambda x: activate(np.clip(x, -clip, clip))


def _walk(
    x: np.ndarray, lengths: np.ndarray | None, initial: State, cell: Cell, backwards: bool
) -> tuple[np.ndarray, State]:
    steps, batch = x.shape[:2]
    ends = np.full(batch, steps) if lengths is None else lengths.astype(np.int64)
    times = np.arange(steps)[:, np.newaxis]
    order = np.where(times < ends, ends - 1 - times, times) if backwards else times + 0 * ends
    x = x[order, np.arange(batch)]
    state, made = initial, []
    for time in range(steps):
        alive = (time < ends)[:, np.newaxis]
        new = cell(x[time], state)
        state = tuple(np.where(alive, n, old) for n, old in zip(new, state, strict=True))
        made.append(np.where(alive, state[0], np.zeros((), x.dtype)))
    y = np.stack(made) if made else np.zeros((0, *initial[0].shape), x.dtype)
    return y[order, np.arange(batch)], state


def _directions(
    settings: Settings,
    x: np.ndarray,
    lengths: np.ndarray | None,
    initials: Sequence[np.ndarray | None],
    hidden: int,
    cells: Sequence[Cell],
) -> tuple[np.ndarray, ...]:
    """Run every direction; return Y and the last states, in the requested layout."""
    if settings.layout:
        x = x.swapaxes(0, 1)
        initials = [None if each is None else each.swapaxes(0, 1) for each in initials]
    ys, lasts = [], []
    for number, cell in enumerate(cells):
        start = tuple(
            np.zeros((x.shape[1], hidden), x.dtype) if each is None else each[number]
            for each in initials
        )
        backwards = settings.direction == "reverse" or number == 1
        y, last = _walk(x, lengths, start, cell, backwards)
        ys.append(y)
        lasts.append(last)
    y = np.stack(ys, 1)
    states = [np.stack(each) for each in zip(*lasts, strict=True)]
    if settings.layout:
        return y.transpose(2, 0, 1, 3), *(state.swapaxes(0, 1) for state in states)
    return y, *states


def _biases(b: np.ndarray | None, number: int, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    size = w.shape[1]
    if b is None:
        return np.zeros(size, w.dtype), np.zeros(size, w.dtype)
    return b[number, :size], b[number, size:]


@evaluates("RNN", 1, 7, 14, 22)
@in_float32_except_float16
def rnn(
    x: np.ndarray,
    w: np.ndarray,
    r: np.ndarray,
    b: np.ndarray | None = None,
    lengths: np.ndarray | None = None,
    initial: np.ndarray | None = None,
    **attributes: Any,
) -> tuple[np.ndarray, ...]:
    """H = f(X W' + H R' + Wb + Rb)."""
    settings = _settings(attributes, ["Tanh"])
    functions = _functions(settings)

    def cell_of(number: int) -> Cell:
        from_x, from_h, bias = w[number].T, r[number].T, sum(_biases(b, number, w))
        activate = _clipped(functions[number], settings.clip)

        def cell(step: np.ndarray, state: State) -> State:
            return (activate(step @ from_x + state[0] @ from_h + bias),)

        return cell

    cells = [cell_of(number) for number in range(w.shape[0])]
    return _directions(settings, x, lengths, [initial], r.shape[2], cells)


@evaluates("GRU", 1, 3, 7, 14, 22)
@in_float32_except_float16
def gru(
    x: np.ndarray,
    w: np.ndarray,
    r: np.ndarray,
    b: np.ndarray | None = None,
    lengths: np.ndarray | None = None,
    initial: np.ndarray | None = None,
    **attributes: Any,
) -> tuple[np.ndarray, ...]:
    """Gates z, r and h; `linear_before_reset` says whether r acts before or after R."""
    settings = _settings(attributes, ["Sigmoid", "Tanh"])
    functions, hidden = _functions(settings), r.shape[2]
    before_reset = bool(attributes.get("linear_before_reset", 0))

    def cell_of(number: int) -> Cell:
        f, g = (_clipped(each, settings.clip) for each in functions[2 * number : 2 * number + 2])
        from_x, from_h = w[number].T, r[number].T
        wb, rb = _biases(b, number, w)
        gates, last = slice(0, 2 * hidden), slice(2 * hidden, None)

        def cell(step: np.ndarray, state: State) -> State:
            (h,) = state
            given = step @ from_x + wb
            both = f(given[:, gates] + h @ from_h[:, gates] + rb[gates])
            z, reset = both[:, :hidden], both[:, hidden:]
            if before_reset:
                new = g(given[:, last] + reset * (h @ from_h[:, last] + rb[last]))
            else:
                new = g(given[:, last] + (reset * h) @ from_h[:, last] + rb[last])
            return ((1 - z) * new + z * h,)

        return cell

    cells = [cell_of(number) for number in range(w.shape[0])]
    return _directions(settings, x, lengths, [initial], hidden, cells)


@evaluates("LSTM", 1, 7, 14, 22)
@in_float32_except_float16
def lstm(
    x: np.ndarray,
    w: np.ndarray,
    r: np.ndarray,
    b: np.ndarray | None = None,
    lengths: np.ndarray | None = None,
    initial_h: np.ndarray | None = None,
    initial_c: np.ndarray | None = None,
    peepholes: np.ndarray | None = None,
    **attributes: Any,
) -> tuple[np.ndarray, ...]:
    """Gates i, o, f and c; peepholes let i, f and o see the cell state.

    `clip` bounds the inputs of the gates, not the cell state (as in onnxruntime).
    """
    settings = _settings(attributes, ["Sigmoid", "Tanh", "Tanh"])
    functions, hidden = _functions(settings), r.shape[2]
    coupled = bool(attributes.get("input_forget", 0))

    def cell_of(number: int) -> Cell:
        *gates, h_of = functions[3 * number : 3 * number + 3]
        f, g = (_clipped(each, settings.clip) for each in gates)
        from_x, from_h, bias = w[number].T, r[number].T, sum(_biases(b, number, w))
        zero = np.zeros(3 * hidden, x.dtype)
        p_i, p_o, p_f = np.split(zero if peepholes is None else peepholes[number], 3)

        def cell(step: np.ndarray, state: State) -> State:
            h, c = state
            i, o, forget, new = np.split(step @ from_x + h @ from_h + bias, 4, 1)
            i = f(i + p_i * c)
            forget = 1 - i if coupled else f(forget + p_f * c)
            c = forget * c + i * g(new)
            return f(o + p_o * c) * h_of(c), c

        return cell

    cells = [cell_of(number) for number in range(w.shape[0])]
    return _directions(settings, x, lengths, [initial_h, initial_c], hidden, cells)
