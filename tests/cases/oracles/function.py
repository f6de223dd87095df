"""Model-local functions around, inside and between control flow; functions of the standard."""

from __future__ import annotations

import numpy as np

from tests.cases.oracles import f32, i64


def loop_in_function(trips, x):
    return (f32(x * (trips + 1)),)


def function_in_body(trips, x):
    return (f32(x * 2**trips),)


def attribute_in_body(trips, x):
    return f32(x + 3 * trips), f32(x + 0.5 * trips)


def captured_name_of_caller(trips, x):
    # the function's own s is 10 x; the caller's s plays no part
    return (f32(x + trips * 10 * x),)


def function_calls_function(go, x):
    return (f32(x + 1 + x) if go else f32(x),)


def sequence_map(xs, k):
    return [f32(x + k) for x in xs], [i64(x.shape) for x in xs]


def sequence_map_inside_a_loop(trips, xs):
    for i in range(trips):
        xs = [f32(x + i) for x in xs]
    return (xs,)


def range_in_a_body(trips):
    return (i64(sum(sum(range(i)) for i in range(trips))),)


def different_opset(x, trips):
    return (np.maximum.reduce([f32(x)] + [f32(x + i) for i in range(trips)]),)
