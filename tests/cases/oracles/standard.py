"""The standard's own examples."""

from __future__ import annotations

import numpy as np

from tests.cases.oracles import f32, stacked


def running_sum(trips, go, y):
    x, sums = [1, 2, 3, 4, 5], []
    for i in range(trips if go else 0):
        y = f32(y + x[i])
        sums.append(y)
    return y, stacked(sums, [1])


def prefixes(trips, go, seq_empty):
    x = f32([1, 2, 3, 4, 5])
    return (seq_empty + [x[: i + 1] for i in range(trips if go else 0)],)


def optional_sequence(trips, go, opt_seq):
    x = f32([1, 2, 3, 4, 5])
    first = [f32(0)] if opt_seq is None else opt_seq
    return (first + [x[: i + 1] for i in range(trips)],)


def sample_net(a, b, keepgoing, max_trip_count):
    # int a = 3, b = 6: the first iteration has my_local = 9, b = -3, 9 > -3, value 12; the second
    # my_local = 0, b = 6, 0 > 6 is false, value -6; so b = 6 and the values are [12, -6]
    values, i = [], 0
    while i < max_trip_count and keepgoing:
        my_local, value = a + b, b + b
        b = a - b
        keepgoing = my_local > b
        values.append(value)
        i += 1
    return np.int32(b), stacked(values, dtype=np.int32)


_WI, _RI = f32([[0.5, -1.0], [0.25, 0.75]]), f32([[0.1, 0.2], [-0.3, 0.4]])
_WB, _RB = f32([0.1, -0.2]), f32([0.05, 0.15])


def rnn_scan(H_0, X):  # noqa: N803
    state, hidden = H_0, []
    for x in X:
        state = np.tanh(x @ _WI.T + state @ _RI.T + _WB + _RB)
        hidden.append(state)
    return stacked(hidden, [1, 2]), state


def rnn_scan_8(H_0, X):  # noqa: N803
    rows = [rnn_scan(h, x) for h, x in zip(H_0, X, strict=True)]
    return f32([y for y, _ in rows]), f32([h for _, h in rows])


def scan_sum(initial, x):
    sums = np.cumsum(x, axis=0, dtype=np.float32) + initial
    return sums[-1], sums


def scan_sum_8(initial, x):
    sums = np.cumsum(x, axis=1, dtype=np.float32) + initial[:, None]
    return sums[:, -1], sums


def scan_two_states(total, product, x):
    sums = np.cumsum(x, axis=0, dtype=np.float32) + total
    return sums[-1], f32(product * np.prod(x, axis=0)), sums
