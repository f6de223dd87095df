"""Loop: its edges, one by one."""

from __future__ import annotations

import numpy as np

from tests.cases.oracles import f32, i64, stacked


def negative_trip_count(trips, s):
    return s, np.zeros(0, np.float32)


def largest_trip_count(trips, s):
    return f32(s + 3), f32(s) + f32([1, 2, 3])


def no_trip_static_element(trips, x):
    return (stacked([x] * trips, [2, 3]),)


def no_trip_other_dtype(trips):
    return (stacked([[i, -i] for i in range(trips)], [2], np.float64),)


def strings_stacked(trips, x, s):
    strings = np.array([list(x)] * trips, object).reshape(trips, 2)
    states = np.array([list(s)] * trips, object).reshape(trips, 2)
    return s, strings, states, x


def body_declares_one_element_stacked(trips, go):
    # the condition goes through unchanged, so only the trip count ends the loop
    counts = np.arange(trips, dtype=np.int64).reshape(-1, 1)
    return counts, np.full((trips, 1), bool(go)), 2 * counts


def no_trip_unknown_element(trips, x):
    # nothing says how long an element is before one was made
    return (stacked([x] * trips, [0]),)


def condition_omitted_is_seen_true(trips):
    return (f32([1] * trips),)


def condition_is_passed_on(trips, go):
    return (np.ones(trips if go else 0, np.bool_),)


def growing_state(trips, s):
    return (np.concatenate([s] * 2**trips),)


growing_state_declared_fixed = growing_state


def growing_rank(trips, s):
    return i64([1] * trips + [s.size]), s


def shrinking_state(s):
    total = f32(0)
    while s.size > 1:
        total, s = f32(total + s[0]), s[1:]
    return s, total


def unused_carried(trips, a, b):
    return f32(a + trips), (f32(5) if trips else b)


def passed_through(trips, k):
    return k, i64(np.arange(trips))


def swap(trips, a, b):
    return (b, a) if trips % 2 else (a, b)


swap_through_identity = swap


def rotate(trips, a, b, c):
    for _ in range(trips):
        a, b, c = b, c, a
    return a, b, c


def fibonacci(trips, a, b):
    seen = []
    for _ in range(trips):
        a, b = b, a + b
        seen.append(a)
    return a, b, i64(seen)


def same_start_twice(trips, x):
    return f32(x + trips), f32(x * 2**trips)


def one_value_twice(trips, s):
    seen = [f32(s * 2 ** (i + 1)) for i in range(trips)]
    return (seen[-1] if seen else s), stacked(seen), stacked(seen)


def next_condition_twice(trips, limit):
    seen = []
    for i in range(trips):
        seen.append(i < limit)
        if not seen[-1]:
            break
    return (np.array(seen, np.bool_),)


def state_also_stacked(trips, s):
    return s, f32([s] * trips)


def iteration_number_stacked(trips):
    return (i64(np.arange(trips)),)


def iteration_number_carried(trips, last):
    return (i64(trips - 1) if trips else last,)


def initializer_returned(trips, s):
    return (f32(7) if trips else s), f32([7] * trips)


def previous_value_stacked(trips, s):
    return f32(s + trips), f32(s + np.arange(trips))


def state_left_out(trips, s):
    return (f32(s + 1 + np.arange(trips)),)


def stacked_left_out(trips, s):
    return (f32(s + trips),)


def no_state(trips):
    return (i64(np.arange(trips) ** 2),)


def stacked_of_rank_two(trips, x):
    return (stacked([x * i for i in range(trips)], [2, 3]),)


def stacked_of_no_elements(trips, x):
    return (np.zeros((trips, 0), np.float32),)


def early_exit(trips, s):
    values = [f32(s + 1)]
    while values[-1] < 3 and len(values) < trips:
        values.append(f32(values[-1] + 1))
    return values[-1], stacked(values)


def trip_count_of_one_element(trips, go, s):
    count = int(trips.item()) if go.item() else 0
    return f32(s + count), f32(s + 1 + np.arange(count))


body_declares_one_element = trip_count_of_one_element


def next_condition_of_one_element(trips):
    return (i64(np.arange(min(trips, 2))),)


def constant_trip_count(s):
    return (f32(s + 3),)


def trip_count_from_shape(x):
    return (f32(x.sum()),)


def capture_two_levels(trips, s, k):
    seen = []
    for i in range(trips):
        inner = f32(0)
        for _ in range(2):
            inner = f32(inner + s + k)
        s = f32(inner + i)
        seen.append(s)
    return s, stacked(seen)


def inner_trips_from_outer(trips):
    return (i64(sum(j for i in range(trips) for j in range(i))),)


def nested_stacks(trips, inner):
    return (i64([[10 * i + j for j in range(inner)] for i in range(trips)]).reshape(trips, inner),)


def three_levels(trips, x):
    return (f32(x + sum(range(trips)) * 2 * 3),)


def capture_of_later_iteration(trips, s):
    # the inner body reads the outer state of the iteration it runs in
    for i in range(trips):
        s = f32(s + i * s)
    return (s,)


def sibling_names(trips, s):
    return f32(s + trips), f32(s * 2**trips)


def later_outer_name(trips, s):
    return (f32(-(s + trips)),)


def result_named_as_body_output(trips, s):
    return (f32(s + trips),)


def input_hides_outer_name(trips, s, k):
    return (f32(s * 2**trips),)


def initializer_hides_outer_name(trips, s, k):
    return (f32(s + 5 * trips),)


def inner_loop_hides_outer_body(trips, s):
    return (f32(s * 2**trips),)


def invariant_that_can_fail(trips, x):
    return (f32(0) if trips == 0 else f32(x.reshape(2, 2).sum() * trips),)


def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return (i64(steps),)


def newton(x):
    r = x
    while abs(r * r - x) > 1e-3:
        r = f32((r + x / r) * 0.5)
    return (r,)


def power_by_squaring(base, exponent):
    return (base**exponent,)


def small_dtypes(trips):
    return (
        np.bool_(trips % 2 == 0),
        np.arange(trips, dtype=np.int8),
        np.full(trips, 1.5, np.float16),
    )


def strings(trips, s):
    return np.array([*s] * 2**trips, object), np.array(["x"] * trips, object)


def complex_numbers(trips, z):
    return z, stacked([z] * trips, [2], np.complex64)


def carried_and_stacked(trips, s):
    return s, np.stack([s] * trips) if trips else np.zeros((0, *s.shape), s.dtype)


bfloat16_state = float8_state = int4_state = float4_state = float8e8m0_state = carried_and_stacked
int2_state = carried_and_stacked


def bfloat16_sum(trips, s):
    for _ in range(trips):
        s = s + s
    return (s,)


def extra_body_inputs(trips, s):
    return (f32(s + 5 * trips),)


def default_of_graph_input(trips, s=None):
    return (f32((f32(10) if s is None else s) + trips),)


def loop_in_both_branches(go, trips, s):
    return (f32(s + trips) if go else f32(s - trips),)


def result_used_twice(trips, s):
    return f32(2 * (s + trips)), f32(s + trips)


def two_loops_in_a_row(trips, s):
    firsts = f32(s + 1 + np.arange(trips))
    return (f32(s + trips + firsts.sum()),)


def integer_overflow(trips, s):
    with np.errstate(over="ignore"):
        for _ in range(trips):
            s = np.int32(s * np.int32(65536))
    return (s,)


def float_special_values(trips, s):
    with np.errstate(all="ignore"):
        for _ in range(trips):
            s = f32(s / f32(0))
    return (s,)
