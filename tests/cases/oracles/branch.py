"""If."""

from __future__ import annotations

import numpy as np

from tests.cases.oracles import f32, i64


def plain(go, x):
    return (f32(x + x) if np.all(go) else f32(x * x),)


condition_of_one_element = condition_of_rank_three = plain


def several_outputs(go, x):
    return (f32(x + 1), f32(-x), f32(7)) if go else (f32(x - 1), f32(x), f32(x.size))


def nested_capture(a, b, x, y):
    if not a:
        return (f32(x - y),)
    return (f32(x + y) if b else f32((x + y) * x + y),)


def different_shapes(go, x):
    return (f32(x) if go else np.concatenate([x, x]),)


def different_ranks(go, x):
    return i64(x.shape if go else []), f32(x.sum())


def untaken_branch_fails(go, x):
    return (x.reshape(3) if go else f32(-x),)


def branch_of_an_initializer(go):
    return (f32([1, 2]) if go else f32([3, 4]),)


def same_names(go, x):
    return (f32(x + 1) if go else f32(x - 1),)


def constant_condition(x):
    return (f32(-x),)


def first_output_left_out(go, x):
    return (f32(x + x + x) if go else f32(x * x + x),)


def sequences(go, x):
    return ([x] if go else [x, f32(x + x), f32(-x)],)


def optional_tensor(go, x):
    return (x if go else None), np.bool_(go)


def strings(go):
    words = ["yes"] if go else ["no", "never"]
    return (np.array(words, object),)


def chosen_in_a_loop(trips, s):
    for i in range(trips):
        s = f32(s * 2) if i % 2 else f32(s + 3)
    return (s,)


def half_precision(go, x):
    return ((x + x) if go else x,)


def one_value_twice(go, x):
    return (f32(x + x), f32(x + x)) if go else (x, f32(-x))
