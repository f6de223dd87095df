"""Loops that carry sequences and optionals."""

from __future__ import annotations

import numpy as np

from tests.cases.oracles import f32, i64


def grow(trips, x):
    items = [f32(x * i) for i in range(trips)]
    return items, i64(len(items))


def shrink(xs):
    return f32(sum((x.sum() for x in xs), f32(0))), i64(0)


def swap_two(trips, a, b):
    for _ in range(trips):
        a, b = b, a
    return a, b


def of_strings(trips, word):
    return ([word] * trips,)


def items_of_different_shapes(trips, x):
    items, item = [], x
    for _ in range(trips):
        item = np.concatenate([item, item])
        items.append(item)
    return (items,)


def passed_through(trips, xs):
    return (xs,)


def replaced_in_iteration_order(trips, xs):
    for i in range(trips):
        xs = [*xs[1:], f32(xs[0] + i)]
    return (xs,)


def stacked_beside_a_sequence(trips):
    return [f32(i) for i in range(trips)], i64([i * i for i in range(trips)])


def optional_tensor(trips, start, x):
    value = start
    for _ in range(trips):
        value = x if value is None else f32(value + value)
    return (value is not None), (f32(-1) if value is None else value)


def optional_passed_through(trips, start):
    return start, np.bool_(start is not None)
