"""Scan, opset 9 and later: the pseudo-code of the operator's documentation, case by case."""

from __future__ import annotations

import numpy as np

from tests.cases.oracles import f32, i64, stacked


def _sums(s, items):
    sums = []
    for item in items:
        s = f32(s + item)
        sums.append(s)
    return s, sums


def lengths(s, x):
    s, sums = _sums(s, x)
    return s, stacked(sums)


def reverse_input(s, x):
    s, sums = _sums(s, x[::-1])
    return s, stacked(sums)


def prepended_output(s, x):
    s, sums = _sums(s, x)
    return s, stacked(sums[::-1])


def reverse_input_and_prepended_output(s, x):
    s, sums = _sums(s, x[::-1])
    return s, stacked(sums[::-1])


def input_axis(s, x):
    s, sums = _sums(s, x.T)
    return s, stacked(sums, s.shape)


def output_axis(s, x):
    s, sums = _sums(s, x)
    return s, stacked(sums, s.shape).T


def negative_axes(s, x):
    s, sums = _sums(s, np.moveaxis(x, -1, 0))
    return s, np.moveaxis(stacked(sums, s.shape), 0, -1)


def output_axis_and_prepended(s, x):
    s, sums = _sums(s, np.moveaxis(x, 1, 0)[::-1])
    return s, np.moveaxis(stacked(sums[::-1], s.shape), 0, 1)


def two_inputs_two_axes(x, y):
    return (stacked([x[i] * y[:, i] for i in range(len(x))], [2]),)


def bidirectional(x):
    return (f32(x - x[::-1]),)


def two_directions_of_output(x):
    return f32(2 * x), f32(2 * x[::-1])


def no_state(x):
    return (f32(x * x),)


def no_stacked(s, x):
    return (f32(s + x.sum()),)


def length_zero(s, x):
    return s, np.zeros((0, 2), np.float32)


def length_zero_on_other_axes(s, x):
    return s, np.zeros((2, 0), np.float32)


def length_zero_without_outputs(s, x):
    return (s,)


def both_passed_through(s, x):
    return s, x


def state_passed_through(k, x):
    return k, f32(x + k)


def rotated(s, x):
    return x[-1], f32([s, *x[:-1]])


def one_value_twice(s, x):
    sums = f32(s + np.cumsum(x))
    return sums[-1], sums, sums


def stacked_initializer(x):
    return (f32([[1, 2]] * len(x)),)


def capture(k, s, x):
    return (f32(s + k * x.sum()),)


def nested(s, x):
    table = f32(np.cumsum(x, axis=0) + s)
    return table[-1], table, f32(np.cumsum(table, axis=1))


def state_left_out(s, x):
    return (f32(s + np.cumsum(x)),)


def stacked_left_out(s, x):
    return (f32(s + x.sum()),)


def strings(words):
    return words, np.array(list(reversed(words)), object)


def two_states_swapped(a, b, x):
    seen = []
    for item in x:
        seen.append(a)
        a, b = b, f32(a + item)
    return a, b, stacked(seen)


def shadowed_name(x, s):
    return (f32(s + x.sum()),)


def inside_a_loop(trips, x):
    for _ in range(trips):
        x = np.cumsum(x, dtype=np.float32)
    return (x,)


def loop_inside(s, n):
    seen = []
    for count in n:
        s = f32(s + sum(range(count)))
        seen.append(s)
    return s, stacked(seen)


def lstm_cell_by_hand(h, c, x):
    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    seen = []
    for item in x:
        z = h + item
        c = f32(sigmoid(z) * c + sigmoid(z + 1) * np.tanh(z))
        h = f32(sigmoid(z - 1) * np.tanh(c))
        seen.append(h)
    return h, c, stacked(seen, h.shape)


def batch_of_two(s, x):
    sums = np.cumsum(x, axis=1, dtype=np.float32) + s[:, None]
    return sums[:, -1], sums


def batch_with_lengths(lens, s, x):
    ends = [f32(s[b] + x[b, :n].sum()) for b, n in enumerate(lens)]
    return f32(ends), f32(s[:, None] + np.cumsum(x, axis=1))[:, :1]


def batch_reversed(s, x):
    sums = np.cumsum(x[:, ::-1], axis=1, dtype=np.float32) + s[:, None]
    return sums[:, -1], sums


def batch_of_vectors(s, x):
    sums = np.cumsum(x, axis=1, dtype=np.float32) + s[:, None]
    return sums[:, -1], sums


def batch_capture(k, s, x):
    return (f32(s + k * x.sum(axis=1)),)


def batch_row_reduced(s, x):
    totals = np.cumsum(x.sum(axis=2, keepdims=True), axis=1, dtype=np.float32) + s[:, None]
    return totals[:, -1], totals


def batch_passed_through(s, x):
    return s, x


def batch_of_none(s, x):
    return s, x


def batch_of_length_zero(s, x):
    return s, x


def iteration_types(n):
    return i64(n.sum()), i64(np.cumsum(n))


def length_zero_of_symbolic_elements(s, x):
    s, sums = _sums(s, x)
    return s, stacked(sums, s.shape).T


def length_zero_of_captured_elements(w, x):
    return (f32(np.outer(x, w)),)
